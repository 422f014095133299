/*
 * flame.js - the view "flame": flame graph or icicle, by name or by weight, zoom and crumbs.
 *
 * State: zoom = number of the node in the file's order (or that of the reversed tree), down = 1
 * icicle, order = weight, reverse = 1 stacks from their leaves, before = 1 boxes as wide as they
 * were in the base of a differential, so that what is gone is seen.
 */
"use strict";
(function () {
    let model = null, canvas = null, crumbs = null, legend = null;
    let tree = null, plain = null, back = null, drawn = "";
    const buttons = {};

    const asked = key => FM.state.get(key);
    const down = () => asked("down") !== null ? asked("down") === "1"
        : model.meta.view === "icicle";
    const order = () => asked("order") || model.meta.order || "name";

    const reverse = () => asked("reverse") === "1";
    const before = () => model.base !== null && asked("before") === "1";

    /* Numbers of the file's order to those of the tree on show, and the other way. */
    const shown = i => back === null ? i : back[i];
    const filed = i => tree.from ? tree.from[i] : i;

    function arrange() {
        back = null;
        plain = before() ? model.turned() : model;
        if (reverse()) plain = FM.reversed(plain);
        tree = plain;
        drawn = [before(), reverse(), order()].join();
        if (order() !== "weight") return;
        tree = FM.byWeight(plain);
        back = new Uint32Array(tree.n);
        for (let i = 0; i < tree.n; i++) back[tree.from[i]] = i;
    }

    const weighs = z => z < plain.n && plain.total(z) > 0;

    function zoomed() {
        const z = Number(asked("zoom") || 0);
        return Number.isInteger(z) && z > 0 && weighs(z) ? z : 0;
    }

    function setZoom(i, smooth) {
        canvas.zoomTo(i, smooth);
        drawCrumbs();
        FM.emit("zoom", { tree, node: i });
    }

    function onzoom(i) {
        const z = filed(i);
        canvas.picked = -1;
        FM.state.set({ zoom: z > 0 ? z : null }, true);
        setZoom(i, true);
    }

    function drawCrumbs() {
        const path = canvas.zoom > 0 ? tree.path(canvas.zoom) : [];
        crumbs.replaceChildren(...path.slice(-40).map((i, k, list) => {
            const last = k === list.length - 1, name = FM.model.names[tree.name[i]];
            const text = name.length > 60 ? name.slice(0, 59) + "…" : name;
            return FM.el("button.fm-crumb", {
                type: "button", title: name, "aria-current": last ? "true" : null,
                on: { click: () => onzoom(i) }
            }, text);
        }));
        crumbs.scrollLeft = crumbs.scrollWidth;
        crumbs.hidden = path.length === 0;
        buttons.reset.disabled = path.length === 0;
    }

    function drawLegend() {
        const cut = tree.cut > 0 ? FM.el("span.fm-key", null, "callers of less than " +
            FM.weight(tree.cut, model.meta.unit) + " are not drawn") : null;
        const keys = FM.color.legend(before()).slice(0, 12).map(([label, color]) => {
            const dot = FM.el("span.fm-dot");
            dot.style.background = color;
            return FM.el("span.fm-key", null, dot, label);
        });
        legend.replaceChildren(...(cut === null ? keys : [cut, ...keys]));
    }

    function press(button, on) {
        button.setAttribute("aria-pressed", on ? "true" : "false");
    }

    function drawButtons() {
        buttons.before.hidden = model.base === null;
        buttons.color.hidden = model.base !== null;
        press(buttons.before, before());
        press(buttons.reverse, reverse());
        press(buttons.down, down());
        press(buttons.order, order() === "weight");
        buttons.color.value = FM.color.mode;
    }

    function toggleDown() {
        FM.state.set({ down: down() ? "0" : "1" });
        canvas.down = down();
        drawButtons();
        canvas.room = 0;
        canvas.arrive();
    }

    function toggleOrder() {
        const z = filed(canvas.zoom);
        FM.state.set({ order: order() === "weight" ? "name" : "weight" });
        arrange();
        drawButtons();
        canvas.setTree(tree, shown(z));
        drawCrumbs();
    }

    function toggleReverse() {
        FM.state.set({ reverse: reverse() ? null : "1", zoom: null });
        arrange();
        drawButtons();
        drawLegend();
        canvas.setTree(tree, 0);
        drawCrumbs();
        FM.emit("zoom", { tree, node: 0 });
    }

    function toggleBefore() {
        const z = filed(canvas.zoom);
        FM.state.set({ before: before() ? null : "1" });
        arrange();
        drawButtons();
        drawLegend();
        canvas.setTree(tree, shown(weighs(z) ? z : 0));
        drawCrumbs();
    }

    FM.view({
        id: "flame",
        title: "Flame graph",
        rank: 10,
        mount(el, m) {
            model = m;
            canvas = new FM.Canvas({
                label: "Flame graph. Arrow keys walk, Enter zooms, Escape resets, S opens the " +
                    "callers and callees.",
                onzoom,
                onhover(node, event) {
                    FM.tip.show(tree, node, canvas.zoom, event);
                    FM.foot(tree, node, canvas.zoom);
                },
                onopen(node) {
                    if (tree.name[node] < model.meta.names)
                        FM.openSandwich(tree.name[node]);
                }
            });
            canvas.down = down();
            crumbs = FM.el("nav.fm-crumbs", { "aria-label": "zoomed path" });
            legend = FM.el("div.fm-legend");
            buttons.down = FM.button("Icicle", "root at the top (I)", toggleDown);
            buttons.order = FM.button("By weight", "callees by weight, not by name (O)",
                toggleOrder);
            buttons.reverse = FM.button("Reverse", "stacks from their leaves (R)", toggleReverse);
            buttons.before = FM.button("As before", "boxes as wide as they were in the base (P)",
                toggleBefore);
            buttons.reset = FM.button("Reset zoom", "show all (0 or Escape)", () => onzoom(0));
            buttons.color = FM.el("select.fm-button", {
                "aria-label": "colours", title: "what colours mean",
                on: { change: e => FM.color.set(e.target.value) }
            }, ...FM.color.modes().map(([value, text]) =>
                FM.el("option", { value }, "Colour: " + text)));
            el.append(FM.el("div.fm-bar", null, buttons.down, buttons.order, buttons.reverse,
                buttons.before, buttons.color, buttons.reset, crumbs, legend), canvas.element);
            arrange();
            drawButtons();
            drawLegend();
            canvas.setTree(tree, shown(zoomed()));
            drawCrumbs();
        },
        show() {
            canvas.resize();
        },
        update(what) {
            if (what === "weights") {
                const z = filed(canvas.zoom);
                arrange();
                canvas.setTree(tree, shown(weighs(z) ? z : 0));
                drawCrumbs();
                drawButtons();
                drawLegend();
            } else if (what === "state") {
                if (down() !== canvas.down) {
                    canvas.down = down();
                    canvas.room = 0;
                }
                if (drawn !== [before(), reverse(), order()].join()) {
                    arrange();
                    canvas.setTree(tree, shown(zoomed()));
                }
                drawButtons();
                setZoom(shown(zoomed()), true);
            } else if (what === "colors") {
                drawButtons();
                drawLegend();
                canvas.draw();
            } else {
                canvas.draw();
            }
        },
        key(event) {
            if (event.key === "i" || event.key === "I") toggleDown();
            else if (event.key === "o" || event.key === "O") toggleOrder();
            else if (event.key === "r" || event.key === "R") toggleReverse();
            else if ((event.key === "p" || event.key === "P") && model.base !== null)
                toggleBefore();
            else if (event.key === "0" || event.key === "Escape") onzoom(0);
            else canvas.key(event);
            return event.defaultPrevented;
        },
        /* What the search counts in, and steps through. */
        range() {
            return { tree, node: canvas.zoom };
        },
        reveal(node) {
            canvas.reveal(node);
        }
    });
})();
