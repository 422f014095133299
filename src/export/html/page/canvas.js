/*
 * canvas.js - draws a tree as boxes: FM.Canvas, used by the flame graph and the sandwich.
 *
 *     +-- frame (positioned) -----------------+
 *     |  canvas    as large as the window     |   what is seen is drawn, nothing else
 *     |  scroller  over it, scrolls a spacer  |   takes pointer, wheel and keys
 *     |  hover     outline of a box           |
 *     +---------------------------------------+
 *
 * A zoom is a range of weight [lo, hi) stretched over the width; ancestors of the zoomed node reach
 * beyond it and are clipped. Drawing goes down from the root: of a node's children those in the
 * range are visited; a run of children narrower than LEAST px is skipped by a search in tree.pre
 * for what begins a pixel further, so the work is by pixels, not by nodes.
 */
"use strict";
(function () {
    const ROW = 19, LEAST = 0.3, LABEL = 24, MOST = 300;
    const ratio = () => Math.max(1, Math.min(4, window.devicePixelRatio || 1));

    FM.Canvas = class {
        /* options: label, down (root at the top), onzoom(node), onhover(node, event),
         * onopen(node), dimRoot */
        constructor(options) {
            this.options = options;
            this.down = !!options.down;
            this.tree = new FM.Tree(0);
            this.zoom = 0;
            this.lo = 0;
            this.hi = 1;
            this.rows = 1;
            this.picked = -1;
            this.under = -1;
            this.widths = new Map();
            this.slow = 0;
            this.canvas = FM.el("canvas.fm-canvas", { "aria-hidden": "true" });
            this.spacer = FM.el("div.fm-spacer");
            this.outline = FM.el("div.fm-outline", { hidden: true });
            this.scroller = FM.el("div.fm-scroller", {
                tabindex: 0, role: "application", "aria-label": options.label,
                "aria-roledescription": "flame graph",
                on: {
                    scroll: () => this.soon(),
                    pointermove: e => this.move(e),
                    pointerleave: () => this.leave(),
                    click: e => this.click(e),
                    dblclick: e => this.twice(e),
                    keydown: e => this.key(e)
                }
            }, this.spacer);
            this.element = FM.el("div.fm-frame", null, this.canvas, this.outline, this.scroller);
            this.context = this.canvas.getContext("2d", { alpha: false });
            if (window.ResizeObserver)
                new ResizeObserver(() => this.resize()).observe(this.element);
            else
                window.addEventListener("resize", () => this.resize());
        }

        setTree(tree, zoom) {
            this.tree = tree;
            this.widths.clear();
            this.picked = -1;
            this.zoomTo(zoom || 0, false);
        }

        resize() {
            const w = this.element.clientWidth, h = this.element.clientHeight;
            if (w === 0 || h === 0) return;
            this.wide = w;
            this.high = h;
            const r = ratio();
            this.canvas.width = Math.round(w * r);
            this.canvas.height = Math.round(h * r);
            this.canvas.style.width = w + "px";
            this.canvas.style.height = h + "px";
            this.measure();
            this.draw();
        }

        get least() {
            return LEAST * (this.hi - this.lo) / (this.wide || 1);
        }

        /* ------------------------------------------------------ geometry */

        /* Rows that boxes of the range need, and the room for them. Keeps the distance to the
         * root's side. */
        measure() {
            if (!this.wide) return;
            const far = this.down ? this.scroller.scrollTop
                : this.room - this.scroller.scrollTop - this.high;
            let deepest = 0;
            this.visit((i, d) => {
                if (d > deepest) deepest = d;
            });
            this.rows = deepest + 1;
            const room = Math.max(this.rows * ROW + 8, this.high);
            this.spacer.style.height = room + "px";
            const first = !this.room;
            this.room = room;
            if (this.down) this.scroller.scrollTop = far;
            else this.scroller.scrollTop = first ? room : room - this.high - far;
        }

        /* Top of a row, from the top of the room. */
        top(depth) {
            return this.down ? depth * ROW : this.room - (depth + 1) * ROW;
        }

        x(weight) {
            return (weight - this.lo) / (this.hi - this.lo) * this.wide;
        }

        find(event) {
            if (!this.room) return -1;
            const box = this.scroller.getBoundingClientRect();
            const x = event.clientX - box.left, y = event.clientY - box.top +
                this.scroller.scrollTop;
            const depth = Math.floor((this.down ? y : this.room - y) / ROW);
            if (depth < 0 || x < 0 || x >= this.wide) return -1;
            return this.tree.at(this.lo + x / this.wide * (this.hi - this.lo), depth);
        }

        /* ------------------------------------------------------- drawing */

        /* Calls fn(node, depth) for boxes of the range that are wide enough, callers first, and
         * gap(from, to, depth) for runs of narrower ones. */
        visit(fn, gap) {
            const { tree, lo, hi, least } = this, { end, depth, pre, parent } = tree;
            if (tree.n === 0 || !(tree.sum > 0)) return;
            const stack = [0];
            fn(0, 0);
            while (stack.length > 0) {
                const p = stack.pop(), stop = end[p], d = depth[p] + 1;
                let c = p + 1;
                if (c >= stop) continue;
                if (pre[c] < lo) c = this.child(p, lo, c, stop);
                while (c < stop && pre[c] < hi) {
                    const from = pre[c], to = pre[end[c]];
                    if (to - from >= least) {
                        if (to > lo) {
                            fn(c, d);
                            if (end[c] > c + 1) stack.push(c);
                        }
                        c = end[c];
                        continue;
                    }
                    let next = c;
                    while (next < stop && pre[end[next]] - pre[next] < least) {
                        const target = pre[next] + least, after = end[next];
                        if (after >= stop) {
                            next = stop;
                            break;
                        }
                        next = this.child(p, target, after, stop);
                    }
                    if (gap) gap(from, next < stop ? pre[next] : pre[stop], d);
                    c = next;
                }
            }
        }

        /* The child of p, from `from` on, in which a weight lies. */
        child(p, weight, from, stop) {
            const { tree } = this, { parent } = tree;
            let i = tree.last(weight, from, stop);
            if (i < from) return from;
            while (parent[i] !== p) i = parent[i];
            return i;
        }

        soon() {
            if (this.asked) return;
            this.asked = true;
            requestAnimationFrame(() => {
                this.asked = false;
                this.draw();
            });
        }

        draw() {
            if (!this.wide) return;
            const began = performance.now(), r = ratio(), c = this.context;
            const style = getComputedStyle(this.element);
            const paper = style.getPropertyValue("--paper").trim() || "#fff";
            const ink = style.getPropertyValue("--ink").trim() || "#000";
            const mute = style.getPropertyValue("--gap").trim() || "#ddd";
            c.setTransform(1, 0, 0, 1, 0, 0);
            c.globalAlpha = 1;
            c.fillStyle = paper;
            c.fillRect(0, 0, this.canvas.width, this.canvas.height);
            if (!(this.tree.sum > 0)) this.nothing(c, r);
            this.boxes(c, r, paper, mute);
            this.marks(c, r, ink);
            this.place();
            this.slow = performance.now() - began;
        }

        nothing(c, r) {
            c.setTransform(r, 0, 0, r, 0, 0);
            c.fillStyle = this.inkNow();
            c.globalAlpha = 0.6;
            c.font = "14px system-ui, -apple-system, 'Segoe UI', Roboto, Cantarell, sans-serif";
            c.textAlign = "center";
            c.fillText("No samples", this.wide / 2, this.high / 2);
            c.textAlign = "start";
            c.setTransform(1, 0, 0, 1, 0, 0);
            c.globalAlpha = 1;
        }

        boxes(c, r, paper, mute) {
            const { tree } = this, { pre, end } = tree, scroll = this.scroller.scrollTop;
            const hit = FM.search.hit, zoomed = tree.depth[this.zoom], labels = [];
            const scale = this.wide * r / (this.hi - this.lo), lo = this.lo;
            const tall = Math.round((ROW - 1) * r), limit = this.canvas.width;
            const seen = depth => {
                const y = this.top(depth) - scroll;
                return y > -ROW && y < this.high ? y : null;
            };
            this.visit((i, depth) => {
                const y = seen(depth);
                if (y === null) return;
                const a = Math.max(0, Math.round((pre[i] - lo) * scale));
                const b = Math.min(limit, Math.round((pre[end[i]] - lo) * scale));
                const w = Math.max(1, b - a - (b - a > 3 * r ? Math.round(r) : 0));
                c.globalAlpha = (hit !== null && !hit[tree.name[i]] ? 0.28 : 1) *
                    (depth < zoomed ? 0.55 : 1);
                c.fillStyle = hit !== null && hit[tree.name[i]] ? "#c04bf0"
                    : FM.color.of(tree, i);
                c.fillRect(a, Math.round(y * r), w, tall);
                if (w >= LABEL * r) labels.push(i, a / r, y, w / r);
            }, (from, to, depth) => {
                const y = seen(depth), a = Math.round((Math.max(from, lo) - lo) * scale);
                const b = Math.round((Math.min(to, this.hi) - lo) * scale);
                if (y === null || b - a < 1) return;
                c.globalAlpha = depth <= zoomed ? 0.4 : 1;
                c.fillStyle = mute;
                c.fillRect(a, Math.round(y * r), b - a, tall);
            });
            c.setTransform(r, 0, 0, r, 0, 0);
            c.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Cantarell, sans-serif";
            c.textBaseline = "middle";
            for (let k = 0; k < labels.length; k += 4)
                this.label(c, labels[k], labels[k + 1], labels[k + 2], labels[k + 3], hit,
                    zoomed);
            c.globalAlpha = 1;
        }

        label(c, i, x, y, w, hit, zoomed) {
            const { tree } = this, lit = hit !== null && hit[tree.name[i]];
            const text = this.fit(c, tree.name[i], w - 8);
            if (text === "") return;
            c.globalAlpha = (hit !== null && !lit ? 0.6 : 1) * (tree.depth[i] < zoomed ? 0.75 : 1);
            const plain = hit !== null || tree.depth[i] < zoomed;
            c.fillStyle = lit ? "#ffffff" : plain ? this.inkNow() : FM.color.ink(tree, i);
            c.fillText(text, x + 4, y + (ROW - 1) / 2 + 0.5);
        }

        inkNow() {
            return document.documentElement.dataset.theme === "dark" ? "#e8eaee" : "#1a1c20";
        }

        /* As much of a name as fits, with "…"; "" when less than two characters would. Of a name
         * that does not fit, the part after packages or folders comes first. */
        fit(c, name, room) {
            const whole = FM.model.names[name];
            const text = whole.length > MOST ? whole.slice(0, MOST) : whole;
            let wide = this.widths.get(name);
            if (wide === undefined) {
                wide = c.measureText(text).width;
                if (this.widths.size > 20000) this.widths.clear();
                this.widths.set(name, wide);
            }
            if (wide <= room) return text;
            const short = FM.shortName(text);
            if (short !== text) {
                wide = c.measureText(short).width;
                if (wide <= room) return short;
            }
            let keep = Math.floor(short.length * room / wide);
            for (let k = 0; k < 4 && keep > 0; k++) {
                const part = short.slice(0, keep) + "…", has = c.measureText(part).width;
                if (has <= room) return keep < 2 ? "" : part;
                keep -= Math.max(1, Math.ceil((has - room) / (has / (keep + 1))));
            }
            return "";
        }

        marks(c, r, ink) {
            const { tree, picked } = this;
            c.setTransform(r, 0, 0, r, 0, 0);
            if (picked < 0) return;
            const x = Math.max(0, this.x(tree.pre[picked]));
            const w = Math.min(this.wide, this.x(tree.pre[tree.end[picked]])) - x;
            const y = this.top(tree.depth[picked]) - this.scroller.scrollTop;
            c.strokeStyle = ink;
            c.lineWidth = 2;
            c.strokeRect(x + 1, y + 1, Math.max(1, w - 3), ROW - 3);
        }

        /* The outline of what is under the pointer. */
        place() {
            const { tree, under, outline } = this;
            outline.hidden = under < 0;
            if (under < 0) return;
            const x = Math.max(0, this.x(tree.pre[under]));
            const w = Math.min(this.wide, this.x(tree.pre[tree.end[under]])) - x;
            const y = this.top(tree.depth[under]) - this.scroller.scrollTop;
            outline.style.transform = "translate(" + x + "px," + y + "px)";
            outline.style.width = Math.max(2, w - 1) + "px";
            outline.style.height = ROW - 1 + "px";
        }

        /* ---------------------------------------------------------- zoom */

        zoomTo(node, smooth) {
            const { tree } = this;
            this.zoom = node;
            this.under = -1;
            const lo = tree.n ? tree.pre[node] : 0;
            let hi = tree.n ? tree.pre[tree.end[node]] : 1;
            if (!(hi > lo)) hi = lo + 1;
            const from = [this.lo, this.hi], began = performance.now();
            cancelAnimationFrame(this.running);
            if (!smooth || FM.calm() || this.slow > 25 || !this.wide) {
                this.lo = lo;
                this.hi = hi;
                this.arrive();
                return;
            }
            const step = now => {
                const t = Math.min(1, Math.max(0, (now - began) / 170));
                const e = t < 1 ? 1 - Math.pow(1 - t, 3) : 1;
                this.lo = from[0] + (lo - from[0]) * e;
                this.hi = from[1] + (hi - from[1]) * e;
                if (t < 1) {
                    this.draw();
                    this.running = requestAnimationFrame(step);
                } else {
                    this.arrive();
                }
            };
            this.running = requestAnimationFrame(step);
        }

        arrive() {
            this.measure();
            this.show(this.zoom, 3);
            this.draw();
        }

        /* Scrolls so that a node and `above` rows of its callers are seen. */
        show(node, above) {
            if (!this.room || !this.tree.n) return;
            const y = this.top(this.tree.depth[node]), s = this.scroller;
            if (y >= s.scrollTop && y + ROW <= s.scrollTop + this.high &&
                this.rows * ROW <= this.high) return;
            s.scrollTop = this.down ? y - above * ROW : y + (above + 1) * ROW - this.high;
        }

        /* Makes a box seen: scrolls to it, and zooms out or in as far as needed. */
        reveal(node) {
            const { tree } = this;
            let z = this.zoom;
            if (node < z || node >= tree.end[z]) z = 0;
            if (tree.total(node) / tree.total(z) * this.wide < 4) {
                for (z = node; z !== 0 && tree.total(node) / tree.total(tree.parent[z]) *
                    this.wide >= 4;) z = tree.parent[z];
            }
            this.picked = node;
            if (z !== this.zoom) this.options.onzoom(z);
            const y = this.top(tree.depth[node]), s = this.scroller;
            if (y < s.scrollTop || y + ROW > s.scrollTop + this.high)
                s.scrollTop = y - (this.high - ROW) / 2;
            this.draw();
            if (this.options.onhover) this.options.onhover(node, null);
        }

        /* -------------------------------------------------------- events */

        move(event) {
            const node = this.find(event);
            if (node !== this.under) {
                this.under = node;
                this.place();
                this.scroller.classList.toggle("fm-on", node >= 0);
            }
            if (this.options.onhover) this.options.onhover(node, event);
        }

        leave() {
            this.under = -1;
            this.place();
            if (this.options.onhover) this.options.onhover(-1, null);
        }

        click(event) {
            const node = this.find(event);
            if (node < 0) return;
            this.picked = -1;
            if (event.shiftKey && this.options.onopen) this.options.onopen(node);
            else this.options.onzoom(node);
        }

        twice(event) {
            const node = this.find(event);
            if (node >= 0 && this.options.onopen) this.options.onopen(node);
        }

        /* Arrows walk: away from the root, towards it, to brothers. */
        key(event) {
            if (event.defaultPrevented) return;
            const { tree } = this, at = this.picked >= 0 ? this.picked : this.zoom;
            let to = -1;
            if (event.ctrlKey || event.metaKey || event.altKey || tree.n === 0)
                return;
            const out = this.down ? "ArrowDown" : "ArrowUp";
            const back = this.down ? "ArrowUp" : "ArrowDown";
            if (event.key === out) {
                let most = 0;
                for (const c of tree.children(at).slice(0, 10000)) {
                    if (tree.total(c) > most) {
                        most = tree.total(c);
                        to = c;
                    }
                }
            } else if (event.key === back) {
                to = at > 0 ? tree.parent[at] : -1;
            } else if (event.key === "ArrowRight") {
                to = at > 0 && tree.end[at] < tree.end[tree.parent[at]] ? tree.end[at] : -1;
            } else if (event.key === "ArrowLeft") {
                for (let c = at > 0 ? tree.parent[at] + 1 : at; c < at; c = tree.end[c]) to = c;
            } else if (event.key === "Enter") {
                this.options.onzoom(at);
                event.preventDefault();
                return;
            } else if (event.key === "Backspace") {
                this.options.onzoom(this.zoom > 0 ? tree.parent[this.zoom] : 0);
                event.preventDefault();
                return;
            } else if ((event.key === "s" || event.key === "S") && this.options.onopen) {
                this.options.onopen(at);
                event.preventDefault();
                return;
            } else {
                return;
            }
            event.preventDefault();
            if (to >= 0) this.reveal(to);
        }
    };
})();
