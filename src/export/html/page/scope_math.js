/*
 * scope_math.js - the arithmetic of the flame scope. No DOM: the tests run it in node.
 *
 *   FM.Scope                      the rows of the block fm-scope (scope.c), as arrays
 *   FM.readScope(scope, text)     fills them; a generator that yields the share done
 *   FM.scopeBins(scope, how)      cells of a heat map
 *   FM.scopeSelf(scope, how)      weight by node of a range of time
 *   FM.scopeRate(scope)           samples a second, as the median distance of a track's rows has it
 *   FM.scopeRows(rate, column)    rows for which a cell holds a whole number of samples
 *   FM.scopeColumn(span)          a column length that suits a span of time: a second, or what comes
 *                                 next to it with 12 to 900 columns, a thousand days at most
 *   FM.scopeFit(rows, ...)        rows that a map of so many columns and lanes has room for
 *
 * Times are ns after the first row. A heat map has a column for every `column` ns of the absolute
 * clock (whole seconds begin a column of 1 s), and `rows` cells a column: cell 0 is the earliest, and
 * is drawn at the bottom. A row is in the cell, or the range, that its time lies in: from is in, to
 * is not, so no row is in two neighbours. What lasts (dur) is spread over its time evenly.
 *
 * Weights of the cells sum to those of the rows: nothing is lost at an edge.
 */
"use strict";
FM.Scope = class {
    constructor(meta) {
        this.meta = meta;
        this.n = meta.rows;
        this.at = new Float64Array(this.n);
        this.node = new Uint32Array(this.n);
        this.weight = new Float64Array(this.n);
        this.count = null;         /* null: each row is one sample */
        this.dur = null;           /* null: none lasts */
        this.cpu = null;           /* null: none known; else CPU + 1 */
        this.track = [];           /* {from, to, source, event, process, thread} */
        this.end = 0;              /* ns, where the last row ends; one that takes no time: at it */
        this.last = 0;
        let from = 0;
        for (const [rows, source, event, process, thread] of meta.tracks) {
            this.track.push({ from, to: from + rows, source, event, process, thread });
            from += rows;
        }
    }
    /* ns from the begin of the first column to the first row */
    phase(column) {
        const start = BigInt(this.meta.second) * 1000000000n + BigInt(this.meta.rest);
        const c = BigInt(column), rest = start % c;
        return Number(rest < 0n ? rest + c : rest);
    }
    many(key, k) {
        if (this[key] === null)
            this[key] = new (key === "cpu" ? Uint32Array : Float64Array)(this.n);
        if (key === "count" && k === 0) this.count.fill(1);
        return this[key];
    }
};

FM.readScope = function* (scope, text) {
    const r = new FM.Reader(text), { tick, scale } = scope.meta;
    let done = 0, counted = false;
    for (const track of scope.track) {
        let node = 0, weight = 0, count = 1, dur = 0, cpu = 0, at = 0;
        r.at++;
        for (let k = track.from; k < track.to; k++) {
            const what = r.number();
            at += r.number() * tick;
            if ((what & 1) === 0) {
                const has = what >> 1;
                if (has & 1) node = r.number();
                if (has & 2) weight = r.number() * scale;
                if (has & 4) count = r.number();
                if (has & 8) dur = r.number() * tick;
                if (has & 16) cpu = r.number();
            }
            scope.at[k] = at;
            scope.node[k] = node;
            scope.weight[k] = weight;
            if (count !== 1 && !counted) {
                scope.many("count", 0);
                counted = true;
            }
            if (counted) scope.count[k] = count;
            if (dur !== 0) scope.many("dur", k)[k] = dur;
            if (cpu !== 0) scope.many("cpu", k)[k] = cpu;
            if (at > scope.last) scope.last = at;
            if (at + dur > scope.end) scope.end = at + dur;
            if ((++done & 0x3ffff) === 0) yield done / scope.n;
        }
    }
};

/* The lanes of a way to divide rows: {names, of(row, track number)}; at most `most`, the last one for
 * the rest. */
FM.scopeLanes = function (scope, by, events, sources, most) {
    const key = [], weight = new Map(), { track } = scope;
    const label = t => by === "event" ? events[t.event].name
        : by === "source" ? sources[t.source].name
            : by === "process" ? t.process || "[no process]"
                : by === "thread" ? (t.process && t.process !== t.thread ? t.process + " / " : "") +
                    (t.thread || "[no thread]") : "all";
    const cpus = by === "cpu" && scope.cpu !== null;
    for (const t of track) key.push(label(t));
    if (by === "cpu" && !cpus) return { names: ["all"], of: null, cpus: false };
    if (cpus) {
        for (let i = 0; i < scope.n; i++)
            weight.set(scope.cpu[i], (weight.get(scope.cpu[i]) || 0) + scope.weight[i]);
    } else {
        track.forEach((t, k) => {
            let sum = 0;
            for (let i = t.from; i < t.to; i++) sum += scope.weight[i];
            weight.set(key[k], (weight.get(key[k]) || 0) + sum);
        });
    }
    const all = [...weight.keys()];
    let names = all;
    if (all.length > most) {
        names = all.slice().sort((a, b) => weight.get(b) - weight.get(a)).slice(0, most - 1);
        const kept = new Set(names);
        names = all.filter(name => kept.has(name));
    }
    if (cpus) names.sort((a, b) => a - b);
    const place = new Map(names.map((name, k) => [name, k])), rest = names.length;
    const text = names.map(name => cpus ? name === 0 ? "[no CPU]" : "CPU " + (name - 1) : name);
    if (names.length < all.length) text.push("others (" + (all.length - names.length) + ")");
    const find = name => place.has(name) ? place.get(name) : rest;
    return cpus ? { names: text, cpus: true, of: find }
        : { names: text, cpus: false, of: Int32Array.from(key, find) };
};

/*
 * how: {column, rows, value: "count" | "weight", lanes: scopeLanes(), skip: null or a byte by node,
 *       hit: null or a byte by node}
 * Gives {columns, rows, phase, column, lane: [{cells, hits, max}], max, total}; the cell of column c
 * and row r is at c * rows + r.
 */
FM.scopeBins = function (scope, how) {
    const { column, rows, value, lanes, skip, hit } = how, { at, node, weight, count, dur } = scope;
    const phase = scope.phase(column);
    const columns = scope.n === 0 ? 0 : Math.floor((phase + Math.max(scope.last,
        scope.end > scope.last ? scope.end - 1 : 0)) / column) + 1;
    const size = columns * rows, each = column / rows, lane = [];
    for (let k = 0; k < lanes.names.length; k++) {
        lane.push({ cells: new Float64Array(size + 1), rates: dur ? new Float64Array(size + 2) : null,
            hits: hit ? new Float64Array(size + 1) : null,
            hitRates: hit && dur ? new Float64Array(size + 2) : null, max: 0 });
    }
    const cellAt = t => {
        const c = Math.floor(t / column);
        return c * rows + Math.floor(rows * (t - c * column) / column);
    };
    const spread = (cells, rates, t, d, w) => {
        const a = cellAt(t), b = Math.max(a, Math.min(cellAt(t + d), size - 1));
        if (a === b) {
            cells[a] += w;
            return;
        }
        const rate = w / d;
        let first = rate * ((a + 1) * each - t), last = rate * (t + d - b * each);
        first = Math.max(0, Math.min(w, first));
        last = Math.max(0, Math.min(w - first, last));
        const middle = b - a - 1;
        cells[a] += first;
        cells[b] += middle > 0 ? last : w - first;
        if (middle > 0) {
            rates[a + 1] += (w - first - last) / middle;
            rates[b] -= (w - first - last) / middle;
        }
    };
    scope.track.forEach((track, k) => {
        let to = lanes.of === null ? lane[0] : lanes.cpus ? null : lane[lanes.of[k]];
        for (let i = track.from; i < track.to; i++) {
            if (skip !== null && skip[node[i]]) continue;
            if (lanes.cpus) to = lane[lanes.of(scope.cpu[i])];
            const w = value === "weight" ? weight[i] : count ? count[i] : 1;
            const t = phase + at[i], d = dur ? dur[i] : 0, found = hit && hit[node[i]];
            if (d > 0) {
                spread(to.cells, to.rates, t, d, w);
                if (found) spread(to.hits, to.hitRates, t, d, w);
            } else {
                const c = cellAt(t);
                to.cells[c] += w;
                if (found) to.hits[c] += w;
            }
        }
    });
    const settle = (cells, rates) => {
        for (let c = 0, rate = 0; rates && c < size; c++) {
            rate += rates[c];
            if (rate > 1e-9) cells[c] += rate;
        }
    };
    let max = 0, total = 0;
    for (const l of lane) {
        settle(l.cells, l.rates);
        if (l.hits) settle(l.hits, l.hitRates);
        for (let c = 0; c < size; c++) {
            if (l.cells[c] > l.max) l.max = l.cells[c];
            total += l.cells[c];
        }
        if (l.max > max) max = l.max;
        delete l.rates;
        delete l.hitRates;
    }
    return { columns, rows, phase, column, lane, max, total };
};

/* how: {from, to: ns, lanes, keep: null or a byte by lane, skip}; weights of [from, to) by node. */
FM.scopeSelf = function (scope, how, nodes) {
    const { from, to, lanes, keep, skip } = how, { at, node, weight, dur } = scope;
    const self = new Float64Array(nodes);
    scope.track.forEach((track, k) => {
        if (keep && !lanes.cpus && !keep[lanes.of === null ? 0 : lanes.of[k]]) return;
        for (let i = track.from; i < track.to; i++) {
            const t = at[i], d = dur ? dur[i] : 0;
            if (t >= to || (d > 0 ? t + d <= from : t < from)) continue;
            if (skip !== null && skip[node[i]]) continue;
            if (keep && lanes.cpus && !keep[lanes.of(scope.cpu[i])]) continue;
            self[node[i]] += d > 0
                ? weight[i] * (Math.min(to, t + d) - Math.max(from, t)) / d : weight[i];
        }
    });
    return self;
};

FM.scopeRate = function (scope) {
    const gaps = [], step = Math.max(1, Math.floor(scope.n / 40000));
    for (const track of scope.track) {
        for (let i = track.from + 1; i < track.to; i += step) {
            const gap = scope.at[i] - scope.at[i - 1];
            if (gap > 0) gaps.push(gap);
        }
    }
    if (gaps.length < 8) return 0;
    gaps.sort((a, b) => a - b);
    return 1e9 / gaps[gaps.length >> 1];
};

/* Sampling at 99 Hz in 50 rows a second puts one sample into some cells and two into others: a
 * pattern that is not in the program. So as many rows as leave a whole number in each. */
FM.scopeRows = function (rate, column) {
    const inColumn = rate * column / 1e9;
    let best = 50, least = Infinity;
    if (!(inColumn >= 5)) return 50;
    for (let k = 1; inColumn / k >= 5 && k < 10000; k++) {
        const rows = Math.round(inColumn / k);
        if (rows > 120) continue;
        const off = Math.abs(inColumn / k - rows) / rows * 100 + Math.abs(Math.log(rows / 50));
        if (off < least) {
            least = off;
            best = rows;
        }
    }
    return best;
};

FM.scopeColumn = function (span) {
    const nice = [1e6, 1e7, 1e8, 1e9, 1e10, 6e10, 6e11, 3.6e12, 8.64e13, 8.64e14, 8.64e15, 8.64e16];
    let k = 3;
    while (k > 0 && span / nice[k] < 12) k--;
    while (k < nice.length - 1 && span / nice[k] > 900) k++;
    return nice[k];
};

/* As many of the rows as a page has memory for: a map has at most four million cells, whatever the
 * address asks for. */
FM.scopeFit = function (rows, column, span, lanes) {
    return Math.max(1, Math.min(rows, Math.floor(4e6 / (Math.ceil(span / column) + 1) / lanes)));
};

/* "1.5", "1.5s", "250ms", "2min", "3us" -> ns; NaN */
FM.scopeTime = function (text) {
    const found = /^\s*(-?[0-9]*\.?[0-9]+)\s*(ns|us|µs|ms|s|min|h)?\s*$/.exec(text);
    const unit = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 };
    return found === null ? NaN : Math.round(Number(found[1]) * unit[found[2] || "s"]);
};
