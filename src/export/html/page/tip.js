/*
 * tip.js - what is known of a node: the box at the pointer, and the line at the foot of the page.
 *
 *   FM.tip.show(tree, node, zoom, event), FM.tip.hide()
 *   FM.facts(tree, node, zoom)    [[label, value]] as both tell them
 */
"use strict";
(function () {
    let box = null;

    function where(k) {
        const model = FM.model, file = model.file[k], line = model.line[k];
        if (file === 0) return null;
        return model.meta.files[file - 1] + (line > 0 ? ":" + line : "");
    }

    FM.facts = function (tree, node, zoom) {
        const model = FM.model, k = tree.name[node], unit = model.meta.unit;
        const total = tree.total(node), self = tree.self[node], facts = [];
        facts.push(["total", FM.weight(total, unit), FM.percent(total, tree.sum) + " of all"]);
        if (zoom > 0 && node >= zoom && node < tree.end[zoom])
            facts[0].push(FM.percent(total, tree.total(zoom)) + " of view");
        if (self !== total)
            facts.push(["self", FM.weight(self, unit), FM.percent(self, tree.sum) + " of all"]);
        if (tree.base !== null) {
            const other = tree.before(node);
            facts.push([tree.isBefore ? "after" : "before", FM.weight(other, unit),
                FM.percent(other, tree.sumBefore) + " of all"]);
            facts.push(["change", FM.grown(tree.isBefore ? total : other,
                tree.isBefore ? other : total, unit)]);
        }
        if (k < model.meta.names) {
            const kind = model.meta.kinds[model.kind[k]];
            if (model.module[k] > 0)
                facts.push(["module", model.meta.modules[model.module[k] - 1]]);
            if (where(k) !== null) facts.push(["source", where(k)]);
            if (kind !== "unknown") facts.push(["kind", kind]);
        }
        return facts;
    };

    FM.tip = {
        show(tree, node, zoom, event) {
            if (node < 0 || event === null) {
                this.hide();
                return;
            }
            if (box === null) {
                box = FM.el("div.fm-tip", { role: "tooltip" });
                document.body.append(box);
            }
            if (box.node !== node || box.tree !== tree || box.zoom !== zoom) {
                const name = FM.model.names[tree.name[node]];
                box.node = node;
                box.tree = tree;
                box.zoom = zoom;
                box.replaceChildren(FM.el("div.fm-tip-name", null,
                    name.length > 600 ? name.slice(0, 600) + "…" : name),
                FM.el("dl", null, ...FM.facts(tree, node, zoom).flatMap(f => [
                    FM.el("dt", null, f[0]),
                    FM.el("dd", null, f[1], ...f.slice(2).map(v => FM.el("span", null, v)))])));
            }
            box.hidden = false;
            const w = box.offsetWidth, h = box.offsetHeight;
            let x = event.clientX + 14, y = event.clientY + 18;
            if (x + w > innerWidth - 8) x = Math.max(8, innerWidth - w - 8);
            if (y + h > innerHeight - 8) y = Math.max(8, event.clientY - h - 12);
            box.style.transform = "translate(" + x + "px," + y + "px)";
        },
        hide() {
            if (box !== null) box.hidden = true;
        }
    };
})();
