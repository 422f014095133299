/*
 * main.js - the page: reads the blocks piece by piece, then builds the head, the tabs and the foot.
 *
 *   FM.foot(tree, node, zoom)     tells of a node at the foot of the page
 *   FM.open(id)                   shows a view
 *   FM.range()                    {tree, node} that it shows
 */
"use strict";
(function () {
    const page = {}, mounted = new Set(), stale = {};
    let current = null, matches = [], match = -1;

    const block = id => {
        const node = document.getElementById(id), text = node ? node.textContent : "";
        if (node) node.remove();
        return text;
    };

    /* ------------------------------------------------------------- search */

    function sayFound() {
        const s = FM.search;
        if (s.error !== null) {
            page.found.textContent = s.error;
        } else if (s.hit === null) {
            page.found.textContent = "";
        } else {
            const { tree, node } = FM.range();
            const all = FM.percent(s.weight(tree, 0), tree.sum);
            const view = FM.percent(s.weight(tree, node), tree.total(node));
            page.found.textContent = s.found === 0 ? "No match"
                : "Matched " + (node > 0 ? view + " of view, " + all + " of all" : all) +
                    (s.found === 1 ? " in 1 function" : " in " + FM.commas(s.found) + " functions");
        }
        page.search.classList.toggle("fm-wrong", s.error !== null);
        matches = [];
        match = -1;
    }

    function search(term, ignoreCase) {
        FM.state.set({ q: term, case: ignoreCase ? null : "1" });
        FM.search.set(term, ignoreCase);
    }

    function step(by) {
        if (FM.search.hit === null || !current.reveal) return;
        const { tree } = FM.range();
        if (matches.length === 0) matches = FM.search.nodes(tree, 0);
        if (matches.length === 0) return;
        match = match < 0 ? (by > 0 ? 0 : matches.length - 1)
            : (match + by + matches.length) % matches.length;
        const at = match, list = matches;
        current.reveal(matches[match]);
        matches = list;
        match = at;
        page.step.textContent = FM.commas(at + 1) + "/" + FM.commas(list.length);
    }

    /* -------------------------------------------------------------- theme */

    function theme() {
        const kept = FM.keep.get("theme") || FM.model.meta.theme;
        return kept === "dark" || kept === "light" ? kept
            : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    }

    function paint() {
        document.documentElement.dataset.theme = theme();
        FM.emit("theme");
    }

    /* --------------------------------------------------------------- foot */

    FM.foot = function (tree, node, zoom) {
        const at = node < 0 ? zoom : node, name = FM.model.names[tree.name[at]];
        const facts = FM.facts(tree, at, zoom);
        page.details.replaceChildren(FM.el("b", null, name.slice(0, 300)),
            ...facts.slice(0, 2).map(f => FM.el("span", null, f.join(" · "))));
    };

    /* -------------------------------------------------------------- views */

    /* The tree and the node in it that the view shows. */
    FM.range = () => current.range ? current.range() : { tree: FM.model, node: 0 };

    FM.open = function (id, push) {
        const view = FM.views.find(v => v.id === id) || FM.views[0];
        if (view === current) return;
        if (current && current.hide) current.hide();
        if (current) current.panel.hidden = true;
        FM.tip.hide();
        current = view;
        for (const v of FM.views) {
            v.tab.setAttribute("aria-selected", v === view ? "true" : "false");
            v.tab.tabIndex = v === view ? 0 : -1;
        }
        view.panel.hidden = false;
        if (!mounted.has(id)) {
            mounted.add(view.id);
            view.mount(view.panel, FM.model);
        } else {
            for (const what of stale[view.id] || []) view.update(what);
        }
        stale[view.id] = new Set();
        if (view.show) view.show();
        FM.state.set({ view: view === FM.views[0] ? null : view.id }, push);
        page.steps.hidden = !view.reveal;
        sayFound();
    };

    function tell(what) {
        for (const view of FM.views) {
            if (!mounted.has(view.id) || !view.update) continue;
            if (view === current) view.update(what);
            else (stale[view.id] = stale[view.id] || new Set()).add(what);
        }
    }

    function follow() {
        const q = FM.state.get("q") || "", ignore = FM.state.get("case") !== "1";
        if (q !== FM.search.term || ignore !== FM.search.ignoreCase) {
            page.search.value = q;
            page.minds.setAttribute("aria-pressed", ignore ? "false" : "true");
            FM.search.set(q, ignore);
        }
        FM.open(FM.state.get("view") || FM.views[0].id);
        tell("state");
        sayFound();
    }

    function keys(event) {
        const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
        if ((event.ctrlKey || event.metaKey) && event.key === "f" || event.key === "/" && !typing) {
            page.search.focus();
            page.search.select();
            event.preventDefault();
            return;
        }
        if (typing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey)
            return;
        if (document.querySelector("dialog[open]")) return;
        const tab = "123456789".indexOf(event.key);
        if (tab >= 0 && tab < FM.views.length) FM.open(FM.views[tab].id, true);
        else if (event.key === "n") step(1);
        else if (event.key === "N") step(-1);
        else if (event.key === "d" || event.key === "D") flip();
        else if (event.key === "?") FM.about();
        else if (current.key && current.key(event)) event.preventDefault();
    }

    function flip() {
        FM.keep.set("theme", theme() === "dark" ? "light" : "dark");
        if (FM.keep.get("theme") === null) {
            document.documentElement.dataset.theme =
                document.documentElement.dataset.theme === "dark" ? "light" : "dark";
            FM.emit("theme");
            return;
        }
        paint();
    }

    /* -------------------------------------------------------------- build */

    /* The sum of the weights shown, and of what it is a part. */
    function saySum() {
        const model = FM.model, all = model.recorded.reduce((a, b) => a + b, 0);
        page.sum.textContent = FM.weight(model.sum, model.meta.unit) + (model.sum === all ? ""
            : " of " + FM.weight(all, model.meta.unit));
    }

    function head(meta) {
        const button = (text, title, fn, more) => FM.el("button.fm-button", Object.assign({
            type: "button", title, on: { click: fn } }, more), text);
        page.search = FM.el("input.fm-search", {
            type: "search", ["place" + "holder"]: "Search (regular expression)",
            spellcheck: "false",
            "aria-label": "search functions by regular expression", autocomplete: "off",
            on: {
                input: e => {
                    clearTimeout(page.wait);
                    page.wait = setTimeout(() => search(e.target.value, FM.search.ignoreCase),
                        FM.model.names.length > 50000 ? 180 : 60);
                },
                keydown: e => {
                    if (e.key === "Enter") {
                        clearTimeout(page.wait);
                        if (e.target.value !== FM.search.term)
                            search(e.target.value, FM.search.ignoreCase);
                        step(e.shiftKey ? -1 : 1);
                    } else if (e.key === "Escape") {
                        e.target.value = "";
                        search("", FM.search.ignoreCase);
                        e.target.blur();
                    }
                }
            }
        });
        page.minds = button("Aa", "match upper and lower case", () => {
            search(page.search.value, !FM.search.ignoreCase);
            page.minds.setAttribute("aria-pressed", FM.search.ignoreCase ? "false" : "true");
        }, { "aria-label": "match case" });
        page.step = FM.el("span.fm-step");
        page.steps = FM.el("span.fm-steps", null,
            button("‹", "previous match (N)", () => step(-1), { "aria-label": "previous match" }),
            page.step,
            button("›", "next match (n)", () => step(1), { "aria-label": "next match" }));
        page.tabs = FM.el("div.fm-tabs", { role: "tablist", "aria-label": "views" });
        page.sum = FM.el("span");
        saySum();
        const before = meta.title.includes(meta.event) || meta.event === meta.unit ? ""
            : meta.event + " · ";
        const after = [];
        if (meta.unit !== "samples" || FM.model.sum !== meta.samples)
            after.push(FM.weight(meta.samples, "samples"));
        if (meta.base !== null) after.push("against " + (meta.base.title || "its base"));
        page.caption = FM.el("span.fm-caption", { hidden: true });
        const warning = FM.warning();
        return FM.el("header.fm-head", null,
            FM.el("div.fm-titles", null, FM.el("h1", { title: meta.title }, meta.title),
                FM.el("p", null, before, page.sum, ...after.map(t => " · " + t), page.caption)),
            page.tabs,
            FM.el("div.fm-find", { role: "search" }, page.search, page.minds, page.steps),
            FM.el("div.fm-tools", null,
                button("◐", "light or dark (D)", flip, { "aria-label": "light or dark" }),
                FM.el(warning ? "button.fm-button.fm-warn" : "button.fm-button", {
                    type: "button", title: "where this comes from, and what was left out (?)",
                    on: { click: () => FM.about() }
                }, warning ? "About: " + warning : "About")));
    }

    function build() {
        const meta = FM.model.meta, app = document.getElementById("fm-app");
        document.title = meta.title;
        const main = FM.el("main.fm-main");
        app.append(head(meta), main);
        for (const view of FM.views) {
            view.panel = FM.el("section.fm-view", {
                role: "tabpanel", id: "fm-view-" + view.id, hidden: true,
                "aria-labelledby": "fm-tab-" + view.id
            });
            view.tab = FM.el("button.fm-tab", {
                type: "button", role: "tab", id: "fm-tab-" + view.id,
                "aria-controls": "fm-view-" + view.id,
                on: { click: () => FM.open(view.id, true), keydown: walkTabs }
            }, view.title);
            page.tabs.append(view.tab);
            main.append(view.panel);
        }
        page.details = FM.el("div.fm-details", { "aria-live": "polite" });
        page.found = FM.el("div.fm-found", { role: "status" });
        app.append(FM.el("footer.fm-foot", null, page.details, page.found));
    }

    function walkTabs(event) {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (by === 0) return;
        const n = FM.views.length, at = FM.views.indexOf(current);
        FM.open(FM.views[(at + by + n) % n].id, true);
        current.tab.focus();
        event.preventDefault();
    }

    function listen() {
        FM.on("search", () => {
            page.step.textContent = "";
            tell("search");
            sayFound();
        });
        FM.on("zoom", () => {
            const at = match, list = matches;
            sayFound();
            matches = list;
            match = at;
        });
        FM.on("weights", () => {
            page.caption.hidden = FM.model.caption === null;
            page.caption.textContent = FM.model.caption || "";
            saySum();
            tell("weights");
            sayFound();
        });
        FM.on("colors", () => tell("colors"));
        FM.on("theme", () => tell("theme"));
        FM.on("state", follow);
        document.addEventListener("keydown", keys);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
        window.addEventListener("beforeprint", () => {
            document.documentElement.dataset.theme = "light";
            FM.emit("theme");
        });
        window.addEventListener("afterprint", paint);
    }

    function run() {
        FM.state.start();
        document.documentElement.dataset.theme = theme();
        FM.color.start(FM.model);
        build();
        listen();
        page.minds.setAttribute("aria-pressed", "false");
        document.getElementById("fm-plain").remove();
        const q = FM.state.get("q");
        if (q !== null) {
            page.search.value = q;
            const ignore = FM.state.get("case") !== "1";
            page.minds.setAttribute("aria-pressed", ignore ? "false" : "true");
            FM.search.set(q, ignore, true);
        }
        const asked = FM.state.get("view") || FM.model.meta.view;
        FM.open(FM.views.some(v => v.id === asked) ? asked : FM.views[0].id);
        document.documentElement.dataset.ready = "1";
    }

    /* Works a generator off in slices of 40 ms. */
    function slices(work, say) {
        return new Promise(done => {
            const slice = () => {
                const until = performance.now() + 40;
                let step;
                do step = work.next();
                while (!step.done && performance.now() < until);
                if (step.done) {
                    done();
                    return;
                }
                say(step.value);
                setTimeout(slice, 0);
            };
            slice();
        });
    }

    async function load() {
        const meta = JSON.parse(block("fm-meta")), model = FM.model = new FM.Model(meta);
        const plain = document.getElementById("fm-plain"), say = FM.el("p.fm-loading");
        plain.replaceChildren(FM.el("h1", null, meta.title), say);
        const tell = share => {
            say.textContent = "reading " + Math.round(100 * share) + "%";
        };
        await slices(FM.readNames(model, block("fm-names")), s => tell(0.3 * s));
        await slices(FM.readNodes(model, block("fm-nodes")), s => tell(0.3 + 0.4 * s));
        await FM.startScope(meta, block("fm-scope"), slices, s => tell(0.7 + 0.3 * s));
        const base = document.getElementById("fm-base");
        if (base) model.recordedBase = FM.readBase(model, block("fm-base"));
        model.weigh(model.self, model.recordedBase);
        model.recorded = model.self;
        run();
        FM.followScope();
    }

    load().catch(e => {
        const plain = document.getElementById("fm-plain");
        if (plain) plain.append(FM.el("p", null, "This page could not be read: " + e.message));
        throw e;
    });
})();
