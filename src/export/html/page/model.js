/*
 * model.js - the tree of the page, and how it is read from the blocks (html.h, nodes.c, names.c say
 * how they are written). No DOM: the tests run it in node.
 *
 * A tree is arrays by node, in DFS pre-order, so that a subtree is a range of numbers:
 *
 *   name[i]     number of its name           parent[i]   -1 >>> 0 for the root
 *   depth[i]    root 0                       end[i]      one past its subtree
 *   self[i]     weight of its own            pre[i]      sum of self over the nodes before i
 *
 * They are doubles: sums above 2^53 are rounded, and what weighs less than their last digit is 0.
 *
 * A node's own weight lies left of its children, so pre[i] is where its box begins, too, and its
 * total is pre[end[i]] - pre[i]. Weights are in the unit of the profile.
 *
 *   tree.total(i), tree.sum                        of the weights shown
 *   tree.base                                      null, or the tree's weights before, as pre
 *   tree.before(i)                                 total of those
 *   tree.isBefore                                  the two are swapped: turned()
 *   tree.at(weight, depth)                         the node there, -1
 *
 * The model is such a tree with the names, and with what the page is told:
 *
 *   model.names[], .kind[], .rgb[], .module[], .file[], .line[]   by number of name
 *   model.same[]   the first name of the same text: a function that was interpreted, then compiled,
 *       has two names but is one function
 *   model.setWeights(self, baseSelf, caption)   shows other weights on the same nodes (a range of
 *       time, a difference); null, null: those of the file again. Tells all by event "weights".
 */
"use strict";
FM.NONE = 0xffffffff;

FM.symbols = (function () {
    const value = new Uint8Array(128).fill(255);
    let k = 0;
    for (let c = 33; c < 127; c++) {
        if (c !== 60 && c !== 62 && c !== 38) value[c] = k++;
    }
    return value;
})();

/* Reads symbols and numbers of a block, one after the other. */
FM.Reader = class {
    constructor(text, at) {
        this.text = text;
        this.at = at || 0;
    }
    symbol() {
        return FM.symbols[this.text.charCodeAt(this.at++)];
    }
    number() {
        let d = FM.symbols[this.text.charCodeAt(this.at++)];
        if (d < 45) return d;
        let v = 0, scale = 1;
        do {
            v += d * scale;
            scale *= 46;
            d = FM.symbols[this.text.charCodeAt(this.at++)];
        } while (d >= 45 && d < 91);
        return v + d * scale;
    }
};

FM.Tree = class {
    constructor(n) {
        this.n = n;
        this.name = new Uint32Array(n);
        this.parent = new Uint32Array(n);
        this.end = new Uint32Array(n);
        this.depth = new Uint32Array(n);
        this.self = new Float64Array(n);
        this.pre = new Float64Array(n + 1);
        this.base = null;
        this.deepest = 0;
    }
    total(i) {
        return this.pre[this.end[i]] - this.pre[i];
    }
    before(i) {
        return this.base === null ? 0 : this.base[this.end[i]] - this.base[i];
    }
    get sum() {
        return this.pre[this.n];
    }
    get sumBefore() {
        return this.base === null ? 0 : this.base[this.n];
    }
    /* From parent and depth: end and deepest. */
    close() {
        const { n, parent, end, depth } = this;
        let deepest = 0;
        for (let i = 0; i < n; i++) end[i] = i + 1;
        for (let i = n - 1; i > 0; i--) {
            const p = parent[i];
            if (end[i] > end[p]) end[p] = end[i];
            if (depth[i] > deepest) deepest = depth[i];
        }
        this.deepest = deepest;
    }
    /* From self weights: pre. */
    weigh(self, base) {
        this.self = self;
        this.pre = FM.prefix(self, this.pre);
        this.base = base ? FM.prefix(base, null) : null;
    }
    /* The share of the whole by which a node grew: weights before are comparable as they are. */
    change(i) {
        return (this.total(i) - this.before(i)) / (Math.max(this.sum, this.sumBefore) || 1);
    }
    /* The same nodes as wide as they were: weights before are those shown, and the other way. */
    turned() {
        const tree = Object.assign(new FM.Tree(0), this);
        tree.pre = this.base;
        tree.base = this.pre;
        tree.self = new Float64Array(this.n);
        for (let i = 0; i < this.n; i++) tree.self[i] = this.base[i + 1] - this.base[i];
        tree.isBefore = true;
        return tree;
    }
    /* The last node that begins at or before a weight: the one whose own weight lies there. */
    last(weight, from, to) {
        const pre = this.pre;
        let lo = from, hi = to;
        while (lo < hi) {
            const mid = (lo + hi) >>> 1;
            if (pre[mid] <= weight) lo = mid + 1;
            else hi = mid;
        }
        return lo - 1;
    }
    at(weight, depth) {
        if (!(weight >= 0 && weight < this.sum)) return -1;
        let i = this.last(weight, 0, this.n);
        if (i < 0 || this.depth[i] < depth) return -1;
        while (this.depth[i] > depth) i = this.parent[i];
        return this.total(i) > 0 ? i : -1;
    }
    /* The ancestor of i (or i) at a depth. */
    above(i, depth) {
        while (this.depth[i] > depth) i = this.parent[i];
        return i;
    }
    path(i) {
        const list = [];
        for (; i !== FM.NONE; i = this.parent[i]) list.push(i);
        return list.reverse();
    }
    children(i) {
        const list = [];
        for (let c = i + 1; c < this.end[i]; c = this.end[c]) list.push(c);
        return list;
    }
};

FM.prefix = function (self, to) {
    const n = self.length, pre = to && to.length === n + 1 ? to : new Float64Array(n + 1);
    let sum = 0;
    for (let i = 0; i < n; i++) {
        pre[i] = sum;
        sum += self[i];
    }
    pre[n] = sum;
    return pre;
};

FM.plain = function (text) {
    return text.indexOf("\\") < 0 ? text
        : text.replace(/\\([0-9a-f]+);/g, (all, hex) => String.fromCodePoint(parseInt(hex, 16)));
};

FM.Model = class extends FM.Tree {
    constructor(meta) {
        super(meta.nodes);
        const k = meta.names + 1;
        this.meta = meta;
        this.scale = meta.scale;
        this.names = new Array(k);
        this.kind = new Uint8Array(k);
        this.rgb = new Uint32Array(k);
        this.module = new Uint32Array(k);
        this.file = new Uint32Array(k);
        this.line = new Uint32Array(k);
        this.same = new Uint32Array(k);
        this.names[meta.names] = "all";
        this.same[meta.names] = meta.names;
        this.kind[meta.names] = Math.max(0, meta.kinds.indexOf("synthetic"));
        this.recorded = this.self;
        this.recordedBase = null;
        this.caption = null;
    }
    setWeights(self, base, caption) {
        this.weigh(self || this.recorded, self ? base : base || this.recordedBase);
        this.caption = caption || null;
        FM.emit("weights");
    }
};

/* Both are generators that yield the share done, so that the page lives while they work. */
FM.readNames = function* (model, text) {
    const r = new FM.Reader(text), n = model.meta.names;
    const first = new Map();
    let last = "";
    for (let k = 0; k < n; k++) {
        const share = r.symbol();
        model.kind[k] = r.symbol();
        model.rgb[k] = r.symbol() + 91 * (r.symbol() + 91 * (r.symbol() + 91 * r.symbol()));
        model.module[k] = r.number();
        model.file[k] = r.number();
        if (model.file[k] > 0) model.line[k] = r.number();
        const stop = text.indexOf("\n", r.at);
        last = last.slice(0, share) + text.slice(r.at, stop);
        const name = model.names[k] = FM.plain(last), known = first.get(name);
        model.same[k] = known === undefined ? k : known;
        if (known === undefined) first.set(name, k);
        r.at = stop + 1;
        if ((k & 0x3fff) === 0x3fff) yield k / n;
    }
};

FM.readNodes = function* (model, text) {
    const r = new FM.Reader(text), { n, name, parent, depth, self, scale } = model;
    if (n === 0) return;
    name[0] = model.meta.names;
    parent[0] = FM.NONE;
    self[0] = r.number() * scale;
    for (let i = 1; i < n; i++) {
        if ((i & 0xffff) === 0) {
            r.at++;
            if ((i & 0x3ffff) === 0) yield i / n;
        }
        const code = r.symbol(), what = code % 3;
        let up = (code - what) / 3, p = i - 1;
        if (up === 29) up += r.number();
        while (up-- > 0) p = parent[p];
        name[i] = r.number();
        parent[i] = p;
        depth[i] = depth[p] + 1;
        self[i] = what === 2 ? r.number() * scale : what === 1 ? scale : 0;
    }
    yield 1;
    model.close();
};

/* The weights before, self of every node, scaled to be compared. */
FM.readBase = function (model, text) {
    const r = new FM.Reader(text), base = new Float64Array(model.n);
    const scale = model.scale * model.meta.base.by;
    for (let i = 0; i < model.n; i++) {
        if (i > 0 && (i & 0xffff) === 0) r.at++;
        base[i] = r.number() * scale;
    }
    return base;
};
