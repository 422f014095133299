/*
 * search.js - one search for all views: a regular expression over names.
 *
 *   FM.search.set(term, ignoreCase)   tells all by event "search"
 *   FM.search.hit                     null, or a byte by number of name
 *   FM.search.weight(tree, node)      matched weight in a subtree; nested matches count once
 *   FM.search.nodes(tree, node)       the outermost matches in it, in order of nodes
 */
"use strict";
FM.search = {
    term: "",
    ignoreCase: true,
    error: null,
    hit: null,
    found: 0,
    set(term, ignoreCase, quiet) {
        this.term = term;
        this.ignoreCase = ignoreCase;
        this.error = null;
        this.hit = null;
        this.found = 0;
        if (term !== "") {
            const expression = this.compile(term, ignoreCase ? "i" : "");
            if (expression === null) this.error = "not a regular expression";
            else this.fill(expression);
        }
        if (!quiet) FM.emit("search");
    },
    /* By code points; or, for what that forbids ("a\-b"), by UTF-16 units; or null. */
    compile(term, flags) {
        for (const unicode of ["u", ""]) {
            try {
                return new RegExp(term, flags + unicode);
            } catch (e) {
                continue;
            }
        }
        return null;
    },
    fill(expression) {
        const names = FM.model.names, n = names.length - 1, hit = new Uint8Array(n + 1);
        for (let k = 0; k < n; k++) {
            if (expression.test(names[k])) {
                hit[k] = 1;
                this.found++;
            }
        }
        this.hit = hit;
    },
    inside(tree, node) {
        for (let i = node; i !== FM.NONE; i = tree.parent[i])
            if (this.hit[tree.name[i]]) return true;
        return false;
    },
    weight(tree, node) {
        if (this.hit === null) return 0;
        if (this.inside(tree, node)) return tree.total(node);
        let sum = 0;
        for (const i of this.nodes(tree, node)) sum += tree.total(i);
        return sum;
    },
    nodes(tree, node) {
        const list = [], { name, end } = tree, hit = this.hit;
        if (hit === null) return list;
        for (let i = node; i < end[node];) {
            if (hit[name[i]] && tree.total(i) > 0) {
                list.push(i);
                i = end[i];
            } else {
                i++;
            }
        }
        return list;
    }
};
