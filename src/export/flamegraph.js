/*
 * flamegraph.js - what a reader does with an SVG flame graph: embedded by the exporter svg.
 *
 *     <svg data-total data-row data-char data-inverted     weights, px a row, px a character
 *          data-kind="flame|diff|chart" data-whole="1">    whole: no box was left out
 *       <g id="lanes"><text data-y data-h>NAME</text>      of a flame chart: where lanes lie, px
 *       <g id="frames"><g data-x data-w>                   a box: start and width as weights
 *         title: "NAME (12 samples, 3.40%)", rect, text when there is room
 *
 * Positions come from data-x and data-w, not from rounded pixels. A box is touched only when what
 * is shown of it changes, and keeps what it was, so that going back is exact and cheap. Names reach
 * the page only as textContent. The state (zoom, search, view) stands in the fragment of the URL:
 * `#x=START&w=WEIGHT&d=DEPTH&l=LANE&s=TERM&i=1&v=flip`; what may be refused there is in try.
 */
(function () {
    "use strict";
    var NS = "http://www.w3.org/2000/svg";
    var svg = document.documentElement;
    var PAD = 10, THIN = 0.25;
    var total = +svg.getAttribute("data-total");
    var rowHeight = +svg.getAttribute("data-row");
    var charWidth = +svg.getAttribute("data-char");
    var chart = svg.getAttribute("data-kind") === "chart";
    var diff = svg.getAttribute("data-kind") === "diff";
    var inverted = svg.getAttribute("data-inverted") === "1";
    var wide = svg.viewBox.baseVal.width - 2 * PAD;
    var near = total * 1e-12;
    var nameType = svg.getAttribute("data-nametype");
    var frames = [], lanes = [], plain = null;
    var view = null;                /* the frame zoomed to, null = all */
    var term = "", ignoreCase = false, flipped = false, turned = null;
    var hits = [], at = -1;         /* shown matches in reading order */
    var current = null;             /* what the keyboard is on */
    var box = null, help = null;

    function id(name) { return document.getElementById(name); }

    function make(name, attributes, text) {
        var e = document.createElementNS(NS, name), key;
        for (key in attributes) e.setAttribute(key, attributes[key]);
        if (text !== undefined) e.textContent = text;
        return e;
    }

    /* ------------------------------------------------------------- boxes */

    function read(g) {
        var f = { g: g, x: +g.getAttribute("data-x"), w: +g.getAttribute("data-w"), title: null,
                  rect: null, text: null, y: 0, shown: true, state: "", hit: false, was: null };
        var c;
        for (c = g.firstElementChild; c; c = c.nextElementSibling) {
            if (c.localName === "rect") f.rect = c;
            else if (c.localName === "text") f.text = c;
            else if (c.localName === "title") f.title = c;
        }
        f.y = +f.rect.getAttribute("y");
        return f;
    }

    /* The picture is one lane, a chart has one for each <text> of #lanes. */
    function readLanes() {
        var low = Infinity, high = -Infinity, e = id("lanes");
        frames.forEach(function (f) {
            low = Math.min(low, f.y);
            high = Math.max(high, f.y);
        });
        if (chart && e) lanes = Array.from(e.children).map(function (t) {
            return { low: +t.getAttribute("data-y"),
                     high: +t.getAttribute("data-y") + +t.getAttribute("data-h") - rowHeight };
        });
        if (lanes.length === 0) lanes = [{ low: low, high: high }];
        frames.forEach(function (f) {
            var a = 0, b = lanes.length - 1, m;
            while (a < b) {
                m = (a + b + 1) >> 1;
                if (lanes[m].low <= f.y + 1) a = m; else b = m - 1;
            }
            f.lane = a;
            f.depth = Math.round((inverted ? f.y - lanes[a].low : lanes[a].high - f.y) / rowHeight);
        });
    }

    function tip(f) {
        if (f.tip === undefined) f.tip = f.title.textContent;
        return f.tip;
    }

    function nameOf(f) {
        if (f.name === undefined) f.name = tip(f).replace(/ \([^()]*\)$/, "");
        return f.name;
    }

    function covers(a, b) {
        return a.x <= b.x + near && a.x + a.w >= b.x + b.w - near;
    }

    /* Remembers the first picture of a box before it is touched. */
    function keep(f) {
        if (f.was === null) f.was = {
            x: f.rect.getAttribute("x"), w: f.rect.getAttribute("width"),
            tx: f.text && f.text.getAttribute("x"), tt: f.text && f.text.textContent
        };
    }

    function mark(f, state) {
        var full = state + (f.hit ? " match" : "");
        if (f.state === full) return;
        f.state = full;
        f.g.setAttribute("class", full);
    }

    /* Whether black letters would be hard to read, as the writer has it. */
    function dark(f) {
        var c = (f.rect.getAttribute("fill") || "").match(/\d+/g) || [255, 255, 255];
        return 0.2126 * c[0] * c[0] + 0.7152 * c[1] * c[1] + 0.0722 * c[2] * c[2] < 0.18 * 65025;
    }

    function label(f, x, w) {
        var room = Math.floor(w / charWidth), s, chars;
        if (room < 3) {
            if (f.text) f.text.textContent = "";
            return;
        }
        if (!f.text) {
            f.text = make("text", { y: textY(f) });
            if (diff && dark(f)) f.text.setAttribute("style", "fill:#fff");
            f.g.appendChild(f.text);
        }
        s = nameOf(f);
        if (s.length > room) {
            chars = Array.from(s);
            if (chars.length > room) s = chars.slice(0, room - 2).join("") + "..";
        }
        f.text.setAttribute("x", (x + 3).toFixed(2));
        if (f.text.textContent !== s) f.text.textContent = s;
    }

    function place(f, x, w, state) {
        keep(f);
        f.shown = true;
        f.moved = true;
        f.rect.setAttribute("x", x.toFixed(1));
        /* between rounded edges, as in the first picture */
        f.rect.setAttribute("width", ((x + w).toFixed(1) - x.toFixed(1)).toFixed(1));
        label(f, x, w);
        mark(f, state);
    }

    function hide(f) {
        f.shown = false;
        mark(f, "hide");
    }

    /* The first picture again. */
    function settle(f) {
        f.shown = true;
        if (f.moved) {
            f.rect.setAttribute("x", f.was.x);
            f.rect.setAttribute("width", f.was.w);
            if (f.text) {
                f.text.textContent = f.was.tt || "";
                if (f.was.tx) f.text.setAttribute("x", f.was.tx);
            }
            f.moved = false;
        }
        mark(f, "");
    }

    /* -------------------------------------------------------------- zoom */

    function zoom(target) {
        var from, to, scale;
        view = target && target.w < total - near ? target : null;
        if (view === null) {
            frames.forEach(settle);
        } else {
            from = view.x;
            to = view.x + view.w;
            scale = wide / view.w;
            frames.forEach(function (f) {
                var a = Math.max(f.x, from), b = Math.min(f.x + f.w, to);
                var above = f.lane === view.lane && f.depth < view.depth;
                if (b - a <= near || (b - a) * scale < THIN || (above && !covers(f, view))) hide(f);
                else place(f, PAD + (a - from) * scale, (b - a) * scale, above ? "parent" : "");
            });
        }
        id("unzoom").setAttribute("class", view ? "control on" : "hide");
        search(term);
    }

    /* ------------------------------------------------------------ search */

    /* Weight under some of the shown boxes: nested ones count once, lanes by themselves. */
    function weigh(only) {
        var end = [], sum = 0, from = view ? view.x : -Infinity;
        var to = view ? view.x + view.w : Infinity;
        only.forEach(function (f) {
            var a = Math.max(f.x, from), b = Math.min(f.x + f.w, to);
            var last = end[f.lane] === undefined ? -Infinity : end[f.lane];
            if (b <= last) return;
            sum += b - Math.max(a, last);
            end[f.lane] = b;
        });
        return sum;
    }

    function inOrder(a, b) {
        return a.x - b.x || b.w - a.w || a.lane - b.lane || a.depth - b.depth;
    }
    function percent(part, whole) {
        var p = whole > 0 ? 100 * part / whole : 0;
        return (p > 99.9999999 ? "100" : p.toFixed(1)) + "%";
    }

    /* What a chart's lanes hold at all; of a flame graph the root. */
    function whole(all) {
        var saved = view, sum;
        if (!chart) return all && view ? view.w : total;
        if (!all) view = null;
        sum = weigh(frames.filter(function (f) { return f.depth === 0 && (!all || f.shown); })
            .sort(inOrder));
        view = saved;
        return sum;
    }

    function report() {
        var part = weigh(hits);
        var s = "Matched: " + percent(part, whole(true));
        if (view) s += " of view, " + percent(part, whole(false)) + " of total";
        if (at >= 0) s += " (" + (at + 1) + " of " + hits.length + ")";
        id("matched").textContent = s;
    }

    function search(text) {
        var re = null, bad = false, on;
        term = text;
        if (text !== "") {
            try {
                re = new RegExp(text, ignoreCase ? "i" : "");
            } catch (e) {
                bad = true;
            }
        }
        hits = [];
        at = -1;
        frames.forEach(function (f, i) {
            f.hit = re !== null && (chart || i > 0) && re.test(nameOf(f));
            mark(f, f.state.replace(/ match$/, ""));
            if (f.hit && f.shown && f.state.indexOf("parent") !== 0) hits.push(f);
        });
        hits.sort(inOrder);
        on = text !== "";
        if (re !== null) report();
        else id("matched").textContent = bad ? "Not a regular expression" : " ";
        id("search").textContent = on ? "Reset Search" : "Search";
        id("search").setAttribute("class", on ? "control on" : "control");
        ["previous", "next"].forEach(function (n) {
            if (id(n)) id(n).setAttribute("class", hits.length > 0 ? "control on" : "hide");
        });
        save();
    }

    function step(by) {
        if (hits.length === 0) return;
        at = at < 0 && by < 0 ? hits.length - 1 : (at + by + hits.length) % hits.length;
        report();
        focus(hits[at]);
    }

    function closeBox() {
        var old = box;
        box = null; /* first: removing the focused field calls this again */
        if (old) old.parentNode.removeChild(old);
    }

    function openBox() {
        var input;
        if (box) return;
        box = make("foreignObject", { x: svg.viewBox.baseVal.width - PAD - 260, y: 2, width: 260,
                                      height: 28 });
        input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
        input.setAttribute("type", "text");
        input.setAttribute("id", "term");
        input.setAttribute("aria-label", "Regular expression to search for");
        input.setAttribute("style", "width:250px;font:inherit");
        input.value = term;
        input.addEventListener("input", function () { search(input.value); });
        input.addEventListener("keydown", function (e) {
            e.stopPropagation();
            if (e.key === "Escape") search("");
            if (e.key === "Enter" || e.key === "Escape") closeBox();
            if (e.key === "Enter" && hits.length > 0) step(1);
        });
        input.addEventListener("blur", closeBox);
        box.appendChild(input);
        svg.appendChild(box);
        input.focus();
        input.select();
    }

    function toggleSearch() {
        if (term !== "") search("");
        else openBox();
    }

    function press(name, on) {
        if (!id(name)) return;
        id(name).setAttribute("class", on ? "control on" : "control");
        id(name).setAttribute("aria-pressed", on ? "true" : "false");
    }

    function setCase(on) {
        ignoreCase = on;
        press("ignorecase", on);
    }

    function toggleCase() {
        setCase(!ignoreCase);
        search(term);
    }

    /* ------------------------------------------------------------- views */

    function textY(f) {
        return 3 + (2 * +f.rect.getAttribute("y") + +f.rect.getAttribute("height")) / 2;
    }

    /* Root at the top or at the bottom, lane by lane. */
    function flip(on) {
        if (on === flipped) return;
        flipped = on;
        inverted = !inverted;
        (turned ? frames.concat(plain.frames) : frames).forEach(function (f) {
            f.y = lanes[f.lane].low + lanes[f.lane].high - f.y;
            f.rect.setAttribute("y", f.y);
            if (f.text) f.text.setAttribute("y", textY(f));
        });
        press("invert", on);
        save();
    }

    /* Callees above callers: each box's own weight, once for each box below it. */
    function turn() {
        var root = { kids: new Map(), w: 0, name: "all",
                     fill: frames[0].rect.getAttribute("fill") };
        var open = [], g = make("g", { id: "frames" }), list = frames.slice().sort(inOrder);
        list.forEach(function (f) {
            f.up = f.depth > 0 ? open[f.depth - 1] : null;
            f.self = f.w;
            if (f.up) f.up.self -= f.w;
            open[f.depth] = f;
        });
        list.forEach(function (f) {
            var node = root, p, kid;
            if (f.self <= near) return;
            root.w += f.self;
            for (p = f; p && p.depth > 0; p = p.up) {
                kid = node.kids.get(nameOf(p));
                if (!kid) {
                    kid = { kids: new Map(), w: 0, name: nameOf(p),
                            fill: p.rect.getAttribute("fill") };
                    node.kids.set(kid.name, kid);
                }
                kid.w += f.self;
                node = kid;
            }
        });
        layTurned(root, g);
        return g;
    }

    /* Draws a tree of names like the first picture, as far as rows go there. */
    function layTurned(root, g) {
        var todo = [[root, 0, 0]], item, node, scale = wide / total, x, w, y, unit, e;
        unit = (/ \([\d,.]* (.*), [\d.]+%.*\)$/.exec(tip(frames[0])) || [0, "samples"])[1];
        while (todo.length > 0) {
            item = todo.pop();
            node = item[0];
            w = node.w * scale;
            y = inverted ? lanes[0].low + item[2] * rowHeight : lanes[0].high - item[2] * rowHeight;
            if (w < 0.1 || y < lanes[0].low - 1 || y > lanes[0].high + 1) continue;
            e = make("g", { "data-x": item[1], "data-w": node.w });
            e.appendChild(make("title", {}, node.name + " (" +
                Math.round(node.w).toLocaleString("en-US") + " " + unit + ", " +
                (100 * node.w / total).toFixed(2) + "%)"));
            e.appendChild(make("rect", { x: (PAD + item[1] * scale).toFixed(1), y: y,
                width: w.toFixed(1), height: rowHeight - 1, fill: node.fill, rx: 2, ry: 2 }));
            g.appendChild(e);
            label(read(e), PAD + item[1] * scale, w);
            x = item[1];
            Array.from(node.kids.values())
                .sort(function (a, b) { return a.name < b.name ? -1 : a.name > b.name ? 1 : 0; })
                .forEach(function (kid) {
                    todo.push([kid, x, item[2] + 1]);
                    x += kid.w;
                });
        }
    }

    function canTurn() {
        return svg.getAttribute("data-kind") === "flame" && svg.getAttribute("data-whole") === "1";
    }

    function reverse(on) {
        if (on === (turned !== null)) return;
        if (on && !canTurn()) {
            say("This picture cannot be reversed here: make it with --set reverse=" +
                (svg.getAttribute("data-reversed") ? "no" : "yes"));
            return;
        }
        zoom(null);
        if (on) {
            plain = { g: id("frames"), frames: frames };
            turned = turn();
            plain.g.parentNode.replaceChild(turned, plain.g);
            load(turned);
        } else {
            turned.parentNode.replaceChild(plain.g, turned);
            turned = null;
            frames = plain.frames;
        }
        frames.forEach(function (f) { f.lane = f.lane || 0; });
        press("reverse", on);
        search(term);
    }

    /* --------------------------------------------------------------- URL */

    var saved = null;

    function save() {
        var q = [], s;
        if (view) q.push("x=" + view.x, "w=" + view.w, "d=" + view.depth);
        if (view && view.lane > 0) q.push("l=" + view.lane);
        if (term !== "") q.push("s=" + encodeURIComponent(term));
        if (ignoreCase) q.push("i=1");
        if (flipped || turned) q.push("v=" + (flipped ? "flip" : "") + (turned ? "turn" : ""));
        s = q.length > 0 ? "#" + q.join("&") : "";
        if (s === saved || restoring) return;
        saved = s;
        try {
            history.replaceState(null, "", location.pathname + location.search + s);
        } catch (e) { /* a sandboxed frame or an odd origin: no state then */ }
    }

    var restoring = false;

    function restore() {
        var q = {}, target = null;
        if (location.hash === (saved || "")) return;
        try {
            location.hash.slice(1).split("&").forEach(function (pair) {
                var n = pair.indexOf("=");
                if (n > 0) q[pair.slice(0, n)] = decodeURIComponent(pair.slice(n + 1));
            });
        } catch (e) {
            return;
        }
        restoring = true;
        setCase(q.i === "1");
        reverse(/turn/.test(q.v || ""));
        flip(/flip/.test(q.v || ""));
        frames.forEach(function (f) {
            if (f.depth === +q.d && f.lane === (+q.l || 0) && Math.abs(f.x - q.x) <= near &&
                Math.abs(f.w - q.w) <= near) target = f;
        });
        term = q.s || "";
        zoom(target);
        restoring = false;
        save();
    }

    /* -------------------------------------------------------- mouse, keys */

    function frameOf(node) {
        while (node && node !== svg) {
            if (node.foldmill) return node.foldmill;
            node = node.parentNode;
        }
        return null;
    }

    function say(s) { id("details").textContent = s; }

    /* A box's text: in a zoomed view with its share of that, too. */
    function textOf(f) {
        var s = tip(f), part;
        if (!view || !f.shown) return s;
        part = Math.min(f.x + f.w, view.x + view.w) - Math.max(f.x, view.x);
        part = "; " + (100 * part / view.w).toFixed(2) + "% of view)";
        return /\)$/.test(s) ? s.slice(0, -1) + part : s + " (" + part.slice(2);
    }

    function details(f) {
        var s;
        if (!f) {
            say(" ");
            return;
        }
        s = textOf(f);
        if (f.title.textContent !== s) f.title.textContent = s;
        say(nameType ? nameType + " " + s : s);
    }

    function focus(f) {
        if (!f) return;
        if (current) current.g.removeAttribute("tabindex");
        current = f;
        f.g.setAttribute("tabindex", "0");
        f.g.setAttribute("role", "treeitem");
        f.g.setAttribute("aria-level", f.depth + 1);
        f.g.setAttribute("aria-label", textOf(f));
        f.g.focus();
    }

    /* The nearest shown box: 1, -1 of its row, "up" its widest callee, "down" its caller. */
    function next(f, dir) {
        var best = null;
        frames.forEach(function (o) {
            if (!o.shown || o === f || o.lane !== f.lane) return;
            if (dir === "down" && o.depth === f.depth - 1 && covers(o, f)) best = o;
            if (dir === "up" && o.depth === f.depth + 1 && covers(f, o) &&
                (!best || o.w > best.w)) best = o;
            if (o.depth !== f.depth) return;
            if (dir === 1 && o.x > f.x && (!best || o.x < best.x)) best = o;
            if (dir === -1 && o.x < f.x && (!best || o.x > best.x)) best = o;
        });
        return best;
    }

    var KEYS = "Arrows: walk · Enter, click: zoom · Escape: reset · / or Ctrl+F: search · " +
        "n, N: next, previous match · Ctrl+I: ignore case · i: invert · r: reverse · ?: keys";

    function toggleHelp() {
        help = !help;
        say(help ? KEYS : " ");
    }

    function escape() {
        if (help) toggleHelp();
        else if (term !== "") search("");
        else zoom(null);
    }

    function enter(f) {
        var e = document.activeElement;
        if (f && f.g.localName === "a") return false;     /* its link is followed */
        if (f) zoom(f);
        else if (e && e !== svg) e.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        return true;
    }

    function walk(e, f) {
        var up = inverted ? "down" : "up", down = inverted ? "up" : "down";
        var dirs = { ArrowUp: up, ArrowDown: down, ArrowLeft: -1, ArrowRight: 1 };
        if (dirs[e.key] === undefined) return false;
        focus(f ? next(f, dirs[e.key]) : current && current.shown ? current : frames[0]);
        return true;
    }

    function key(e) {
        var f = frameOf(document.activeElement), ctrl = e.ctrlKey || e.metaKey;
        if (e.altKey) return;
        if (e.key === "F3" || (ctrl && e.key === "f") || (!ctrl && e.key === "/")) openBox();
        else if (ctrl && e.key === "i") toggleCase();
        else if (ctrl) return;
        else if (e.key === "Escape") escape();
        else if (e.key === "n" || e.key === "N") step(e.key === "n" ? 1 : -1);
        else if (e.key === "?") toggleHelp();
        else if (e.key === "i") flip(!flipped);
        else if (e.key === "r" && !chart) reverse(!turned);
        else if (e.key === "Enter" || e.key === " ") { if (!enter(f)) return; }
        else if (!walk(e, f)) return;
        e.preventDefault();
    }

    function control(name, action) {
        var e = id(name);
        if (!e) return;
        e.setAttribute("tabindex", "0");
        e.setAttribute("role", "button");
        if (name !== "unzoom") e.setAttribute("class", "control");
        e.addEventListener("click", action);
    }

    /* ------------------------------------------------------------- start */

    /* Controls that mean nothing without a script are made by it. */
    function addControls() {
        var at = id("unzoom"), y = at.getAttribute("y"), below = id("matched").getAttribute("y");
        var w = svg.viewBox.baseVal.width, size = charWidth / 0.59, x = PAD + 7.5 * size;
        if (w < 500) return;
        [["invert", "Invert", 4.2], ["reverse", "Reverse", 5], ["keys", "?", 1]].forEach(
            function (c) {
                var e = make("text", { id: c[0], x: x, y: y }, c[1]);
                if (chart && c[0] === "reverse") return;
                at.parentNode.insertBefore(e, at.nextSibling);
                x += c[2] * size;
            });
        at = id("matched");
        [["next", "›", 0], ["previous", "‹", 1.3]].forEach(function (c) {
            var e = make("text", { id: c[0], x: w - PAD - c[2] * size, y: below,
                                   "aria-label": c[0] + " match" }, c[1]);
            at.parentNode.insertBefore(e, at);
        });
        at.setAttribute("x", w - PAD - 2.6 * size);
    }

    function load(all) {
        frames = Array.from(all.children).map(read);
        frames.forEach(function (f) { f.g.foldmill = f; });
        if (frames.length === 0) return;
        if (lanes.length === 0) readLanes();
        else frames.forEach(function (f) {
            f.lane = 0;
            f.depth = Math.round((inverted ? f.y - lanes[0].low : lanes[0].high - f.y) / rowHeight);
        });
        current = frames[0];
        current.g.setAttribute("tabindex", "0");
        all.setAttribute("role", "tree");
        all.setAttribute("aria-label", "Frames");
        all.addEventListener("click", function (e) {
            var f = frameOf(e.target);
            if (!f || (f.g.localName === "a" && !e.ctrlKey)) return;
            e.preventDefault();
            zoom(f);
        });
        all.addEventListener("mouseover", function (e) { details(frameOf(e.target)); });
        all.addEventListener("mouseout", function () { details(null); });
        all.addEventListener("focusin", function (e) { details(frameOf(e.target)); });
    }

    function start() {
        var style = make("style", {}, ".control{opacity:0.4;cursor:pointer}" +
            ".control:hover,.control:focus,.on{opacity:1}.hide{display:none}.parent{opacity:0.5}" +
            "#frames .match>rect{fill:rgb(230,0,230)}#frames .match>text{fill:#fff}" +
            "#frames :focus{outline:none}#frames :focus>rect{stroke:currentColor;stroke-width:2}");
        load(id("frames"));
        if (frames.length === 0) return;
        svg.appendChild(style);
        svg.setAttribute("role", "group");
        id("details").setAttribute("role", "status");
        id("matched").setAttribute("role", "status");
        addControls();
        control("unzoom", function () { zoom(null); });
        control("search", toggleSearch);
        control("ignorecase", toggleCase);
        control("invert", function () { flip(!flipped); });
        control("reverse", function () { reverse(!turned); });
        control("keys", toggleHelp);
        control("next", function () { step(1); });
        control("previous", function () { step(-1); });
        id("next") && id("next").setAttribute("class", "hide");
        id("previous") && id("previous").setAttribute("class", "hide");
        window.addEventListener("keydown", key);
        window.addEventListener("hashchange", restore);
        restore();
    }

    start();
})();
