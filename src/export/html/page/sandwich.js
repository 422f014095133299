/*
 * sandwich.js - the view "sandwich": one function between its callers (above, growing up) and its
 * callees (below, growing down), both merged over all places where it occurs. Where it calls
 * itself, the outermost call counts.
 *
 * State: fn = number of the name.
 */
"use strict";
(function () {
    let model = null, list = null, sums = null, order = [], up = null, down = null, head = null;
    let chosen = -1, trees = {}, filter = null;

    function fill() {
        const hit = FM.search.hit;
        order = [];
        for (let k = 0; k < model.meta.names; k++)
            if (sums.total[k] > 0 && (hit === null || hit[k])) order.push(k);
        order.sort((a, b) => sums.total[b] - sums.total[a] || a - b);
        list.at = order.indexOf(chosen);
        list.set(order.length);
    }

    function describe() {
        const unit = model.meta.unit, k = chosen;
        const tell = v => FM.weight(v, unit) + " · " + FM.percent(v, model.sum);
        const facts = [["total", tell(sums.total[k])], ["self", tell(sums.self[k])]];
        if (model.base)
            facts.push(["change", FM.grown(sums.totalBefore[k], sums.total[k], unit)]);
        const module = FM.moduleOf(k), file = model.file[k];
        if (module) facts.push(["module", module]);
        if (file > 0)
            facts.push(["source", model.meta.files[file - 1] +
                (model.line[k] > 0 ? ":" + model.line[k] : "")]);
        head.replaceChildren(FM.nameCell(k), ...facts.map(f => FM.el("span.fm-fact", null,
            FM.el("span.fm-soft", null, f[0] + " "), f[1])));
    }

    /* Room by rows, but to neither less than a quarter. */
    function divide() {
        const a = up.rows + 1, b = down.rows + 1, least = (a + b) / 4;
        up.element.style.flexGrow = Math.max(a, least);
        down.element.style.flexGrow = Math.max(b, least);
        up.room = 0;
        up.resize();
        down.resize();
        up.show(0, 0);
    }

    function choose(k, push) {
        if (!(k >= 0 && k < model.meta.names)) return;
        k = chosen = model.same[k];
        FM.state.set({ fn: k }, push);
        trees = { up: FM.callers(model, k, model.same), down: FM.callees(model, k, model.same) };
        describe();
        up.setTree(trees.up, 0);
        down.setTree(trees.down, 0);
        divide();
        list.at = order.indexOf(k);
        list.refresh();
    }

    function canvas(label, which, isDown) {
        const c = new FM.Canvas({
            label,
            down: isDown,
            onzoom(node) {
                c.zoomTo(node, true);
            },
            onhover(node, event) {
                FM.tip.show(trees[which], node, c.zoom, event);
                FM.foot(trees[which], node, c.zoom);
            },
            onopen(node) {
                choose(trees[which].name[node], true);
            }
        });
        return c;
    }

    function row(i) {
        const k = order[i], cells = [FM.share(sums.total[k], model.sum), FM.nameCell(k)];
        const el = FM.el("div", { role: "option" }, ...cells);
        return el;
    }

    FM.openSandwich = function (k) {
        FM.state.set({ fn: FM.model.same[k] });
        const view = FM.views.find(v => v.id === "sandwich");
        FM.open("sandwich", true);
        view.update("state");
    };

    FM.view({
        id: "sandwich",
        title: "Sandwich",
        rank: 40,
        mount(el, m) {
            model = m;
            sums = FM.totals(model, model.same);
            list = new FM.List({
                label: "functions", role: "listbox", row,
                click: i => choose(order[i], true),
                open: i => choose(order[i], true)
            });
            head = FM.el("div.fm-middle");
            up = canvas("callers", "up", false);
            down = canvas("callees", "down", true);
            filter = FM.el("div.fm-side-head", null, "Functions by total");
            el.append(FM.el("div.fm-split", null,
                FM.el("aside.fm-side", null, filter, list.element),
                FM.el("div.fm-stack", null,
                    FM.el("div.fm-tag", null, "Callers"), up.element, head,
                    down.element, FM.el("div.fm-tag", null, "Callees"))));
            fill();
            this.first();
        },
        first() {
            const asked = FM.state.get("fn");
            let k = asked === null ? -1 : Number(asked);
            if (!(Number.isInteger(k) && k >= 0 && k < model.meta.names)) {
                k = order.length > 0 ? order[0] : -1;
                for (const f of order) if (sums.self[f] > sums.self[k]) k = f;
            }
            if (k >= 0) choose(k, false);
        },
        show() {
            list.refresh();
            divide();
            if (list.at >= 0) list.go(list.at);
        },
        update(what) {
            if (what === "weights") {
                sums = FM.totals(model, model.same);
                fill();
                if (chosen >= 0) choose(chosen, false);
            } else if (what === "search") {
                fill();
                up.draw();
                down.draw();
            } else if (what === "state") {
                const asked = Number(FM.state.get("fn"));
                if (FM.state.get("fn") !== null && model.same[asked] !== chosen) choose(asked, false);
            } else {
                if (chosen >= 0) describe();
                list.refresh();
                up.draw();
                down.draw();
            }
        },
        key(event) {
            if (event.key === "0" || event.key === "Escape") {
                up.zoomTo(0, true);
                down.zoomTo(0, true);
                return true;
            }
            if (!event.key.startsWith("Arrow")) return false;
            list.element.focus();
            list.key(event);
            return true;
        }
    });
})();
