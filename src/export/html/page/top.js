/*
 * top.js - the view "top": functions with self and total weight. A function that calls itself is
 * counted once in its total. A search leaves only what matches.
 *
 * State: sort = self, total, name, module, or change; up = 1 for the other order.
 */
"use strict";
(function () {
    let model = null, list = null, sums = null, order = [], heads = {}, count = null;

    const key = () => FM.state.get("sort") || (model.base ? "change" : "self");
    const up = () => FM.state.get("up") === "1";

    const change = k => sums.total[k] - sums.totalBefore[k];

    function columns() {
        const list = [["self", "Self"], ["total", "Total"]];
        if (model.base) list.push(["before", "Total before"], ["change", "Change"]);
        list.push(["name", "Function"]);
        if (model.meta.modules.length > 0) list.push(["module", "Module"]);
        return list;
    }

    function compare() {
        const text = {
            name: k => model.names[k], module: k => FM.moduleOf(k) || "\uffff"
        }[key()];
        const sign = up() ? -1 : 1;
        if (text) {
            /* By units where the order of a language would take seconds. */
            const plain = (a, b) => a < b ? -1 : a > b ? 1 : 0;
            const by = order.length > 100000 ? plain : new Intl.Collator("en").compare;
            return (a, b) => sign * (by(text(a), text(b)) || a - b);
        }
        const value = {
            total: k => sums.total[k],
            before: k => sums.totalBefore ? sums.totalBefore[k] : 0,
            change: k => sums.totalBefore ? Math.abs(change(k)) : 0
        }[key()] || (k => sums.self[k]);
        return (a, b) => sign * (value(b) - value(a) || sums.total[b] - sums.total[a] || a - b);
    }

    function fill() {
        const hit = FM.search.hit;
        order = [];
        for (let k = 0; k < model.meta.names; k++) {
            if (model.same[k] !== k) continue;
            if (sums.total[k] <= 0 && !(sums.totalBefore && sums.totalBefore[k] > 0)) continue;
            if (hit !== null && !hit[k]) continue;
            order.push(k);
        }
        order.sort(compare());
        for (const name in heads) {
            const on = name === key();
            heads[name].setAttribute("aria-sort", !on ? "none"
                : (name === "name" || name === "module") !== up() ? "ascending" : "descending");
        }
        count.textContent = FM.commas(order.length) +
            (order.length === 1 ? " function" : " functions") + (hit !== null ? " that match" : "");
        list.set(order.length);
    }

    function row(i) {
        const k = order[i], unit = model.meta.unit;
        const cells = [
            FM.el("span.fm-num", null, FM.weight(sums.self[k], unit)),
            FM.share(sums.self[k], model.sum),
            FM.el("span.fm-num", null, FM.weight(sums.total[k], unit)),
            FM.share(sums.total[k], model.sum)];
        if (model.base) {
            const d = change(k);
            cells.push(FM.el("span.fm-num", null, FM.weight(sums.totalBefore[k], unit)),
                FM.share(sums.totalBefore[k], model.sumBefore),
                FM.el(d > 0 ? "span.fm-num.fm-more" : d < 0 ? "span.fm-num.fm-less"
                    : "span.fm-num", null,
                    FM.grown(sums.totalBefore[k], sums.total[k], unit)));
        }
        cells.push(FM.nameCell(k));
        if (model.meta.modules.length > 0)
            cells.push(FM.el("span.fm-soft", { title: FM.moduleOf(k) }, FM.moduleOf(k)));
        return FM.el("div", { role: "row" }, ...cells.map(c => {
            c.setAttribute("role", "gridcell");
            return c;
        }));
    }

    function sortBy(name) {
        if (key() === name) FM.state.set({ up: up() ? null : "1" });
        else FM.state.set({ sort: name, up: null });
        fill();
        list.element.scrollTop = 0;
    }

    function weigh() {
        sums = FM.totals(model, model.same);
    }

    function build(el) {
        heads = {};
        const head = FM.el("div.fm-headrow", { role: "row" }, ...columns().map(([name, title]) => {
            const wide = name === "self" || name === "total" || name === "before";
            heads[name] = FM.el(wide ? "button.fm-col.fm-wide" : "button.fm-col", {
                type: "button", role: "columnheader", on: { click: () => sortBy(name) }
            }, title);
            return heads[name];
        }));
        count = FM.el("span.fm-soft", { role: "status" });
        const layout = "fm-table" + (model.base ? " fm-with-base" : "") +
            (model.meta.modules.length > 0 ? " fm-with-module" : "");
        const table = FM.el("div", null, head, list.element);
        table.className = layout;
        el.replaceChildren(FM.el("div.fm-bar", null, count,
            FM.el("span.fm-hint", null, "Enter or double click: callers and callees")), table);
    }

    FM.view({
        id: "top",
        title: "Top functions",
        rank: 20,
        mount(el, m) {
            model = m;
            list = new FM.List({
                label: "functions by weight",
                row,
                open: i => FM.openSandwich(order[i]),
                twice: i => FM.openSandwich(order[i])
            });
            this.el = el;
            build(el);
            weigh();
            fill();
        },
        show() {
            list.refresh();
        },
        update(what) {
            if (what === "weights") {
                build(this.el);
                weigh();
                fill();
            } else if (what === "search" || what === "state") {
                fill();
            } else {
                list.refresh();
            }
        },
        key(event) {
            if (!event.key.startsWith("Arrow")) return false;
            list.element.focus();
            list.key(event);
            return true;
        }
    });
})();
