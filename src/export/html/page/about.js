/*
 * about.js - the panel "About": what was measured, where it comes from, the account of samples,
 * what was lost, and the keys.
 */
"use strict";
(function () {
    let dialog = null;

    const keys = [
        ["1 … 9", "views"], ["/ or Ctrl F", "search"], ["n, N", "next, previous match"],
        ["↑ ↓ ← →", "walk"], ["Enter", "zoom, open"], ["Backspace", "zoom out by one"],
        ["0 or Esc", "reset zoom"], ["s, double click", "callers and callees"],
        ["i", "icicle"], ["o", "order by weight"], ["r", "stacks from their leaves"],
        ["b", "tree from the bottom up"],
        ["p", "boxes as wide as in the base"],
        ["d", "light or dark"], ["?", "this panel"]
    ];

    /* Pairs as a description list. */
    function pairs(list) {
        return FM.el("dl.fm-pairs", null, ...list.filter(p => p[1] !== "" && p[1] !== null)
            .flatMap(p => [FM.el("dt", null, p[0]), FM.el("dd", null, p[1])]));
    }

    function seconds(ns) {
        return FM.weight(ns, "ns");
    }

    function wall(text) {
        const ms = Number(text) / 1e6;
        if (!(ms > 0)) return "";
        return new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");
    }

    function profile(meta) {
        const model = FM.model, timed = meta.start !== null;
        return pairs([
            ["event", meta.event], ["weight", meta.weigh === "value" ? meta.unit
                : meta.weigh + " (" + meta.unit + ")"],
            ["total", FM.weight(model.sum, meta.unit) + " (" + FM.commas(model.sum) + ")"],
            ["samples", FM.commas(meta.samples)],
            ["compared with", meta.base === null ? "" : (meta.base.title || "the base") + ": " +
                FM.weight(Number(meta.base.total), meta.unit) + (meta.base.by === 1 ? ""
                : ", times " + Number(meta.base.by.toPrecision(6)))],
            ["recorded", wall(meta.wall)],
            ["length", timed ? seconds(meta.end - meta.start) : ""],
            ["call paths", FM.commas(meta.nodes > 0 ? meta.nodes - 1 : 0)],
            ["functions", FM.commas(meta.names)], ["depth", FM.commas(meta.depth)],
            ["page by", "foldmill " + meta.version]
        ]);
    }

    function line(count, text, offset) {
        return FM.el("tr", null, FM.el("td.fm-num", null, FM.commas(count)),
            FM.el("td", null, text + (offset !== undefined ? ", first at byte " +
                FM.commas(offset) : "")));
    }

    function table(title, rows) {
        if (rows.length === 0) return [];
        return [FM.el("h4", null, title), FM.el("table.fm-lines", null, FM.el("tbody", null,
            ...rows))];
    }

    function source(s) {
        const kind = k => s.account.filter(r => r.kind === k);
        const say = r => line(r.count, (r.severity ? r.severity + ": " : "") + r.text, r.offset);
        const dropped = s.in - s.kept;
        return [
            FM.el("h3", null, s.name),
            pairs([["format", s.format], ["size", FM.weight(s.bytes, "bytes")],
                ["clock", s.clock], ...s.about]),
            FM.el("p", null, FM.commas(s.in) + " samples in = " + FM.commas(s.kept) + " kept + " +
                FM.commas(dropped) + " dropped"),
            ...table("Dropped, by reason", kind("dropped").map(say)),
            ...table("Findings", kind("finding").map(say)),
            ...table("Records read, by class", kind("records").map(r => line(r.count, r.key))),
            ...table("Classes not used", kind("not-mapped").map(r => line(r.count, r.key)))
        ];
    }

    function events(meta) {
        const list = meta.events.filter(e => e.samples > 0 || e.selected);
        if (list.length < 2) return [];
        return [FM.el("h3", null, "Events of the input"), FM.el("table.fm-lines", null,
            FM.el("tbody", null, ...list.map(e => FM.el("tr", null,
                FM.el("td.fm-num", null, FM.commas(e.samples)),
                FM.el("td", null, e.name + " (" + e.kind + ", " + e.unit + ")" +
                    (e.selected ? " – shown here" : ""))))))];
    }

    function build() {
        const meta = FM.model.meta, close = FM.button("Close", "close (Esc)", () => dialog.close());
        dialog = FM.el("dialog.fm-about", { "aria-label": "about this profile" },
            FM.el("div.fm-about-head", null, FM.el("h2", null, meta.title), close),
            profile(meta), ...events(meta), ...meta.sources.flatMap(source),
            FM.el("h3", null, "Keys"), FM.el("dl.fm-pairs.fm-keys", null,
                ...keys.flatMap(k => [FM.el("dt", null, k[0]), FM.el("dd", null, k[1])])));
        dialog.addEventListener("click", e => {
            if (e.target === dialog) dialog.close();
        });
        document.body.append(dialog);
    }

    FM.about = function () {
        if (dialog === null) build();
        if (!dialog.open) dialog.showModal();
        dialog.scrollTop = 0;
    };

    /* What a reader should know before trusting the picture: a word for the button, or "". */
    FM.warning = function () {
        let damage = false, loss = false;
        for (const s of FM.model.meta.sources) {
            loss = loss || s.in > s.kept;
            for (const r of s.account) {
                damage = damage || r.severity === "damage";
                loss = loss || r.severity === "loss" || r.kind === "dropped";
            }
        }
        return damage ? "damaged input" : loss ? "incomplete" : "";
    };
})();
