/*
 * scope.js - the view "scope": when the samples were, as a heat map; a range of it chooses what all
 * views show.
 *
 *     +-- lane -+-- columns: time -->            +
 *     |  name   |  cells: within a column, up    |   one block of rows a lane, all on one time axis
 *     |  name   |                                |
 *     +---------+--------------------------------+
 *     |  flame graph of the range                |
 *
 * State: from, to = the range, and vs, vt = the one it is compared with, in seconds after the start
 * of the profile; col = ns a column, sub = rows, val = weight, how = log or quantile, by = lanes,
 * idle = 1 without idle samples, lane = number of the only lane that counts.
 */
"use strict";
(function () {
    const GUTTER = 118, AXIS = 22, GAP = 20, LANES = 64;
    const get = key => FM.state.get(key);
    const idle = /cpuidle|cpu_idle|cpu_bringup_and_idle|native_safe_halt|intel_idle|acpi_idle|xen_hypercall_(sched|vcpu)_op|default_idle/;
    let scope = null, bins = null, lanes = null, skip = null, rate = 0;
    let anchor = -1, cursor = -1, cursorLane = 0, dragging = false, comparing = false;
    let el = {}, context = null, size = {}, canvas = null, ranks = null, applied = "";

    const span = () => Math.max(scope.end, scope.last + 1);
    const column = () => {
        const asked = Number(get("col"));
        return asked >= 1000 && span() / asked <= 20000 ? Math.round(asked) : FM.scopeColumn(span());
    };
    const rows = () => {
        const asked = Math.round(Number(get("sub")));
        return FM.scopeFit(asked >= 1 && asked <= 1000 ? asked : FM.scopeRows(rate, column()),
            column(), span(), lanes.names.length);
    };
    const only = () => {
        const k = get("lane") === null ? NaN : Number(get("lane"));
        return Number.isInteger(k) && k >= 0 && k < lanes.names.length ? k : -1;
    };
    const offset = () => scope.meta.offset;
    const seconds = ns => ((ns + offset()) / 1e9).toFixed(9).replace(/0{1,6}$/, "");

    /* The range that the address holds, in ns after the first row; null: the whole profile. */
    function range(a, b) {
        if (get(a) === null || get(b) === null) return null;
        const from = Math.round(Number(get(a)) * 1e9) - offset();
        const to = Math.round(Number(get(b)) * 1e9) - offset();
        return from < to ? { from, to } : null;
    }

    /* By node: whether it, or a node above it, has a name that is so. */
    function below(test) {
        const { n, name, parent } = FM.model, flag = new Uint8Array(n);
        for (let i = 1; i < n; i++) flag[i] = flag[parent[i]] | (test(name[i]) ? 1 : 0);
        return flag;
    }

    function idleNodes() {
        const names = FM.model.names;
        const swapper = below(k => /swapper/.test(names[k])), rest = below(k => idle.test(names[k]));
        return rest.map((v, i) => v & swapper[i]);
    }

    function hits() {
        const hit = FM.search.hit;
        return hit === null ? null : below(k => hit[k] === 1);
    }

    /* ------------------------------------------------------- what is shown */

    const caption = r => seconds(r.from) + " – " + seconds(r.to) + " s";

    function weights(r) {
        let keep = null;
        if (only() >= 0) {
            keep = new Uint8Array(lanes.names.length);
            keep[only()] = 1;
        }
        return FM.scopeSelf(scope, { from: r ? r.from : 0, to: r ? r.to : span() + 1, lanes, keep,
            skip }, FM.model.n);
    }

    /* Sets the weights of all views by the state, once for each state. */
    function apply() {
        const chosen = range("from", "to"), other = range("vs", "vt");
        const key = [get("from"), get("to"), get("vs"), get("vt"), get("idle"), get("lane"),
            get("lane") === null ? "" : get("by")].join("|");
        if (key === applied) return;
        applied = key;
        if (chosen === null && other === null && only() < 0 && skip === null) {
            FM.model.setWeights(null, null, null);
            return;
        }
        let text = chosen ? caption(chosen) : "whole profile", base = null;
        if (other !== null) {
            const by = (chosen ? chosen.to - chosen.from : span()) / (other.to - other.from);
            base = weights(other);
            for (let i = 0; i < base.length; i++) base[i] *= by;
            text += " against " + caption(other) + (Math.abs(by - 1) > 1e-9 ? ", by time" : "");
        }
        if (only() >= 0) text += " · " + lanes.names[only()];
        if (skip !== null) text += " · without idle";
        FM.model.setWeights(weights(chosen), base, text);
    }

    function count() {
        lanes = FM.scopeLanes(scope, get("by") || "all", FM.model.meta.events,
            FM.model.meta.sources, LANES);
        skip = get("idle") === "1" ? idleNodes() : null;
    }

    function bin() {
        bins = FM.scopeBins(scope, { column: column(), rows: rows(),
            value: get("val") === "weight" ? "weight" : "count", lanes, skip, hit: hits() });
        ranks = null;
        if (get("how") === "quantile") {
            const all = [];
            for (const lane of bins.lane)
                for (let c = 0; c < bins.columns * bins.rows; c++)
                    if (lane.cells[c] > 0) all.push(lane.cells[c]);
            ranks = Float64Array.from(all).sort();
        }
    }

    /* 0 ... 1 */
    function level(v) {
        if (!(v > 0)) return 0;
        const how = get("how");
        if (how === "log") return Math.log1p(v) / Math.log1p(bins.max);
        if (how !== "quantile") return v / bins.max;
        let lo = 0, hi = ranks.length;
        while (lo < hi) {
            const mid = (lo + hi) >>> 1;
            if (ranks[mid] <= v) lo = mid + 1;
            else hi = mid;
        }
        return lo / ranks.length;
    }

    function heat(t, dark) {
        const stops = dark ? [[43, 48, 58], [120, 62, 40], [232, 96, 40], [255, 226, 140]]
            : [[255, 240, 230], [255, 190, 150], [240, 84, 44], [140, 8, 20]];
        const x = Math.max(0, Math.min(1, t)) * 3, k = Math.min(2, Math.floor(x)), f = x - k;
        return "rgb(" + stops[k].map((v, i) => Math.round(v + (stops[k + 1][i] - v) * f)).join(",") + ")";
    }

    /* ------------------------------------------------------------ geometry */

    function measure() {
        const w = el.heat.clientWidth, h = el.heat.clientHeight;
        if (w === 0 || h === 0 || bins === null) return;
        const r = Math.max(1, Math.min(4, window.devicePixelRatio || 1)), n = bins.lane.length;
        const wide = Math.max(1, w - GUTTER - 14), room = h - AXIS - 6;
        size = { w, h, r, cw: Math.max(3, Math.min(28, Math.floor(wide / bins.columns))),
            ch: Math.max(2, Math.min(10, Math.floor((room / n - GAP) / bins.rows))) };
        size.lane = bins.rows * size.ch + GAP;
        el.canvas.width = Math.round(w * r);
        el.canvas.height = Math.round(h * r);
        el.canvas.style.width = w + "px";
        el.canvas.style.height = h + "px";
        el.spacer.style.width = GUTTER + bins.columns * size.cw + 14 + "px";
        el.spacer.style.height = AXIS + n * size.lane + 4 + "px";
    }

    const begin = cell => Math.floor(cell / bins.rows) * bins.column +
        Math.ceil((cell % bins.rows) * bins.column / bins.rows) - bins.phase;
    const cellOf = t => {
        const c = Math.floor((t + bins.phase) / bins.column);
        return c * bins.rows + Math.floor(bins.rows * (t + bins.phase - c * bins.column) / bins.column);
    };
    const left = c => GUTTER + c * size.cw - el.scroller.scrollLeft;
    const top = (lane, row) => AXIS + lane * size.lane + (bins.rows - 1 - row) * size.ch + GAP -
        el.scroller.scrollTop;

    function find(event) {
        const box = el.scroller.getBoundingClientRect();
        const x = event.clientX - box.left + el.scroller.scrollLeft - GUTTER;
        const y = event.clientY - box.top + el.scroller.scrollTop - AXIS;
        const c = Math.floor(x / size.cw), lane = Math.floor(y / size.lane);
        if (event.clientX - box.left < GUTTER)
            return { cell: -1, lane: lane >= 0 && lane < bins.lane.length ? lane : -1 };
        if (c < 0 || c >= bins.columns || lane < 0 || lane >= bins.lane.length)
            return { cell: -1, lane: -1 };
        const row = bins.rows - 1 - Math.floor((y - lane * size.lane - GAP) / size.ch);
        return { cell: c * bins.rows + Math.max(0, Math.min(bins.rows - 1, row)), lane };
    }

    /* -------------------------------------------------------------- drawing */

    function css(name) {
        return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    }

    function drawBlock(c, from, to, lane, colour) {
        const first = Math.max(0, Math.floor(from / bins.rows));
        const last = Math.min(bins.columns - 1, Math.floor((to - 1) / bins.rows));
        c.fillStyle = colour;
        for (let k = first; k <= last; k++) {
            const a = Math.max(from, k * bins.rows) - k * bins.rows;
            const b = Math.min(to, (k + 1) * bins.rows) - 1 - k * bins.rows;
            c.fillRect(left(k), top(lane, b), size.cw, (b - a + 1) * size.ch);
        }
    }

    function drawRange(c, r, lane, colour) {
        const from = Math.max(0, cellOf(r.from)), to = cellOf(r.to - 1) + 1;
        drawBlock(c, from, Math.min(to, bins.columns * bins.rows), lane, colour);
    }

    function drawLane(c, k, dark) {
        const { columns, rows: n } = bins, lane = bins.lane[k];
        const from = Math.max(0, Math.floor((el.scroller.scrollLeft - GUTTER) / size.cw));
        const to = Math.min(columns, Math.ceil((el.scroller.scrollLeft + size.w) / size.cw));
        const gap = size.cw > 5 ? 1 : 0, low = size.ch > 4 ? 1 : 0;
        c.fillStyle = css("--panel");
        c.fillRect(left(from), top(k, n - 1), (to - from) * size.cw, n * size.ch);
        for (let x = from; x < to; x++) {
            for (let y = 0; y < n; y++) {
                const v = lane.cells[x * n + y];
                if (!(v > 0)) continue;
                const px = left(x), py = top(k, y);
                c.fillStyle = heat(level(v), dark);
                c.fillRect(px, py, size.cw - gap, size.ch - low);
                if (lane.hits && lane.hits[x * n + y] > 0) {
                    c.fillStyle = "rgba(192,40,230," + (0.3 + 0.7 * lane.hits[x * n + y] / v) + ")";
                    c.fillRect(px, py, size.cw - gap, size.ch - low);
                }
            }
        }
    }

    function drawLabels(c, ink, soft) {
        c.fillStyle = css("--paper");
        c.fillRect(0, 0, GUTTER, size.h);
        c.fillRect(0, 0, size.w, AXIS);
        c.font = "12px " + css("--font");
        c.textBaseline = "middle";
        for (let k = 0; k < bins.lane.length; k++) {
            const y = top(k, bins.rows - 1) - GAP / 2 + 1;
            if (y > size.h || y + size.lane < AXIS) continue;
            const chosen = only() < 0 || only() === k;
            c.save();
            c.beginPath();
            c.rect(0, AXIS, size.w, size.h);
            c.clip();
            c.fillStyle = chosen ? ink : soft;
            c.textAlign = "left";
            if (bins.lane.length > 1)
                c.fillText(lanes.names[k].slice(0, 120), 14, y, size.w - 28);
            c.textAlign = "right";
            c.fillStyle = soft;
            const high = bins.rows * size.ch, step = high > 200 ? 5 : high > 60 ? 2 : 1;
            for (let s = 0; s <= step; s++) {
                const at = top(k, bins.rows - 1) + high - high * s / step;
                c.fillText(FM.weight(bins.column * s / step, "ns").replace(/\.0+ /, " "), GUTTER - 8,
                    Math.max(at - (s === step ? -5 : 5), AXIS + 6));
            }
            c.restore();
        }
    }

    function drawAxis(c, soft) {
        const every = Math.max(1, Math.ceil(86 / size.cw));
        const nice = [1, 2, 5, 10, 20, 30, 60, 100, 120, 300, 600, 1000, 3600].find(v => v >= every) ||
            every;
        c.fillStyle = soft;
        c.textAlign = "left";
        c.textBaseline = "middle";
        for (let k = 0; k < bins.columns; k += nice) {
            const x = left(k);
            if (x < GUTTER - 1 || x > size.w) continue;
            c.fillRect(x, AXIS - 5, 1, 5);
            c.fillText(seconds(k * bins.column - bins.phase).replace(/(\.\d{3})\d*$/, "$1") + " s",
                x + 3, AXIS / 2);
        }
    }

    function draw() {
        if (bins === null || !size.w) return;
        const c = context, dark = document.documentElement.dataset.theme === "dark";
        const ink = css("--ink"), soft = css("--soft"), chosen = range("from", "to");
        const other = range("vs", "vt");
        c.setTransform(size.r, 0, 0, size.r, 0, 0);
        c.fillStyle = css("--paper");
        c.fillRect(0, 0, size.w, size.h);
        for (let k = 0; k < bins.lane.length; k++) {
            const y = top(k, bins.rows - 1);
            if (y > size.h || y + size.lane < 0) continue;
            drawLane(c, k, dark);
            if (other) drawRange(c, other, k, "rgba(130,80,220,0.42)");
            if (chosen) drawRange(c, chosen, k, dark ? "rgba(110,160,255,0.45)"
                : "rgba(37,99,235,0.38)");
            if (anchor >= 0) {
                const to = cursor < 0 ? anchor : cursor;
                drawBlock(c, Math.min(anchor, to), Math.max(anchor, to) + 1, k,
                    comparing ? "rgba(130,80,220,0.42)" : "rgba(37,99,235,0.38)");
            }
            if (cursor >= 0) {
                c.strokeStyle = ink;
                c.lineWidth = k === cursorLane ? 1.5 : 1;
                c.globalAlpha = k === cursorLane ? 1 : 0.45;
                c.strokeRect(left(Math.floor(cursor / bins.rows)) + 0.5,
                    top(k, cursor % bins.rows) + 0.5, size.cw - 1, Math.max(1, size.ch - 1));
                c.globalAlpha = 1;
            }
        }
        drawLabels(c, ink, soft);
        drawAxis(c, soft);
    }

    function soon() {
        if (!el.waiting) {
            el.waiting = true;
            requestAnimationFrame(() => {
                el.waiting = false;
                draw();
            });
        }
    }

    function drawLegend() {
        const dark = document.documentElement.dataset.theme === "dark", marks = [];
        for (let k = 0; k <= 12; k++) {
            const mark = FM.el("i.fm-step-of");
            mark.style.background = heat(k / 12, dark);
            marks.push(mark);
        }
        const unit = get("val") === "weight" ? FM.model.meta.unit : "samples";
        el.legend.replaceChildren(FM.el("span", null, "0"), FM.el("span.fm-scale", null, ...marks),
            FM.el("span", null, FM.weight(bins.max, unit) + " a cell"));
    }

    function tell() {
        const chosen = range("from", "to"), other = range("vs", "vt");
        el.from.value = chosen ? seconds(chosen.from) : "";
        el.to.value = chosen ? seconds(chosen.to) : "";
        el.from.classList.remove("fm-wrong");
        el.to.classList.remove("fm-wrong");
        el.whole.disabled = chosen === null && other === null;
        el.compare.setAttribute("aria-pressed", comparing ? "true" : "false");
        el.compare.disabled = chosen === null && !comparing;
        el.note.textContent = comparing
            ? "Choose the range to look at; what was chosen is what it is compared with."
            : anchor >= 0 ? "Choose where the range ends."
                : other ? "Compared with " + caption(other) + ", by time." : untimed();
        const c = column(), pick = [...el.column.options].some(o => o.value === String(c));
        el.column.value = get("col") === null ? "" : pick ? String(c) : "other";
        el.rows.value = get("sub") === null ? "" : String(rows());
        el.value.value = get("val") || "count";
        el.how.value = get("how") || "linear";
        el.by.value = get("by") || "all";
        el.idle.setAttribute("aria-pressed", get("idle") === "1" ? "true" : "false");
        el.rows.options[0].textContent = "Rows: auto (" + FM.scopeRows(rate, c) + ")";
        el.column.options[0].textContent = "Column: auto (" +
            FM.weight(FM.scopeColumn(span()), "ns").replace(/\.0+ /, " ") + ")";
    }

    function untimed() {
        const n = scope.meta.untimed;
        return n > 0 ? FM.commas(n) + (n === 1 ? " row has" : " rows have") +
            " no time and are not here." : "";
    }

    function foot(event) {
        if (cursor < 0 || bins === null) {
            FM.tip.hide();
            return;
        }
        const lane = bins.lane[cursorLane], v = lane.cells[cursor];
        const unit = get("val") === "weight" ? FM.model.meta.unit : "samples";
        const text = [seconds(begin(cursor)) + " s, " +
            FM.weight(bins.column / bins.rows, "ns") + " long"];
        if (bins.lane.length > 1) text.push(lanes.names[cursorLane]);
        text.push(FM.weight(Math.round(v * 1000) / 1000, unit));
        if (lane.hits && v > 0)
            text.push("matched " + FM.percent(lane.hits[cursor], v));
        if (FM.model.meta.wall !== undefined) text.push(wall(begin(cursor)));
        el.cell.textContent = text.join(" · ");
        el.scroller.setAttribute("aria-valuetext", text.join(", "));
        if (event) el.cell.title = el.cell.textContent;
    }

    function wall(ns) {
        const at = BigInt(FM.model.meta.wall) + BigInt(Math.round(ns + offset()));
        const date = new Date(Number(at / 1000000n));
        return isNaN(date) ? "" : date.toISOString().replace("T", " ").replace("Z", " UTC");
    }

    /* ------------------------------------------------------------- choosing */

    function choose(from, to) {
        const set = { from: seconds(from), to: seconds(to) };
        if (comparing) {
            set.vs = get("from");
            set.vt = get("to");
            comparing = false;
        }
        anchor = -1;
        FM.state.set(set, true);
        apply();
        tell();
        draw();
    }

    function chooseCells(a, b) {
        const lo = Math.min(a, b), hi = Math.max(a, b) + 1;
        choose(begin(lo), begin(hi));
    }

    function whole() {
        anchor = -1;
        comparing = false;
        FM.state.set({ from: null, to: null, vs: null, vt: null, lane: null }, true);
        apply();
        tell();
        draw();
    }

    function typed() {
        const parse = (text, rest) => text.trim() === "" ? rest : FM.scopeTime(text) - offset();
        const from = parse(el.from.value, 0), to = parse(el.to.value, span() + 1);
        const good = from < to;
        el.from.classList.toggle("fm-wrong", !good && !(from < span()));
        el.to.classList.toggle("fm-wrong", !good);
        if (good) choose(from, to);
    }

    function down(event) {
        if (event.button !== 0) return;
        const at = find(event);
        if (at.cell < 0) {
            if (at.lane >= 0 && bins.lane.length > 1) {
                FM.state.set({ lane: only() === at.lane ? null : at.lane }, true);
                apply();
                tell();
                draw();
            }
            return;
        }
        cursor = at.cell;
        cursorLane = at.lane;
        if (anchor >= 0) {
            chooseCells(anchor, cursor);
            return;
        }
        anchor = cursor;
        dragging = true;
        el.moved = false;
        el.scroller.setPointerCapture(event.pointerId);
        tell();
        draw();
    }

    function move(event) {
        const at = find(event);
        if (at.cell === cursor && at.lane === cursorLane) return;
        if (dragging && at.cell < 0) return;
        if (dragging && at.cell !== anchor) el.moved = true;
        cursor = at.cell;
        if (at.lane >= 0) cursorLane = at.lane;
        foot(event);
        soon();
    }

    function up() {
        if (!dragging) return;
        dragging = false;
        if (el.moved && cursor >= 0) chooseCells(anchor, cursor);
    }

    function keys(event) {
        const n = bins.columns * bins.rows;
        const by = { ArrowUp: 1, ArrowDown: -1, ArrowRight: bins.rows, ArrowLeft: -bins.rows }[event.key];
        if (by !== undefined) {
            const was = cursor < 0 ? 0 : cursor, to = cursor < 0 ? 0 : was + by;
            if (event.shiftKey && anchor < 0) anchor = was;
            cursor = Math.max(0, Math.min(n - 1, to));
        } else if (event.key === "Home" || event.key === "End") {
            cursor = event.key === "Home" ? 0 : n - 1;
        } else if (event.key === "PageDown" || event.key === "PageUp") {
            cursorLane = Math.max(0, Math.min(bins.lane.length - 1,
                cursorLane + (event.key === "PageDown" ? 1 : -1)));
        } else if (event.key === "Enter" && cursor >= 0) {
            if (anchor >= 0) chooseCells(anchor, cursor);
            else anchor = cursor;
        } else if (event.key === "Escape") {
            if (anchor >= 0) anchor = -1;
            else if (comparing) comparing = false;
            else whole();
        } else {
            return;
        }
        event.preventDefault();
        see();
        foot();
        tell();
        draw();
    }

    /* Scrolls to the cursor. */
    function see() {
        if (cursor < 0) return;
        const x = Math.floor(cursor / bins.rows) * size.cw, s = el.scroller;
        if (x < s.scrollLeft) s.scrollLeft = x;
        if (x + size.cw > s.scrollLeft + size.w - GUTTER)
            s.scrollLeft = x + size.cw - size.w + GUTTER;
    }

    /* ---------------------------------------------------------------- build */

    function select(label, options, key, rest) {
        const change = e => {
            let value = e.target.value;
            if (value === "other") value = get(key);
            FM.state.set({ [key]: value === "" || value === rest ? null : value });
            anchor = -1;
            if (key === "by") FM.state.set({ lane: null });
            refresh();
        };
        return FM.el("select.fm-button", { "aria-label": label, title: label, on: { change } },
            ...options.map(([value, text]) => FM.el("option", { value }, text)));
    }

    function refresh() {
        count();
        bin();
        cursor = -1;
        apply();
        measure();
        tell();
        drawLegend();
        draw();
    }

    function bar() {
        const lengths = [1e6, 1e7, 1e8, 1e9, 1e10, 6e10, 6e11].filter(c => span() / c <= 20000);
        el.column = select("length of a column", [["", "Column: auto"], ...lengths.map(c =>
            [String(c), "Column: " + FM.weight(c, "ns").replace(/\.0+ /, " ")]),
        ["other", "Column: as in the address"]], "col", "");
        el.rows = select("cells in a column", [["", "Rows: auto"], ...[10, 20, 25, 30, 49, 50, 60, 99,
            100, 120, 144, 240].map(n => [String(n), "Rows: " + n + (n === 60 ? " (60 fps)" : "")])],
        "sub", "");
        el.value = select("what a cell counts", [["count", "Count samples"],
            ["weight", "Sum " + FM.model.meta.unit]], "val", "count");
        el.how = select("how colours grow", [["linear", "Linear"], ["log", "Logarithmic"],
            ["quantile", "By rank"]], "how", "linear");
        const ways = [["all", "One lane"], ["event", "Lane an event"], ["source", "Lane an input"],
            ["process", "Lane a process"], ["thread", "Lane a thread"]];
        if (scope.cpu !== null) ways.push(["cpu", "Lane a CPU"]);
        el.by = select("lanes", ways, "by", "all");
        el.idle = FM.button("Without idle", "leave out samples of the idle task", () => {
            FM.state.set({ idle: get("idle") === "1" ? null : "1" });
            refresh();
        });
        el.legend = FM.el("span.fm-legend.fm-heat-legend");
        return FM.el("div.fm-bar", null, el.column, el.rows, el.value, el.how, el.by, el.idle,
            el.legend);
    }

    function rangeBar() {
        const field = label => FM.el("input.fm-time", {
            type: "text", "aria-label": label, title: label + " in seconds (or 250ms, 2min)",
            autocomplete: "off", spellcheck: "false",
            on: {
                keydown: e => {
                    if (e.key === "Enter") typed();
                },
                change: typed
            }
        });
        el.from = field("from");
        el.to = field("to");
        el.whole = FM.button("Whole profile", "show all again (Escape)", whole);
        el.compare = FM.button("Compare", "choose another range and see the difference", () => {
            comparing = !comparing;
            anchor = -1;
            tell();
            draw();
        });
        el.note = FM.el("span.fm-soft", { role: "status" });
        el.cell = FM.el("span.fm-cell");
        return FM.el("div.fm-bar.fm-range", null, FM.el("label", null, "From ", el.from),
            FM.el("label", null, "to ", el.to), FM.el("span", null, "s"), el.whole, el.compare,
            el.note, el.cell);
    }

    const view = {
        id: "scope",
        title: "Flame scope",
        rank: 15,
        mount(panel, model) {
            el.canvas = FM.el("canvas.fm-canvas", { "aria-hidden": "true" });
            el.spacer = FM.el("div.fm-spacer");
            el.scroller = FM.el("div.fm-scroller.fm-heat-scroller", {
                tabindex: 0, role: "application", "aria-roledescription": "heat map",
                "aria-label": "Samples over time. Arrow keys move the cell, Enter begins and ends a " +
                    "range, Shift with arrows extends it, Escape shows the whole profile.",
                on: { scroll: soon, pointerdown: down, pointermove: move, pointerup: up,
                    pointerleave: () => {
                        if (dragging) return;
                        cursor = -1;
                        el.cell.textContent = "";
                        soon();
                    },
                    keydown: keys }
            }, el.spacer);
            el.heat = FM.el("div.fm-frame.fm-heat", null, el.canvas, el.scroller);
            context = el.canvas.getContext("2d", { alpha: false });
            canvas = new FM.Canvas({
                label: "Flame graph of the range. Arrow keys walk, Enter zooms, Escape resets.",
                onzoom: i => {
                    canvas.zoomTo(i, true);
                    FM.emit("zoom", { tree: FM.model, node: i });
                },
                onhover(node, event) {
                    FM.tip.show(FM.model, node, canvas.zoom, event);
                    FM.foot(FM.model, node, canvas.zoom);
                },
                onopen(node) {
                    if (FM.model.name[node] < model.meta.names)
                        FM.openSandwich(FM.model.name[node]);
                }
            });
            panel.append(bar(), rangeBar(), el.heat, FM.el("div.fm-tag", null,
                "Flame graph of the range"), canvas.element);
            if (window.ResizeObserver) new ResizeObserver(() => {
                measure();
                draw();
            }).observe(el.heat);
            refresh();
            canvas.setTree(FM.model, 0);
        },
        show() {
            measure();
            draw();
            canvas.resize();
        },
        update(what) {
            if (what === "weights") canvas.setTree(FM.model, 0);
            else if (what === "search") {
                bin();
                canvas.draw();
            } else if (what === "state") {
                count();
                bin();
                measure();
                tell();
            } else canvas.draw();
            drawLegend();
            draw();
        },
        key(event) {
            if (document.activeElement === el.scroller) return false;
            if (event.key === "Escape") {
                whole();
                return true;
            }
            canvas.key(event);
            return event.defaultPrevented;
        },
        range() {
            return { tree: FM.model, node: canvas.zoom };
        },
        reveal(node) {
            canvas.reveal(node);
        }
    };

    /* Reads the block; the view is there when the profile has times. */
    FM.startScope = async function (meta, text, slices, say) {
        if (meta.scope === null || meta.scope.rows === 0) return;
        scope = FM.scope = new FM.Scope(meta.scope);
        await slices(FM.readScope(scope, text), say);
        rate = FM.scopeRate(scope);
        FM.view(view);
    };

    /* A range that the address holds counts for every view, whether or not the scope is open. */
    FM.followScope = function () {
        if (scope === null) return;
        count();
        apply();
        FM.on("state", () => {
            count();
            apply();
        });
    };
})();
