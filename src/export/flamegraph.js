/*
 * flamegraph.js - zoom, search and keyboard of the SVG flame graph; embedded by flamegraph.c.
 *
 * Every frame is a <g data-x data-w> with <title>, <rect> and, when it was wide enough, <text>.
 * Positions come from data-x and data-w (weights), not from rounded pixels. Names reach the page
 * only as textContent. State that may be refused (history, prompt, storage) is in try.
 */
(function () {
    "use strict";
    var svg = document.documentElement;
    var NS = "http://www.w3.org/2000/svg";
    var pad = 10;
    var total = +svg.getAttribute("data-total");
    var charWidth = +svg.getAttribute("data-char");
    var inverted = svg.getAttribute("data-inverted") === "1";
    var wide = svg.viewBox.baseVal.width - 2 * pad;
    var frames = [];
    var view = null;      /* the frame zoomed to, null = all */
    var term = "";
    var ignoreCase = false;
    var box = null;       /* the open search field */

    function id(name) { return document.getElementById(name); }

    function read(g, i) {
        var rect = g.getElementsByTagName("rect")[0];
        var title = g.getElementsByTagName("title")[0].textContent;
        return {
            g: g, rect: rect, text: g.getElementsByTagName("text")[0] || null, i: i,
            x: +g.getAttribute("data-x"), w: +g.getAttribute("data-w"),
            y: +rect.getAttribute("y"), fill: rect.getAttribute("fill"),
            tip: title, name: title.replace(/ \([^()]*\)$/, ""), shown: true, parent: false,
            hit: false
        };
    }

    /* Whether a is nearer to the root than b. */
    function below(a, b) { return inverted ? a.y < b.y : a.y > b.y; }
    function covers(a, b) { return a.x <= b.x && a.x + a.w >= b.x + b.w; }

    /* -------------------------------------------------------------- zoom */

    function label(f, x, w) {
        var room = Math.floor(w / charWidth);
        var chars, s = f.name;
        if (room < 3) {
            if (f.text) f.text.textContent = "";
            return;
        }
        if (!f.text) {
            f.text = document.createElementNS(NS, "text");
            f.text.setAttribute("y", 3 + (2 * f.y + +f.rect.getAttribute("height")) / 2);
            f.g.appendChild(f.text);
        }
        if (s.length > room) {
            chars = Array.from(s);
            if (chars.length > room) s = chars.slice(0, room - 2).join("") + "..";
        }
        f.text.setAttribute("x", (x + 3).toFixed(2));
        f.text.textContent = s;
    }

    function place(f, x, w, parent) {
        f.shown = true;
        f.parent = parent;
        f.rect.setAttribute("x", x.toFixed(1));
        /* between rounded edges, as in the first picture */
        f.rect.setAttribute("width", ((x + w).toFixed(1) - x.toFixed(1)).toFixed(1));
        label(f, x, w);
        f.g.setAttribute("class", parent ? "parent" : "");
    }

    function zoom(target) {
        var root = !target || target === frames[0];
        var from = root ? 0 : target.x;
        var scale = wide / (root ? total : target.w);
        view = root ? null : target;
        frames.forEach(function (f) {
            if (!root && f !== target && below(f, target)) {
                if (covers(f, target)) {
                    place(f, pad, wide, true);
                    return;
                }
            } else if (root || (f.x >= from && f.x + f.w <= from + target.w)) {
                place(f, pad + (f.x - from) * scale, f.w * scale, false);
                return;
            }
            f.shown = false;
            f.g.setAttribute("class", "hide");
        });
        id("unzoom").setAttribute("class", root ? "hide" : "control on");
        search(term);
    }

    /* ------------------------------------------------------------ search */

    function paint(f, hit) {
        if (f.hit !== hit) f.rect.setAttribute("fill", hit ? "rgb(230,0,230)" : f.fill);
        f.hit = hit;
    }

    /* Share of the view that lies under a matched frame, nested ones counted once. */
    function share() {
        var seen = 0, end = -1, whole = view ? view.w : total;
        frames.filter(function (f) { return f.hit && f.shown && !f.parent; })
            .sort(function (a, b) { return a.x - b.x || b.w - a.w; })
            .forEach(function (f) {
                if (f.x >= end) {
                    seen += f.w;
                    end = f.x + f.w;
                }
            });
        return 100 * seen / whole;
    }

    function search(text) {
        var re = null, part;
        term = text;
        if (text !== "") {
            try {
                re = new RegExp(text, ignoreCase ? "i" : "");
            } catch (e) {
                id("matched").textContent = "Not a regular expression";
                frames.forEach(function (f) { paint(f, false); });
                return;
            }
        }
        frames.forEach(function (f, i) { paint(f, re !== null && i > 0 && re.test(f.name)); });
        if (re === null) {
            id("matched").textContent = " ";
        } else {
            part = share();
            id("matched").textContent =
                "Matched: " + (part === 100 ? "100" : part.toFixed(1)) + "%";
        }
        id("search").textContent = text === "" ? "Search" : "Reset Search";
        id("search").setAttribute("class", text === "" ? "control" : "control on");
        save();
    }

    function closeBox() {
        var old = box;
        box = null; /* first: removing the focused field calls this again */
        if (old) old.parentNode.removeChild(old);
    }

    function openBox() {
        var input;
        if (box) return;
        box = document.createElementNS(NS, "foreignObject");
        box.setAttribute("x", svg.viewBox.baseVal.width - pad - 260);
        box.setAttribute("y", 2);
        box.setAttribute("width", 260);
        box.setAttribute("height", 28);
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

    function toggleCase() {
        ignoreCase = !ignoreCase;
        id("ignorecase").setAttribute("class", ignoreCase ? "control on" : "control");
        search(term);
    }

    /* --------------------------------------------------------------- URL */

    function save() {
        var q = [];
        if (view) q.push("x=" + view.x, "y=" + view.y, "w=" + view.w);
        if (term !== "") q.push("s=" + encodeURIComponent(term));
        if (ignoreCase) q.push("ic=1");
        try {
            history.replaceState(null, "", location.pathname + (q.length ? "?" + q.join("&") : ""));
        } catch (e) { /* a sandboxed frame or an odd origin: no state then */ }
    }

    function restore() {
        var q = {}, target = null;
        try {
            location.search.slice(1).split("&").forEach(function (pair) {
                var at = pair.indexOf("=");
                if (at > 0) q[pair.slice(0, at)] = decodeURIComponent(pair.slice(at + 1));
            });
        } catch (e) {
            return;
        }
        if (q.ic === "1") {
            ignoreCase = true;
            id("ignorecase").setAttribute("class", "control on");
        }
        frames.forEach(function (f) {
            if (f.x === +q.x && f.y === +q.y && f.w === +q.w) target = f;
        });
        term = q.s || "";
        if (target || term !== "") zoom(target);
    }

    /* -------------------------------------------------------- mouse, keys */

    function frameOf(node) {
        while (node && node !== svg) {
            if (node.foldmill !== undefined) return frames[node.foldmill];
            node = node.parentNode;
        }
        return null;
    }

    function details(f) { id("details").textContent = f ? f.tip : " "; }

    function focus(f) {
        if (!f) return;
        f.g.setAttribute("tabindex", "0");
        f.g.focus();
    }

    /* The nearest shown frame in a direction: -1, +1 brother; "up" to the leaf, "down" to root. */
    function next(f, dir) {
        var best = null;
        frames.forEach(function (o) {
            var rows = Math.round(Math.abs(o.y - f.y) / +svg.getAttribute("data-row"));
            if (!o.shown || o === f) return;
            if (dir === "down" && rows === 1 && below(o, f) && covers(o, f)) best = o;
            if (dir === "up" && rows === 1 && below(f, o) && covers(f, o) &&
                (!best || o.w > best.w)) best = o;
            if (dir === 1 && rows === 0 && o.x > f.x && (!best || o.x < best.x)) best = o;
            if (dir === -1 && rows === 0 && o.x < f.x && (!best || o.x > best.x)) best = o;
        });
        return best;
    }

    function key(e) {
        var f = frameOf(document.activeElement);
        var up = inverted ? "down" : "up", down = inverted ? "up" : "down";
        if (e.key === "F3" || ((e.ctrlKey || e.metaKey) && e.key === "f")) openBox();
        else if ((e.ctrlKey || e.metaKey) && e.key === "i") toggleCase();
        else if (e.key === "Escape") { search(""); zoom(null); }
        else if (e.key === "Enter" || e.key === " ") {
            if (f) zoom(f);
            else if (document.activeElement.click === undefined)
                document.activeElement.dispatchEvent(new MouseEvent("click", {bubbles: true}));
        }
        else if (f && e.key === "ArrowUp") focus(next(f, up));
        else if (f && e.key === "ArrowDown") focus(next(f, down));
        else if (f && e.key === "ArrowLeft") focus(next(f, -1));
        else if (f && e.key === "ArrowRight") focus(next(f, 1));
        else return;
        e.preventDefault();
    }

    function control(name, action) {
        var e = id(name);
        e.setAttribute("tabindex", "0");
        if (name !== "unzoom") e.setAttribute("class", "control");
        e.addEventListener("click", action);
    }

    function start() {
        var all = id("frames");
        Array.prototype.forEach.call(all.children, function (g, i) {
            g.foldmill = i;
            frames.push(read(g, i));
        });
        if (frames.length === 0) return;
        frames[0].g.setAttribute("tabindex", "0");
        all.addEventListener("click", function (e) {
            var f = frameOf(e.target);
            if (f) zoom(f);
        });
        all.addEventListener("mouseover", function (e) { details(frameOf(e.target)); });
        all.addEventListener("mouseout", function () { details(null); });
        all.addEventListener("focusin", function (e) { details(frameOf(e.target)); });
        control("unzoom", function () { zoom(null); });
        control("search", toggleSearch);
        control("ignorecase", toggleCase);
        window.addEventListener("keydown", key);
        restore();
    }

    start();
})();
