/*
 * list.js - a long list of rows of one height, of which only those on the screen exist.
 *
 *   new FM.List({label, role, row(i) -> element, open(i, event), move(i), keys(event, i) -> bool})
 *   list.set(count)        shows so many rows anew; list.refresh() shows them again
 *   list.at                the row that the keyboard is on, -1 none; list.go(i)
 */
"use strict";
FM.List = class {
    constructor(options) {
        this.options = options;
        this.tall = 26;
        this.count = 0;
        this.at = -1;
        this.rows = FM.el("div.fm-rows", { role: "presentation" });
        this.element = FM.el("div.fm-list", {
            tabindex: 0, role: options.role || "grid", "aria-label": options.label,
            on: {
                scroll: () => this.refresh(),
                keydown: e => this.key(e),
                click: e => this.click(e),
                dblclick: e => this.click(e, true)
            }
        }, this.rows);
        if (window.ResizeObserver)
            new ResizeObserver(() => this.refresh()).observe(this.element);
    }
    set(count) {
        this.count = count;
        if (this.at >= count) this.at = count - 1;
        this.element.setAttribute("aria-rowcount", count);
        this.rows.style.height = Math.min(count * this.tall, 3e7) + "px";
        this.refresh();
    }
    refresh() {
        const high = this.element.clientHeight;
        if (high === 0) return;
        const from = Math.max(0, Math.floor(this.element.scrollTop / this.tall) - 4);
        const to = Math.min(this.count, from + Math.ceil(high / this.tall) + 9);
        const list = [];
        for (let i = from; i < to; i++) {
            const row = this.options.row(i);
            row.classList.add("fm-row");
            row.classList.toggle("fm-at", i === this.at);
            if (i === this.at) row.setAttribute("aria-selected", "true");
            row.setAttribute("aria-rowindex", i + 1);
            row.id = row.id || "fm-row-" + i;
            row.dataset.row = i;
            row.style.transform = "translateY(" + i * this.tall + "px)";
            list.push(row);
        }
        this.rows.replaceChildren(...list);
        if (this.at >= from && this.at < to)
            this.element.setAttribute("aria-activedescendant", "fm-row-" + this.at);
        else
            this.element.removeAttribute("aria-activedescendant");
    }
    go(i) {
        if (this.count === 0) return;
        this.at = Math.max(0, Math.min(this.count - 1, i));
        const top = this.at * this.tall, e = this.element;
        if (top < e.scrollTop) e.scrollTop = top;
        else if (top + this.tall > e.scrollTop + e.clientHeight)
            e.scrollTop = top + this.tall - e.clientHeight;
        this.refresh();
        if (this.options.move) this.options.move(this.at);
    }
    click(event, twice) {
        const row = event.target.closest ? event.target.closest(".fm-row") : null;
        if (row === null) return;
        const i = Number(row.dataset.row);
        if (twice) {
            if (this.options.twice) this.options.twice(i, event);
            return;
        }
        this.at = i;
        if (this.options.click) this.options.click(i, event);
        this.refresh();
        if (this.options.move) this.options.move(i);
    }
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (this.options.keys && this.options.keys(event, this.at)) {
            event.preventDefault();
            return;
        }
        const page = Math.max(1, Math.floor(this.element.clientHeight / this.tall) - 1);
        const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
        if (Object.prototype.hasOwnProperty.call(by, event.key)) this.go(this.at + by[event.key]);
        else if (event.key === "Home") this.go(0);
        else if (event.key === "End") this.go(this.count - 1);
        else if (event.key === "Enter" && this.at >= 0 && this.options.open)
            this.options.open(this.at, event);
        else return;
        event.preventDefault();
    }
};

/* A share as text over a bar of its length. */
FM.share = function (part, whole) {
    const bar = FM.el("span.fm-fill"), p = whole > 0 ? part / whole : 0;
    bar.style.width = Math.max(0, Math.min(100, 100 * p)) + "%";
    return FM.el("span.fm-share", null, bar, FM.el("span", null, FM.percent(part, whole)));
};

/* The name of a function with the dot of its colour; what matches the search is marked. */
FM.nameCell = function (k) {
    const name = FM.model.names[k], dot = FM.el("span.fm-dot");
    dot.style.background = FM.color.ofName(k);
    const hit = FM.search.hit !== null && FM.search.hit[k];
    return FM.el(hit ? "span.fm-name.fm-hit" : "span.fm-name",
        { title: name.slice(0, 2000) }, dot, FM.el("span", null, name.slice(0, 500)));
};

FM.moduleOf = function (k) {
    const m = FM.model.module[k];
    return m > 0 ? FM.model.meta.modules[m - 1] : "";
};

FM.button = function (text, title, fn, more) {
    return FM.el("button.fm-button", Object.assign({ type: "button", title, on: { click: fn } },
        more), text);
};
