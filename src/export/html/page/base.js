/*
 * base.js - the ground of the page: elements, events between views, state in the URL fragment,
 * numbers as text. FM is the one global name; every other file adds to it.
 *
 *   FM.el(tag, attributes, ...children)   an element; children are nodes or texts, never markup
 *   FM.on(type, fn), FM.emit(type, what)  types: "weights" "search" "theme" "colors" "state" "zoom"
 *   FM.state.get(key), .set({key: value}, push)   null removes a key
 *   FM.view({id, title, mount(el, model), show, hide, update(what), key(event)})
 */
"use strict";
const FM = { views: [], model: null };

FM.el = function (tag, attributes, ...children) {
    const [name, ...classes] = tag.split(".");
    const node = document.createElement(name);
    if (classes.length) node.className = classes.join(" ");
    for (const key in attributes || {}) {
        const value = attributes[key];
        if (key === "on") {
            for (const type in value) node.addEventListener(type, value[type]);
        } else if (value !== null && value !== undefined && value !== false) {
            node.setAttribute(key, value === true ? "" : value);
        }
    }
    node.append(...children.filter(c => c !== null && c !== undefined));
    return node;
};

(function () {
    const heard = {};

    FM.on = function (type, fn) {
        (heard[type] = heard[type] || []).push(fn);
    };

    FM.emit = function (type, what) {
        for (const fn of heard[type] || []) fn(what);
    };

    FM.view = function (view) {
        FM.views.push(view);
        FM.views.sort((a, b) => (a.rank || 50) - (b.rank || 50));
    };

    /* The fragment is key=value&key=value. In frames that forbid changing the address, and where
     * it is refused, the state lives here alone. */
    let values = {};

    function read() {
        const found = {};
        for (const part of location.hash.slice(1).split("&")) {
            const at = part.indexOf("=");
            if (at <= 0) continue;
            try {
                found[decodeURIComponent(part.slice(0, at))] =
                    decodeURIComponent(part.slice(at + 1));
            } catch (e) {
                continue;
            }
        }
        return found;
    }

    function write(push) {
        const text = Object.keys(values).map(key => encodeURIComponent(key) + "=" +
            encodeURIComponent(values[key])).join("&");
        const url = text ? "#" + text : location.pathname + location.search;
        try {
            history[push ? "pushState" : "replaceState"](null, "", url);
        } catch (e) {
            return;
        }
    }

    FM.state = {
        start() {
            values = read();
            const again = () => {
                const now = read();
                if (JSON.stringify(now) === JSON.stringify(values)) return;
                values = now;
                FM.emit("state");
            };
            window.addEventListener("hashchange", again);
            window.addEventListener("popstate", again);
        },
        get(key) {
            return Object.prototype.hasOwnProperty.call(values, key) ? values[key] : null;
        },
        set(changes, push) {
            let changed = false;
            for (const key in changes) {
                const value = changes[key];
                if (value === null || value === undefined || value === "") {
                    changed = changed || FM.state.get(key) !== null;
                    delete values[key];
                } else if (FM.state.get(key) !== String(value)) {
                    changed = true;
                    values[key] = String(value);
                }
            }
            if (changed) write(push);
        }
    };

    /* What the viewer prefers, kept where the browser allows it. */
    FM.keep = {
        get(key) {
            try {
                return localStorage.getItem("foldmill." + key);
            } catch (e) {
                return null;
            }
        },
        set(key, value) {
            try {
                localStorage.setItem("foldmill." + key, value);
            } catch (e) {
                return;
            }
        }
    };

    FM.calm = function () {
        return matchMedia("(prefers-reduced-motion: reduce)").matches;
    };
})();
