/*
 * layout.js - other trees made of a tree, and sums over one. No DOM: the tests run it in node.
 *
 *   FM.byWeight(tree)         the same nodes, brothers by falling total; .from: new -> old node
 *   FM.callees(tree, f, same) what function f calls: the subtrees of its outermost nodes, merged
 *   FM.callers(tree, f, same) who calls it: the chains above them, merged, f at the root
 *   FM.reversed(tree)         stacks from their leaves: leaves on the root, their callers on them
 *   FM.totals(tree, same)     {self, total} by function: one in its own subtree counts once
 *
 * `same` is that of the model: names of one function, and of all names the first stands for it.
 *
 * Merged trees are made in the order in which nodes come, then put in pre-order with brothers by
 * name number.
 */
"use strict";
(function () {
    /* Maps (node, name) to a child: open addressing over typed arrays. */
    class Children {
        constructor() {
            this.size = 1024;
            this.used = 0;
            this.node = new Uint32Array(this.size);
            this.name = new Uint32Array(this.size);
            this.child = new Uint32Array(this.size);
        }
        place(node, name) {
            const mask = this.size - 1;
            let at = (Math.imul(node, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b)) >>> 0;
            at = (at ^ at >>> 15) & mask;
            while (this.child[at] !== 0 && (this.node[at] !== node || this.name[at] !== name))
                at = (at + 1) & mask;
            return at;
        }
        grow() {
            const { size, node, name, child } = this;
            this.size = size * 2;
            this.node = new Uint32Array(this.size);
            this.name = new Uint32Array(this.size);
            this.child = new Uint32Array(this.size);
            for (let i = 0; i < size; i++) {
                if (child[i] === 0) continue;
                const at = this.place(node[i], name[i]);
                this.node[at] = node[i];
                this.name[at] = name[i];
                this.child[at] = child[i];
            }
        }
    }

    /* A tree that grows by children; finish() makes an FM.Tree of it. */
    class Merge {
        constructor(root) {
            this.map = new Children();
            this.name = [root];
            this.parent = [FM.NONE];
            this.self = [0];
            this.base = [0];
        }
        child(node, name) {
            const map = this.map, at = map.place(node, name);
            if (map.child[at] !== 0) return map.child[at];
            const id = this.name.length;
            map.node[at] = node;
            map.name[at] = name;
            map.child[at] = id;
            if (++map.used * 8 > map.size * 5) map.grow();
            this.name.push(name);
            this.parent.push(node);
            this.self.push(0);
            this.base.push(0);
            return id;
        }
        finish(based) {
            const n = this.name.length, { name, parent } = this;
            const first = new Uint32Array(n), next = new Uint32Array(n);
            /* Lists by name; then from the greatest name on, each put before its brothers, so that
             * the least stands first. */
            const most = name.reduce((a, b) => Math.max(a, b), 0);
            const head = new Uint32Array(most + 1), more = new Uint32Array(n);
            for (let i = 1; i < n; i++) {
                more[i] = head[name[i]];
                head[name[i]] = i;
            }
            for (let f = most; f >= 0; f--) {
                for (let i = head[f]; i !== 0; i = more[i]) {
                    next[i] = first[parent[i]];
                    first[parent[i]] = i;
                }
            }
            const tree = new FM.Tree(n), place = new Uint32Array(n);
            const self = new Float64Array(n), base = based ? new Float64Array(n) : null;
            let at = 0, i = 0;
            for (;;) {
                const p = parent[i];
                place[i] = at;
                tree.name[at] = name[i];
                tree.parent[at] = p === FM.NONE ? FM.NONE : place[p];
                tree.depth[at] = p === FM.NONE ? 0 : tree.depth[place[p]] + 1;
                self[at] = this.self[i];
                if (based) base[at] = this.base[i];
                at++;
                if (first[i] !== 0) {
                    i = first[i];
                    continue;
                }
                while (i !== 0 && next[i] === 0) i = parent[i];
                if (i === 0) break;
                i = next[i];
            }
            tree.close();
            tree.weigh(self, base);
            return tree;
        }
    }

    /* Nodes of a function that have none of it above them. */
    FM.outermost = function (tree, f, same) {
        const { n, name, end } = tree, list = [];
        for (let i = 0; i < n;) {
            if (same[name[i]] === f) {
                list.push(i);
                i = end[i];
            } else {
                i++;
            }
        }
        return list;
    };

    FM.callees = function (tree, f, same) {
        const { name, parent, end, self, base } = tree, merge = new Merge(f);
        for (const top of FM.outermost(tree, f, same)) {
            const to = new Uint32Array(end[top] - top);
            for (let i = top; i < end[top]; i++) {
                const at = i === top ? 0 : merge.child(to[parent[i] - top], name[i]);
                to[i - top] = at;
                merge.self[at] += self[i];
                if (base) merge.base[at] += base[i + 1] - base[i];
            }
        }
        return merge.finish(base !== null);
    };

    FM.callers = function (tree, f, same) {
        const { name, parent, base } = tree, merge = new Merge(f);
        for (const top of FM.outermost(tree, f, same)) {
            let at = 0;
            for (let i = parent[top]; i !== FM.NONE && i !== 0; i = parent[i])
                at = merge.child(at, name[i]);
            merge.self[at] += tree.total(top);
            if (base) merge.base[at] += tree.before(top);
        }
        return merge.finish(base !== null);
    };

    /* Weights at nodes of a tree that climb to its root: a slice [from, to) is moved at once, and
     * sorted into slices by the names that it has come to. */
    class Climb {
        constructor(tree) {
            const { n, self, base } = tree;
            let m = 0;
            for (let i = 0; i < n; i++)
                if (self[i] > 0 || (base && base[i + 1] > base[i])) m++;
            this.tree = tree;
            this.n = m;
            this.at = new Uint32Array(m);
            this.weight = new Float64Array(m);
            this.before = base ? new Float64Array(m) : null;
            this.steps = 0;
            for (let i = 0, k = 0; i < n; i++) {
                const before = base ? base[i + 1] - base[i] : 0;
                if (!(self[i] > 0 || before > 0)) continue;
                this.at[k] = i;
                this.weight[k] = self[i];
                if (base) this.before[k] = before;
                this.steps += tree.depth[i];
                k++;
            }
        }
        sum(list, from, to) {
            let sum = 0;
            for (let k = from; k < to; k++) sum += list[k];
            return sum;
        }
        /* Orders a slice by name; calls fn(name, from, to), the greatest name first. */
        split(from, to, fn) {
            const { at, weight, before } = this, name = this.tree.name, many = to - from;
            if (many > 1) {
                const key = new Float64Array(many);
                for (let k = 0; k < many; k++) key[k] = name[at[from + k]] * many + k;
                key.sort();
                const a = at.slice(from, to), w = weight.slice(from, to);
                const b = before ? before.slice(from, to) : null;
                for (let k = 0; k < many; k++) {
                    const old = key[k] % many;
                    at[from + k] = a[old];
                    weight[from + k] = w[old];
                    if (b) before[from + k] = b[old];
                }
            }
            for (let end = to; end > from;) {
                const f = name[at[end - 1]];
                let start = end - 1;
                while (start > from && name[at[start - 1]] === f) start--;
                fn(f, start, end);
                end = start;
            }
        }
        /* Moves a slice up by one; what arrives at the root is handed to end(weight, before), the
         * rest stands at the front of the slice: returns its new end. */
        up(from, to, end) {
            const { at, weight, before } = this, parent = this.tree.parent;
            let keep = from;
            for (let k = from; k < to; k++) {
                const p = parent[at[k]], b = before ? before[k] : 0;
                if (p === 0 || p === FM.NONE) {
                    end(weight[k], b);
                    continue;
                }
                at[keep] = p;
                weight[keep] = weight[k];
                if (before) before[keep] = b;
                keep++;
            }
            return keep;
        }
    }

    /* Of trees whose reversal would be very large, slices lighter than a 100,000th of the whole are
     * not followed up: .cut is that weight, else 0. */
    FM.reversed = function (tree, least) {
        const climb = new Climb(tree), based = climb.before !== null;
        const name = [tree.n > 0 ? tree.name[0] : 0], parent = [FM.NONE], depth = [0];
        const self = [0], base = [0], stack = [];
        const cut = least !== undefined ? least
            : climb.steps > 4e6 ? Math.max(tree.sum, tree.sumBefore) / 1e5 : 0;
        const root = tree.n > 0 && climb.n > 0 && climb.at[0] === 0 ? 1 : 0;
        if (root) {
            self[0] = climb.weight[0];
            base[0] = based ? climb.before[0] : 0;
        }
        const push = (above, level) => (f, from, to) => stack.push(f, from, to, above, level);
        climb.split(root, climb.n, push(0, 1));
        while (stack.length > 0) {
            const level = stack.pop(), above = stack.pop(), to = stack.pop(), from = stack.pop();
            const id = name.length;
            name.push(stack.pop());
            parent.push(above);
            depth.push(level);
            self.push(0);
            base.push(0);
            const end = (w, b) => {
                self[id] += w;
                base[id] += b;
            };
            if (cut > 0 && climb.sum(climb.weight, from, to) < cut &&
                !(based && climb.sum(climb.before, from, to) >= cut)) {
                for (let k = from; k < to; k++) end(climb.weight[k], based ? climb.before[k] : 0);
                continue;
            }
            const rest = climb.up(from, to, end);
            if (rest > from) climb.split(from, rest, push(id, level + 1));
        }
        const made = FM.treeOf(name, parent, depth, self, based ? base : null);
        made.isBefore = tree.isBefore;
        made.cut = cut;
        return made;
    };

    FM.treeOf = function (name, parent, depth, self, base) {
        const tree = new FM.Tree(0);
        tree.n = name.length;
        tree.name = Uint32Array.from(name);
        tree.parent = Uint32Array.from(parent);
        tree.depth = Uint32Array.from(depth);
        tree.end = new Uint32Array(tree.n);
        tree.close();
        tree.weigh(Float64Array.from(self), base === null ? null : Float64Array.from(base));
        return tree;
    };

    FM.totals = function (tree, same) {
        const { n, name, end, self, pre, base } = tree, names = same.length;
        const own = new Float64Array(names), total = new Float64Array(names);
        const ownBefore = base ? new Float64Array(names) : null;
        const totalBefore = base ? new Float64Array(names) : null;
        const until = new Uint32Array(names);
        for (let i = 0; i < n; i++) {
            const f = same[name[i]];
            own[f] += self[i];
            if (base) ownBefore[f] += base[i + 1] - base[i];
            if (i < until[f]) continue;
            until[f] = end[i];
            total[f] += pre[end[i]] - pre[i];
            if (base) totalBefore[f] += base[end[i]] - base[i];
        }
        return { self: own, total, selfBefore: ownBefore, totalBefore };
    };

    FM.byWeight = function (tree) {
        const { n, end, name, self, base } = tree, to = new FM.Tree(n);
        const from = new Uint32Array(n), weight = new Float64Array(n);
        const before = base ? new Float64Array(n) : null, stack = [0], above = [FM.NONE];
        let at = 0;
        while (n > 0 && stack.length > 0) {
            const i = stack.pop(), p = above.pop();
            from[at] = i;
            to.name[at] = name[i];
            to.parent[at] = p;
            to.depth[at] = tree.depth[i];
            weight[at] = self[i];
            if (base) before[at] = base[i + 1] - base[i];
            if (end[i] > i + 1) {
                const list = tree.children(i);
                if (list.length > 1)
                    list.sort((a, b) => tree.total(a) - tree.total(b) || b - a);
                for (const c of list) {
                    stack.push(c);
                    above.push(at);
                }
            }
            at++;
        }
        to.close();
        to.weigh(weight, before);
        to.from = from;
        to.isBefore = tree.isBefore;
        to.cut = tree.cut;
        return to;
    };
})();
