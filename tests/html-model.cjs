/*
 * html-model.cjs - what an HTML report holds, read by the page's own files without a browser,
 * against the folded output of the same input: node html-model.cjs SRCDIR PAGE.html FOLDED [NAME]
 *
 * Prints TAP lines without a plan (html.test counts). The sums that the views show (self and total
 * of each function, its callers, its callees) are worked out from the folded lines a second time,
 * with nothing but maps of texts. Exported for html-check.cjs: read(srcdir, page) -> FM.
 */
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");

const files = ["base", "text", "model", "layout", "search", "scope_math"];

function read(srcdir, page) {
    const folder = path.join(srcdir, "src/export/html/page");
    const code = files.map(f => fs.readFileSync(path.join(folder, f + ".js"), "utf8")).join("\n");
    const context = vm.createContext({ location: { hash: "" } });
    const FM = vm.runInContext(code + "\nFM", context);
    if (page === undefined) return FM;
    const html = fs.readFileSync(page, "utf8");
    const block = id => {
        const from = html.indexOf('<script type="text/plain" id="' + id + '">');
        if (from < 0) return null;
        const at = html.indexOf(">", from) + 1;
        return html.slice(at, html.indexOf("<", at));
    };
    const model = FM.model = new FM.Model(JSON.parse(block("fm-meta")));
    for (const step of FM.readNames(model, block("fm-names"))) void step;
    for (const step of FM.readNodes(model, block("fm-nodes"))) void step;
    if (block("fm-base") !== null) model.recordedBase = FM.readBase(model, block("fm-base"));
    model.weigh(model.self, model.recordedBase);
    model.recorded = model.self;
    if (model.meta.scope !== null) {
        FM.scope = new FM.Scope(model.meta.scope);
        for (const step of FM.readScope(FM.scope, block("fm-scope"))) void step;
    }
    return FM;
}

module.exports = { read };
if (require.main !== module) return;

const [srcdir, page, foldedFile, title] = process.argv.slice(2);
const name = title || path.basename(page);
let failed = 0;

function ok(good, what, more) {
    if (!good) failed++;
    console.log((good ? "ok - " : "not ok - ") + name + ": " + what);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more).slice(0, 600));
}

/* As a folded line holds a name (store/name.h). */
const folded = s => s.replace(/;/g, ":").replace(/[\x00-\x08\x0a-\x1f\x7f]/g,
    c => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));

const FM = read(srcdir, page), model = FM.model;
const lines = new Map();
for (const line of fs.readFileSync(foldedFile, "utf8").split("\n")) {
    const at = line.lastIndexOf(" ");
    if (at >= 0 && (line.slice(at + 1) !== "0" || model.base !== null))
        lines.set(line.slice(0, at), Number(line.slice(at + 1)));
}

const label = k => folded(model.names[k]);
const own = new Map();
for (let i = 0; i < model.n; i++) {
    if (model.self[i] === 0) continue;
    const key = model.path(i).slice(1).map(j => label(model.name[j])).join(";");
    own.set(key, (own.get(key) || 0) + model.self[i]);
}

function differ(a, b) {
    for (const [k, v] of a) if (b.get(k) !== v) return [k, v, b.get(k)];
    for (const [k, v] of b) if (a.get(k) !== v) return [k, a.get(k), v];
    return null;
}

/* A differential: the same of the base, whose lines are "stack BASE NEW", not scaled. */
if (model.base !== null) {
    const want = new Map(), have = new Map();
    for (const [stack, v] of [...lines]) {
        const at = stack.lastIndexOf(" "), before = Number(stack.slice(at + 1));
        lines.delete(stack);
        if (v > 0) lines.set(stack.slice(0, at), v);
        if (before > 0) want.set(stack.slice(0, at), before);
    }
    for (let i = 0; i < model.n; i++) {
        const v = model.base[i + 1] - model.base[i];
        const key = model.path(i).slice(1).map(j => label(model.name[j])).join(";");
        if (v > 0) have.set(key, (have.get(key) || 0) + v);
    }
    ok(want.size > 0 && differ(want, have) === null, want.size + " stacks of the base",
        differ(want, have));
}

const sum = [...lines.values()].reduce((a, b) => a + b, 0);
ok(lines.size > 0 || sum === 0, "there is something to compare");
ok(differ(lines, own) === null, lines.size + " stacks with the weights of folded",
    differ(lines, own));
ok(model.sum === sum && model.meta.total === String(sum), "the sum is " + sum,
    [model.sum, model.meta.total]);

let sound = true;
for (let i = 0; i < model.n && sound; i++) {
    const total = model.children(i).reduce((s, c) => s + model.total(c), model.self[i]);
    sound = total === model.total(i) && (i === 0 || model.parent[i] < i &&
        model.end[i] <= model.end[model.parent[i]]);
}
ok(sound, "a node's total is its own weight and its children's");

/* Self and total by function, from the lines alone: interpreted, compiled, inlined are one. */
const self = new Map(), total = new Map(), add = (m, k, v) => m.set(k, (m.get(k) || 0) + v);
for (const [stack, v] of lines) {
    if (stack === "") continue;
    const frames = stack.split(";");
    add(self, frames[frames.length - 1], v);
    for (const f of new Set(frames)) add(total, f, v);
}
const sums = FM.totals(model, model.same), count = new Map();
for (let k = 0; k < model.meta.names; k++) if (model.same[k] === k) add(count, label(k), 1);
const mySelf = new Map(), myTotal = new Map(), wantTotal = new Map();
for (let k = 0; k < model.meta.names; k++) {
    if (sums.self[k] > 0) add(mySelf, label(k), sums.self[k]);
    if (count.get(label(k)) === 1 && sums.total[k] > 0) myTotal.set(label(k), sums.total[k]);
}
for (const [f, v] of total) if (count.get(f) === 1) wantTotal.set(f, v);
ok(differ(self, mySelf) === null, "self weight of " + self.size + " functions",
    differ(self, mySelf));
ok(differ(wantTotal, myTotal) === null, "total of " + wantTotal.size + " functions, recursion once",
    differ(wantTotal, myTotal));

/* The paths of a merged tree, by what ends on them. */
function paths(tree) {
    const found = new Map();
    for (let i = 0; i < tree.n; i++)
        if (tree.self[i] > 0) add(found, tree.path(i).map(j => label(tree.name[j])).join(";"),
            tree.self[i]);
    return found;
}

const some = [...wantTotal.keys()].sort((a, b) => total.get(b) - total.get(a)).slice(0, 12);
let bad = null;
for (const f of some) {
    const k = model.names.findIndex((n, i) => i < model.meta.names && folded(n) === f);
    const up = new Map(), down = new Map();
    for (const [stack, v] of lines) {
        const frames = stack.split(";"), at = frames.indexOf(f);
        if (at < 0) continue;
        add(up, frames.slice(0, at + 1).reverse().join(";"), v);
        add(down, frames.slice(at).join(";"), v);
    }
    bad = bad || differ(up, paths(FM.callers(model, k, model.same))) ||
        differ(down, paths(FM.callees(model, k, model.same)));
}
ok(bad === null, "callers and callees of " + some.length + " functions", bad);

const turned = new Map();
for (const [stack, v] of lines) add(turned, stack.split(";").reverse().join(";"), v);
const mine = new Map(), reversed = FM.reversed(model);
for (let i = 0; i < reversed.n; i++)
    if (reversed.self[i] > 0)
        add(mine, reversed.path(i).slice(1).map(j => label(reversed.name[j])).join(";"),
            reversed.self[i]);
ok(differ(turned, mine) === null, "reversed: the same weights from the leaf", differ(turned, mine));

const cut = FM.reversed(model, sum / 3);
ok(cut.sum === sum && cut.n <= reversed.n, "reversed and cut: the same sum");

const heavy = FM.byWeight(model);
let falls = heavy.sum === model.sum && heavy.n === model.n;
for (let i = 0; i < heavy.n && falls; i++) {
    const list = heavy.children(i);
    falls = list.every((c, k) => k === 0 || heavy.total(list[k - 1]) >= heavy.total(c)) &&
        heavy.total(i) === model.total(heavy.from[i]) &&
        heavy.name[i] === model.name[heavy.from[i]];
}
ok(falls, "by weight: the same nodes, heavy brothers first");
process.exit(failed ? 1 : 0);
