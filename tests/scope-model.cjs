/*
 * scope-model.cjs - the flame scope's arithmetic, by the page's own files without a browser.
 *
 *   node scope-model.cjs SRCDIR golden PAGE.html GOLDEN.jsonl   FlameScope's heat map of its input
 *   node scope-model.cjs SRCDIR page PAGE.html FOLDED NAME  sums of a page; FOLDED: all of it
 *   node scope-model.cjs SRCDIR range PAGE.html FOLDED NAME FROM TO   seconds: a part of it, as
 *                                                           convert --time FROM..TO has it
 *   node scope-model.cjs SRCDIR sums                        made-up rows
 *
 * Prints TAP lines without a plan.
 */
"use strict";
const fs = require("fs"), path = require("path");
const { read } = require("./html-model.cjs");
const [srcdir, what, ...args] = process.argv.slice(2);
let failed = 0;

function ok(good, name, more) {
    if (!good) failed++;
    console.log((good ? "ok - " : "not ok - ") + name);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more).slice(0, 600));
}

const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
const sum = list => list.reduce((a, b) => a + b, 0);

/* A scope of rows [at ns, node, weight, dur] on one track; start in ns as a BigInt. */
function make(FM, start, rows) {
    const s = new FM.Scope({ tick: 1, scale: 1, second: Number(start / 1000000000n),
        rest: Number(start % 1000000000n), offset: 0, rows: rows.length, untimed: 0,
        tracks: [[rows.length, 0, 0, "p", "t"]] });
    rows.forEach(([at, node, weight, dur], i) => {
        s.at[i] = at;
        s.node[i] = node;
        s.weight[i] = weight;
        if (dur) s.many("dur", i)[i] = dur;
        s.last = Math.max(s.last, at);
        s.end = Math.max(s.end, at + (dur || 0));
    });
    return s;
}

function golden() {
    const FM = read(srcdir, args[0]), { model, scope } = FM;
    const idle = /swapper.*(cpuidle|cpu_idle|cpu_bringup_and_idle|native_safe_halt|xen_hypercall_sched_op|xen_hypercall_vcpu_op)/;
    const skip = Uint8Array.from({ length: model.n }, (_, i) =>
        idle.test(model.path(i).map(k => model.names[model.name[k]]).join(";")) ? 1 : 0);
    const start = BigInt(scope.meta.second) * 1000000000n + BigInt(scope.meta.rest);
    const times = Array.from(scope.at, (at, i) => [start + BigInt(at), skip[scope.node[i]] === 1]);
    for (const line of fs.readFileSync(args[1], "utf8").split("\n").filter(l => l !== "")) {
        const right = JSON.parse(line), lanes = FM.scopeLanes(scope, "all", [], [], 9);
        const bins = FM.scopeBins(scope, { column: 1e9, rows: right.rows, value: "count", lanes,
            skip, hit: null });
        /* FlameScope divides binary fractions: 5086.2 mod 1 is 0.19999..., so a time on the border of
         * two cells may be in the earlier one there. Those are moved up here, and only those. */
        const moved = new Map();
        for (const [t, skipped] of times) {
            if (skipped || t * BigInt(right.rows) % 1000000000n !== 0n) continue;
            const second = t / 1000000000n, c = Number(second - start / 1000000000n);
            const exact = right.rows - 1 -
                Number((t - second * 1000000000n) * BigInt(right.rows) / 1000000000n);
            const theirs = right.rows - 1 - Math.floor(right.rows * (Number(t) / 1e9 % 1));
            moved.set(c + "," + theirs, exact);
        }
        const is = [], want = right.nonzero.map(([c, r, v]) =>
            [c, moved.has(c + "," + r) ? moved.get(c + "," + r) : r, v]);
        for (let c = 0; c < bins.columns; c++) {
            for (let r = 0; r < bins.rows; r++) {
                const v = bins.lane[0].cells[c * bins.rows + r];
                if (v > 0) is.push([c, bins.rows - 1 - r, v]);
            }
        }
        const key = list => JSON.stringify(list.slice().sort((a, b) => a[0] - b[0] || a[1] - b[1]));
        ok(bins.columns === right.columns && bins.max === right.maxvalue &&
            bins.total === right.samples && key(is) === key(want),
        "FlameScope's cells in " + right.rows + " rows", { is, columns: bins.columns });
    }
}

const folded = s => s.replace(/;/g, ":").replace(/[\x00-\x08\x0a-\x1f\x7f]/g,
    c => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));

function byLine(model, self) {
    const lines = new Map();
    for (let i = 0; i < model.n; i++) {
        if (Math.abs(self[i]) < 1e-6) continue;
        const line = model.path(i).slice(1).map(k => folded(model.names[model.name[k]])).join(";");
        lines.set(line, (lines.get(line) || 0) + self[i]);
    }
    return lines;
}

function readFolded(file) {
    const lines = new Map();
    for (const line of fs.readFileSync(file, "utf8").split("\n")) {
        const at = line.lastIndexOf(" ");
        if (at >= 0 && line.slice(at + 1) !== "0")
            lines.set(line.slice(0, at), Number(line.slice(at + 1)));
    }
    return lines;
}

function differences(a, b) {
    const list = [];
    for (const [k, v] of a) if (!near(v, b.get(k) || 0)) list.push([k, v, b.get(k) || 0]);
    for (const [k, v] of b) if (!a.has(k)) list.push([k, 0, v]);
    return list;
}

function page() {
    const FM = read(srcdir, args[0]), model = FM.model, scope = FM.scope, name = args[2];
    ok(scope !== undefined, name + ": has rows with times");
    if (scope === undefined) return;
    const lanes = FM.scopeLanes(scope, "all", [], [], 64), all = { lanes, keep: null, skip: null };
    const end = scope.end + 1;
    const self = FM.scopeSelf(scope, { ...all, from: 0, to: end }, model.n);
    if (scope.meta.untimed === 0) {
        const wrong = differences(byLine(model, self), readFolded(args[1]));
        ok(wrong.length === 0, name + ": rows sum to the folded lines", wrong);
    }
    for (const [column, rows] of [[1e9, 50], [1e8, 60], [FM.scopeColumn(end), 99], [1e10, 7]]) {
        for (const by of ["all", "thread", "cpu", "process"]) {
            const lane = FM.scopeLanes(scope, by, model.meta.events, model.meta.sources, 5);
            const bins = FM.scopeBins(scope, { column, rows, value: "weight", lanes: lane,
                skip: null, hit: null });
            if (!near(bins.total, sum(self)) || bins.lane.length > 5) {
                ok(false, name + ": cells of " + column + " ns, " + rows + " rows, lanes " + by,
                    [bins.total, sum(self)]);
                return;
            }
        }
    }
    ok(true, name + ": cells sum to the rows");
    const cuts = [0, end * 0.1, end / 3, end / 2, end * 0.9, end].map(Math.round);
    const parts = new Float64Array(model.n);
    for (let k = 1; k < cuts.length; k++) {
        const part = FM.scopeSelf(scope, { ...all, from: cuts[k - 1], to: cuts[k] }, model.n);
        for (let i = 0; i < model.n; i++) parts[i] += part[i];
    }
    ok(parts.every((v, i) => near(v, self[i])), name + ": ranges side by side sum to the whole");
}

function range() {
    const FM = read(srcdir, args[0]), model = FM.model, scope = FM.scope;
    const lanes = FM.scopeLanes(scope, "all", [], [], 64), at = s => Number(s) * 1e9 - scope.meta.offset;
    const self = FM.scopeSelf(scope, { lanes, keep: null, skip: null, from: at(args[3]),
        to: at(args[4]) }, model.n);
    const wrong = differences(byLine(model, self), readFolded(args[1]));
    ok(wrong.length === 0 && sum(self) > 0, args[2] + ": " + args[3] + ".." + args[4] + " s as --time has it",
        wrong);
}

/* Known by hand: columns of 1 s from 10 s on, 4 rows of 250 ms. */
function sums() {
    const FM = read(srcdir);
    const cells = (start, rows, column, n) => {
        const s = make(FM, start, rows), lanes = FM.scopeLanes(s, "all", [], [], 9);
        const bins = FM.scopeBins(s, { column, rows: n, value: "weight", lanes, skip: null,
            hit: null });
        return Array.from(bins.lane[0].cells.slice(0, bins.columns * n), v => Math.round(v * 1e6) / 1e6);
    };
    const same = (name, is, right) => ok(JSON.stringify(is) === JSON.stringify(right), name, is);
    same("a whole second is the first cell of its column",
        cells(10000000000n, [[0, 0, 1], [1e9, 0, 2]], 1e9, 4), [1, 0, 0, 0, 2, 0, 0, 0]);
    same("columns begin with the clock's seconds, not with the first row",
        cells(10900000000n, [[0, 0, 1], [1e8, 0, 2], [349999999, 0, 4], [350000000, 0, 8]], 1e9, 4),
        [0, 0, 0, 1, 6, 8, 0, 0]);
    same("rows out of order", cells(10000000000n, [[5e8, 0, 1], [0, 0, 2]], 1e9, 4), [2, 0, 1, 0]);
    same("what lasts is spread over its time",
        cells(10000000000n, [[125e6, 0, 8, 1e9]], 1e9, 4), [1, 2, 2, 2, 1, 0, 0, 0]);
    same("and may end where a cell does", cells(10000000000n, [[0, 0, 4, 1e9]], 1e9, 4), [1, 1, 1, 1]);
    same("times before 0", cells(-1500000000n, [[0, 0, 1], [2e9, 0, 2]], 1e9, 2), [0, 1, 0, 0, 0, 2]
        .slice(0, 2).concat([0, 0, 0, 2]));
    const s = make(FM, 0n, [[100, 1, 5, 0], [200, 2, 10, 100]]);
    const lanes = FM.scopeLanes(s, "all", [], [], 9);
    const self = (from, to) => Array.from(FM.scopeSelf(s, { from, to, lanes, keep: null, skip: null }, 3));
    same("from is in", self(100, 101), [0, 5, 0]);
    same("to is not", self(0, 100), [0, 0, 0]);
    same("half of what lasts", self(250, 1000), [0, 0, 5]);
    same("rows without a pattern at 99 Hz", [FM.scopeRows(99, 1e9), FM.scopeRows(49, 1e9),
        FM.scopeRows(1000, 1e9), FM.scopeRows(0, 1e9)], [50, 49, 50, 50].map((v, i) =>
        [33, 49, 50, 50][i]));
    same("columns of a minute, a year and five centuries", [6e10, 3.15e16, 1.8e19].map(FM.scopeColumn),
        [1e9, 8.64e13, 8.64e16]);
    same("cells are bounded", [FM.scopeFit(60, 1e9, 9e11, 3), FM.scopeFit(1000, 1e9, 19999e9, 64),
        FM.scopeFit(1000, 1e9, 19999e9, 1)], [60, 3, 200]);
    same("times as people write them", ["1.5", "250ms", " 2min", "3us", "x", "-1s"].map(FM.scopeTime)
        .map(String), ["1500000000", "250000000", "120000000000", "3000", "NaN", "-1000000000"]);
}

({ golden, page, range, sums })[what]();
process.exit(failed ? 1 : 0);
