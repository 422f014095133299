/*
 * text.js - numbers as text. No DOM: the tests run it in node.
 *
 *   FM.commas(1234567)            "1,234,567"
 *   FM.weight(1234567, "ns")      "1.235 ms"; bytes as "1.18 MiB"; else with commas
 *   FM.percent(part, whole)       "12.3%", "0.02%", "<0.01%", "100%"
 *   FM.grown(before, after, unit) "+1.20 ms (+45%)"
 *   FM.shortName(name)            without packages
 */
"use strict";
(function () {
    const times = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
    const sizes = [["bytes", 1], ["KiB", 1024], ["MiB", 1048576], ["GiB", 1073741824],
        ["TiB", 1099511627776]];
    const starts = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, nanoseconds: 1,
        microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };

    function digits(v) {
        return v >= 100 ? v.toFixed(1) : v >= 10 ? v.toFixed(2) : v.toFixed(3);
    }

    function scaled(v, units) {
        let k = 0;
        while (k + 1 < units.length && Math.abs(v) >= units[k + 1][1]) k++;
        const sign = v < 0 ? "-" : "";
        return k === 0 ? FM.commas(v) + " " + units[0][0]
            : sign + digits(Math.abs(v) / units[k][1]) + " " + units[k][0];
    }

    FM.commas = function (v) {
        const s = String(Math.round(Math.abs(v)));
        if (s.includes("e")) return v.toExponential(3);
        return (v < 0 ? "-" : "") + s.replace(/\B(?=(\d{3})+$)/g, ",");
    };

    FM.weight = function (v, unit) {
        if (Object.prototype.hasOwnProperty.call(starts, unit))
            return scaled(v * starts[unit], times);
        if (unit === "bytes" || unit === "byte" || unit === "B") return scaled(v, sizes);
        const one = Math.abs(v) === 1 && unit === "samples";
        const figure = Math.abs(v) < 10 && v % 1 !== 0 ? v.toFixed(1) : FM.commas(v);
        return figure + (one ? " sample" : unit ? " " + unit : "");
    };

    FM.percent = function (part, whole) {
        if (!(whole > 0)) return "0%";
        const p = 100 * part / whole;
        if (p === 0) return "0%";
        if (Math.abs(p) < 0.005) return "<0.01%";
        if (Math.abs(p) >= 99.995 && Math.abs(p) < 100.005) return (p < 0 ? "-" : "") + "100%";
        return p.toFixed(Math.abs(p) < 10 ? 2 : 1) + "%";
    };

    /* "java/util/HashMap.get" -> "HashMap.get", "java.util.HashMap.get" likewise, "/usr/bin/x" ->
     * "x"; other names as they are. */
    FM.shortName = function (name) {
        const path = /^(?:[^\s/()<>:]*\/)+(?=[^\s/])/.exec(name);
        if (path !== null) return name.slice(path[0].length);
        const dots = /^(?:[a-z_][\w$]*\.)+(?=[A-Z])/.exec(name);
        return dots !== null ? name.slice(dots[0].length) : name;
    };

    /* "+1.20 ms (+45%)", "new", "gone", "same" */
    FM.grown = function (before, after, unit) {
        const d = after - before;
        if (before === 0 && after > 0) return "new";
        if (after === 0 && before > 0) return "gone";
        if (Math.abs(d) < 1e-9 * Math.max(before, after) || d === 0) return "same";
        const sign = d > 0 ? "+" : "−", share = 100 * Math.abs(d) / before;
        return sign + FM.weight(Math.abs(d), unit) + " (" + sign +
            (share < 10 ? share.toFixed(1) : share.toFixed(0)) + "%)";
    };
})();
