/*
 * layout.js - other trees made of a tree, and sums over one. No DOM: the tests run it in node.
 *
 *   FM.byWeight(tree)         the same nodes, brothers by falling total; .from: new -> old node
 *   FM.callees(tree, f)       what name f calls: the subtrees of its outermost nodes, merged
 *   FM.callers(tree, f)       who calls it: the chains above them, merged, f at the root
 *   FM.totals(tree, names)    {self, total} by name: a name in its own subtree counts once
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
            const order = new Uint32Array(n > 0 ? n - 1 : 0);
            for (let i = 1; i < n; i++) order[i - 1] = i;
            /* The greatest name first: pushed to the front of its brothers, the least is first. */
            order.sort((a, b) => name[b] - name[a]);
            for (const i of order) {
                next[i] = first[parent[i]];
                first[parent[i]] = i;
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

    /* Nodes of a name that have none of that name above them. */
    FM.outermost = function (tree, f) {
        const { n, name, end } = tree, list = [];
        for (let i = 0; i < n;) {
            if (name[i] === f) {
                list.push(i);
                i = end[i];
            } else {
                i++;
            }
        }
        return list;
    };

    FM.callees = function (tree, f) {
        const { name, parent, end, self, base } = tree, merge = new Merge(f);
        for (const top of FM.outermost(tree, f)) {
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

    FM.callers = function (tree, f) {
        const { name, parent, base } = tree, merge = new Merge(f);
        for (const top of FM.outermost(tree, f)) {
            let at = 0;
            for (let i = parent[top]; i !== FM.NONE && i !== 0; i = parent[i])
                at = merge.child(at, name[i]);
            merge.self[at] += tree.total(top);
            if (base) merge.base[at] += tree.before(top);
        }
        return merge.finish(base !== null);
    };

    FM.totals = function (tree, names) {
        const { n, name, end, self, pre, base } = tree;
        const own = new Float64Array(names), total = new Float64Array(names);
        const ownBefore = base ? new Float64Array(names) : null;
        const totalBefore = base ? new Float64Array(names) : null;
        const until = new Uint32Array(names);
        for (let i = 0; i < n; i++) {
            const f = name[i];
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
        return to;
    };
})();
