/*
 * color.js - colours of frames: by kind, by module, by name, or those of a FlameGraph palette that
 * came with the names; by the difference to weights before.
 *
 *   FM.color.of(tree, i)      CSS colour of a node's box
 *   FM.color.ink(tree, i)     of the text on it
 *   FM.color.mode, .modes(), .set(mode)
 *   FM.color.legend()         [[label, colour]] of the mode
 */
"use strict";
(function () {
    /* hue, saturation, lightness by kind of frame */
    const kinds = {
        "unknown": [38, 78, 66], "kernel": [16, 82, 64], "user": [38, 78, 66],
        "jit": [132, 44, 62], "interpreted": [176, 42, 60], "inlined": [190, 55, 68],
        "python": [52, 76, 62], "js": [92, 46, 62], "guest": [330, 48, 70],
        "guest-kernel": [345, 60, 66], "hypervisor": [312, 40, 66], "gpu-kernel": [258, 58, 74],
        "gpu-source": [236, 58, 76], "gpu-instruction": [282, 46, 72], "synthetic": [214, 22, 74],
        "c1": [158, 42, 60]
    };
    const differences = 24;
    let cache = [], inks = [], model = null;

    function hash(s) {
        let h = 2166136261;
        for (let i = 0; i < s.length && i < 200; i++)
            h = Math.imul(h ^ s.charCodeAt(i), 16777619);
        h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
        return (h ^ h >>> 13) >>> 0;
    }

    function rgb(h, s, l) {
        s /= 100;
        l /= 100;
        const a = s * Math.min(l, 1 - l);
        const f = n => {
            const k = (n + h / 30) % 12;
            return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
        };
        return [f(0), f(8), f(4)];
    }

    function vary([h, s, l], seed) {
        return rgb((h + seed % 23 - 11 + 360) % 360, s + (seed >>> 5) % 9 - 4,
            l + (seed >>> 9) % 13 - 6);
    }

    function byModule(m, seed) {
        if (m === 0) return rgb(214, 12, 72 + seed % 8);
        const h = hash(model.meta.modules[m - 1]) % 360;
        return rgb(h, 52 + (seed >>> 3) % 10, 66 + (seed >>> 7) % 9);
    }

    /* Alike beginnings have alike hues, so that a library is seen as a family. */
    function byName(name, seed) {
        const family = hash(name.split(/[^A-Za-z0-9]/)[0] || name) % 46;
        return rgb(8 + family + seed % 9, 80 - seed % 14, 62 + (seed >>> 6) % 10);
    }

    function pick(k) {
        const name = model.names[k], seed = hash(name), mode = FM.color.mode;
        if (k === model.meta.names) return rgb(214, 14, 80);
        if (mode === "palette") {
            const v = model.rgb[k];
            return [v >>> 16, v >>> 8 & 255, v & 255];
        }
        if (mode === "module") return byModule(model.module[k], seed);
        if (mode === "name") return byName(name, seed);
        return vary(kinds[model.meta.kinds[model.kind[k]]] || kinds.unknown, seed);
    }

    function paletteName() {
        const asked = model.meta.colors || "hot";
        return asked.endsWith(".yaml") ? "rules of " + FM.shortName(asked) : asked + " palette";
    }

    function css(c) {
        return "rgb(" + c[0] + "," + c[1] + "," + c[2] + ")";
    }

    function inkOn(c) {
        return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 126 ? "#1a1c20" : "#ffffff";
    }

    /* -1 ... 1 to blue (less), through pale, to orange (more): told apart by the colour-blind. */
    function difference(d) {
        const a = Math.min(1, Math.abs(d)), t = Math.sqrt(a);
        if (d > 0) return rgb(22, 60 + 34 * t, 90 - 34 * t);
        if (d < 0) return rgb(212, 46 + 30 * t, 90 - 32 * t);
        return rgb(220, 10, 88);
    }

    const scale = [];
    for (let k = -differences; k <= differences; k++) scale.push(difference(k / differences));
    const scaleCss = scale.map(css), scaleInk = scale.map(inkOn);
    const freshCss = css([255, 205, 60]), goneCss = css([150, 132, 206]);

    /* Where a node's change lies on the scale, whose end is the greatest change of the tree; -1:
     * new (or, in a tree of the weights before, gone). */
    function step(tree, i) {
        if (tree.before(i) === 0 && tree.total(i) > 0) return -1;
        const d = tree.change(i) * (tree.isBefore ? -1 : 1) / FM.color.most(tree);
        return Math.round(Math.max(-1, Math.min(1, d)) * differences) + differences;
    }

    /* What names are of (kinds, modules), by falling self weight. */
    function heaviest(of, n) {
        const sum = new Float64Array(n), used = new Set(), { name, self } = model;
        for (let i = 1; i < model.n; i++) sum[of[name[i]]] += self[i];
        for (let k = 0; k < model.meta.names; k++) used.add(of[k]);
        return [...used].sort((a, b) => sum[b] - sum[a] || a - b);
    }

    const most = new WeakMap();

    FM.color = {
        mode: "kind",
        start(m) {
            model = m;
            const kindsUsed = new Set(), modulesUsed = new Set();
            for (let k = 0; k < m.meta.names; k++) {
                if (m.meta.kinds[m.kind[k]] !== "synthetic") kindsUsed.add(m.kind[k]);
                modulesUsed.add(m.module[k]);
            }
            this.hasModules = modulesUsed.size > 1;
            this.hasKinds = kindsUsed.size > 1;
            this.mode = m.meta.colors ? "palette" : this.hasKinds ? "kind" : "name";
            const asked = FM.state.get("color");
            if (this.modes().some(v => v[0] === asked)) this.mode = asked;
        },
        modes() {
            const list = [["kind", "kind of code"]];
            if (this.hasModules) list.push(["module", "module"]);
            list.push(["name", "name"], ["palette", paletteName()]);
            return list;
        },
        set(mode) {
            this.mode = mode;
            cache = [];
            inks = [];
            FM.state.set({ color: mode });
            FM.emit("colors");
        },
        most(tree) {
            const known = most.get(tree);
            if (known && known.pre === tree.pre && known.base === tree.base &&
                known.sum === tree.sum) return known.most;
            let top = 1e-9;
            for (let i = 1; i < tree.n; i++) {
                const d = Math.abs(tree.change(i));
                if (d > top) top = d;
            }
            most.set(tree, { pre: tree.pre, base: tree.base, sum: tree.sum, most: top });
            return top;
        },
        forget() {
            cache = [];
            inks = [];
        },
        of(tree, i) {
            if (tree.base !== null) {
                const s = step(tree, i);
                return s < 0 ? tree.isBefore ? goneCss : freshCss : scaleCss[s];
            }
            const k = tree.name[i];
            return cache[k] || (cache[k] = css(pick(k)));
        },
        ink(tree, i) {
            if (tree.base !== null) {
                const s = step(tree, i);
                return s < 0 ? "#1a1c20" : scaleInk[s];
            }
            const k = tree.name[i];
            return inks[k] || (inks[k] = inkOn(pick(k)));
        },
        ofName(k) {
            return cache[k] || (cache[k] = css(pick(k)));
        },
        legend(before) {
            if (model.base !== null)
                return [["less", scaleCss[2]], ["same", scaleCss[differences]],
                    ["more", scaleCss[2 * differences - 2]],
                    before ? ["gone", goneCss] : ["new", freshCss]];
            if (this.mode === "kind") {
                return heaviest(model.kind, model.meta.kinds.length)
                    .filter(k => model.meta.kinds[k] !== "synthetic")
                    .map(k => [model.meta.kinds[k] === "unknown" ? "other" : model.meta.kinds[k],
                        css(rgb(...(kinds[model.meta.kinds[k]] || kinds.unknown)))]);
            }
            if (this.mode === "module")
                return heaviest(model.module, model.meta.modules.length + 1).slice(0, 6)
                    .filter(m => m > 0).map(m => [FM.shortName(model.meta.modules[m - 1]),
                        css(byModule(m, 0))]);
            return [];
        }
    };
})();
