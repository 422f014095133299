/*
 * tree.js - the view "tree": the call tree as rows that open, heaviest first; or bottom up, from
 * functions by self weight to their callers. Rows are made when they are opened.
 *
 * State: up-tree = 1 bottom up.
 */
"use strict";
(function () {
    let model = null, list = null, rows = [], button = null, total = 1;

    /* A row: {name, weight, self, before, level, open, many (has children), and node (top down) or
     * chain [[node, weight, before]] (bottom up), parent}. */

    const bottomUp = () => FM.state.get("callers") === "1";

    function topDown(node, level) {
        return {
            name: model.name[node], node, level, open: false, weight: model.total(node),
            self: model.self[node], before: model.before(node), many: model.end[node] > node + 1
        };
    }

    /* Rows of the names that call what the chains hold, each with the chains that reach it. */
    function callers(chain, level) {
        const by = new Map();
        for (const [node, weight, before] of chain) {
            const p = model.parent[node];
            if (p === FM.NONE || p === 0) continue;
            const f = model.same[model.name[p]];
            let row = by.get(f);
            if (row === undefined) {
                row = { name: f, level, open: false, weight: 0, self: 0, before: 0,
                    many: false, chain: [] };
                by.set(f, row);
            }
            row.weight += weight;
            row.before += before;
            row.many = row.many || model.depth[p] > 1;
            row.chain.push([p, weight, before]);
        }
        return [...by.values()];
    }

    function leaves(name) {
        const { n, self, base } = model, chain = [];
        for (let i = 1; i < n; i++) {
            if (model.same[model.name[i]] !== name) continue;
            const before = base ? base[i + 1] - base[i] : 0;
            if (self[i] > 0 || before > 0) chain.push([i, self[i], before]);
        }
        return chain;
    }

    const heavy = (a, b) => b.weight - a.weight || b.before - a.before || a.name - b.name;

    function below(row) {
        let found;
        if (row.node !== undefined) {
            found = model.children(row.node).map(c => topDown(c, row.level + 1))
                .filter(r => r.weight > 0 || r.before > 0);
        } else {
            row.chain = row.chain || leaves(row.name);
            found = callers(row.chain, row.level + 1);
        }
        return found.sort(heavy);
    }

    function start() {
        total = model.sum;
        if (!bottomUp()) {
            rows = [topDown(0, 0)];
            open(0, true);
            return;
        }
        const sums = FM.totals(model, model.same);
        rows = [];
        for (let k = 0; k < model.meta.names; k++) {
            if (sums.self[k] > 0) {
                rows.push({ name: k, level: 0, open: false, weight: sums.self[k],
                    self: sums.self[k], before: sums.selfBefore ? sums.selfBefore[k] : 0,
                    many: true });
            }
        }
        rows.sort(heavy);
    }

    /* Opens a row, and what is under it as long as that is one row (or one heavy one). */
    function open(i, far) {
        for (let k = 0; k < 60; k++) {
            const row = rows[i];
            if (!row.many || row.open) return;
            const found = below(row);
            row.open = true;
            if (found.length === 0) {
                row.many = false;
                return;
            }
            rows = rows.slice(0, i + 1).concat(found, rows.slice(i + 1));
            if (found.length > 1 && !(far && found[0].weight >= 0.5 * row.weight)) return;
            i++;
        }
    }

    function shut(i) {
        let to = i + 1;
        while (to < rows.length && rows[to].level > rows[i].level) to++;
        rows.splice(i + 1, to - i - 1);
        rows[i].open = false;
    }

    function toggle(i) {
        if (rows[i].open) shut(i);
        else open(i, false);
        list.set(rows.length);
    }

    function draw(i) {
        const row = rows[i], unit = model.meta.unit, cells = [
            FM.el("span.fm-num", null, FM.weight(row.weight, unit)),
            FM.share(row.weight, total),
            FM.el("span.fm-num", null, row.self > 0 ? FM.weight(row.self, unit) : "")];
        if (model.base) {
            cells.push(FM.el(row.weight > row.before ? "span.fm-num.fm-more"
                : "span.fm-num.fm-less", null, FM.grown(row.before, row.weight, unit)));
        }
        const twist = FM.el("span.fm-twist", { "aria-hidden": "true" },
            row.many ? row.open ? "▾" : "▸" : "");
        const name = FM.nameCell(row.name);
        name.prepend(twist);
        name.style.paddingLeft = Math.min(row.level, 60) * 14 + "px";
        const el = FM.el("div", { role: "row", "aria-level": row.level + 1 }, ...cells, name);
        if (row.many) el.setAttribute("aria-expanded", row.open ? "true" : "false");
        return el;
    }

    function keys(event, i) {
        if (i < 0) return false;
        const row = rows[i];
        if (event.key === "ArrowRight") {
            if (row.many && !row.open) toggle(i);
            else if (row.open) list.go(i + 1);
        } else if (event.key === "ArrowLeft") {
            if (row.open) {
                toggle(i);
            } else {
                let p = i - 1;
                while (p > 0 && rows[p].level >= row.level) p--;
                if (p >= 0 && rows[p].level < row.level) list.go(p);
            }
        } else if (event.key === "*") {
            open(i, true);
            list.set(rows.length);
        } else if (event.key === " ") {
            toggle(i);
        } else {
            return false;
        }
        return true;
    }

    function again() {
        button.setAttribute("aria-pressed", bottomUp() ? "true" : "false");
        start();
        list.at = 0;
        list.set(rows.length);
    }

    function build(el) {
        const heads = ["Total", "", "Self"].concat(model.base ? ["Change"] : [], ["Function"]);
        el.replaceChildren(FM.el("div.fm-bar", null, button, FM.el("span.fm-hint", null,
            "← → close and open · * the heaviest path · Enter: callers and callees")),
        FM.el(model.base ? "div.fm-table.fm-tree.fm-with-base" : "div.fm-table.fm-tree", null,
            FM.el("div.fm-headrow", { role: "row" }, ...heads.map(h =>
                FM.el(h === "Function" ? "span.fm-col" : "span.fm-col.fm-right", {
                    role: "columnheader" }, h))), list.element));
    }

    FM.view({
        id: "tree",
        title: "Tree",
        rank: 30,
        mount(el, m) {
            model = m;
            this.el = el;
            button = FM.button("Bottom up", "from functions to their callers (B)", () => {
                FM.state.set({ callers: bottomUp() ? null : "1" });
                again();
            });
            list = new FM.List({
                label: "call tree",
                role: "treegrid",
                row: draw,
                keys,
                click: i => toggle(i),
                open: i => {
                    if (rows[i].name < model.meta.names) FM.openSandwich(rows[i].name);
                }
            });
            build(el);
            again();
        },
        show() {
            list.refresh();
        },
        update(what) {
            if (what === "weights") {
                build(this.el);
                again();
            } else if (what === "state") {
                if ((button.getAttribute("aria-pressed") === "true") !== bottomUp()) again();
            } else {
                list.refresh();
            }
        },
        key(event) {
            if (event.key === "b" || event.key === "B") {
                button.click();
                return true;
            }
            if (!event.key.startsWith("Arrow")) return false;
            list.element.focus();
            list.key(event);
            return true;
        }
    });
})();
