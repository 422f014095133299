/*
 * index.js - the index page of a report: columns sort when clicked, rows are found by words.
 *
 * The page is whole without it. Nothing of the page's data is made markup: the script moves rows and
 * hides them.
 */
"use strict";
(function () {
    /* A number where the cell has one, else its text; null for an empty cell. */
    function valueOf(row, column) {
        var cell = row.cells[column], v = cell.getAttribute("data-v"), text;
        if (v !== null)
            return v === "" ? null : +v;
        text = cell.textContent.trim();
        return text === "" ? null : text.toLowerCase();
    }

    function compare(a, b, sign) {
        if (a.key === null || b.key === null)
            return (a.key === null) - (b.key === null) || a.place - b.place;
        if (typeof a.key !== typeof b.key)
            return typeof a.key === "number" ? -1 : 1;
        return a.key < b.key ? -sign : a.key > b.key ? sign : a.place - b.place;
    }

    function sortBy(table, head) {
        var column = head.cellIndex, body = table.tBodies[0];
        var old = head.getAttribute("aria-sort"), down, rows;
        down = old === null ? head.classList.contains("n") : old === "ascending";
        rows = Array.from(body.rows).map(function (row, i) {
            return { row: row, key: valueOf(row, column), place: i };
        });
        rows.sort(function (a, b) { return compare(a, b, down ? -1 : 1); });
        Array.from(head.parentNode.cells).forEach(function (cell) {
            cell.removeAttribute("aria-sort");
        });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        rows.forEach(function (r) { body.appendChild(r.row); });
    }

    function makeSortable(table) {
        Array.from(table.tHead.rows[0].cells).forEach(function (head) {
            var button = document.createElement("button");
            if (head.textContent === "" || head.classList.contains("fixed"))
                return;
            button.type = "button";
            while (head.firstChild)
                button.appendChild(head.firstChild);
            head.appendChild(button);
            button.addEventListener("click", function () { sortBy(table, head); });
        });
    }

    function makeFinder(place, table) {
        var input = document.createElement("input"), count = document.createElement("span");
        var label = document.createElement("label"), box = document.createElement("input");
        var rows = Array.from(table.tBodies[0].rows), timer = 0;
        var texts = rows.map(function (row) { return row.textContent.toLowerCase(); });
        function find() {
            var words = input.value.toLowerCase().split(/\s+/), shown = 0;
            rows.forEach(function (row, i) {
                var good = (!box.checked || row.classList.contains("bad-row")) &&
                    words.every(function (w) { return texts[i].indexOf(w) >= 0; });
                row.hidden = !good;
                shown += good;
            });
            count.textContent = shown === rows.length ? "" : shown + " of " + rows.length;
        }
        input.type = "search";
        input.addEventListener("input", function () {
            clearTimeout(timer);
            timer = setTimeout(find, rows.length > 500 ? 150 : 0);
        });
        label.appendChild(document.createTextNode("Find "));
        label.appendChild(input);
        place.appendChild(label);
        if (table.querySelector("tr.bad-row") !== null) {
            box.type = "checkbox";
            box.addEventListener("change", find);
            label = document.createElement("label");
            label.appendChild(box);
            label.appendChild(document.createTextNode(" only those with problems"));
            place.appendChild(label);
        }
        count.className = "soft";
        count.setAttribute("role", "status");
        place.appendChild(count);
    }

    Array.from(document.querySelectorAll("table")).forEach(makeSortable);
    Array.from(document.querySelectorAll(".find")).forEach(function (place) {
        makeFinder(place, place.parentNode.querySelector("table"));
    });
})();
