/*
 * svg-check.cjs - SVG flame graphs in a real browser: node svg-check.cjs DIR CHROMIUM [SHOTS]
 *
 * Prints TAP. DIR holds what svg.test has made: names.svg (frames of tests/data/folded/names.folded),
 * diff.svg, elided.svg, chart.svg, order.svg and many.svg. Values are worked out by hand from their
 * inputs. Needs playwright-core (NODE_PATH). Fails on script errors, console messages, dialogs and
 * requests that leave the disk. SHOTS: the beginning of names for screenshots.
 */
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");

const dir = path.resolve(process.argv[2]), shots = process.argv[4];
let count = 0, failed = 0, page;

function ok(good, name, more) {
    count++;
    if (!good) failed++;
    console.log((good ? "ok " : "not ok ") + count + " - " + name);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more));
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const shown = () => page.evaluate(() =>
    Array.from(document.querySelectorAll("#frames > g"))
        .filter(g => !/\bhide\b/.test(g.getAttribute("class") || ""))
        .map(g => {
            const rect = g.querySelector("rect");
            return {
                title: g.querySelector("title").textContent,
                x: +rect.getAttribute("x"), w: +rect.getAttribute("width"),
                y: +rect.getAttribute("y"), fill: rect.getAttribute("fill"),
                drawn: getComputedStyle(rect).fill,
                parent: /\bparent\b/.test(g.getAttribute("class") || ""),
                text: (g.querySelector("text") || { textContent: "" }).textContent
            };
        }));
const find = async name => (await shown()).find(f => f.title.startsWith(name));
const click = name => page.evaluate(n =>
    Array.from(document.querySelectorAll("#frames > g"))
        .find(g => g.querySelector("title").textContent.startsWith(n))
        .querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true })), name);
const text = id => page.evaluate(i => document.getElementById(i).textContent, id);
const hash = () => page.evaluate(() => location.hash);
const on = () => page.evaluate(() =>
    document.activeElement.querySelector("title").textContent.replace(/ \([^()]*\)$/, ""));
const near = (a, b) => Math.abs(a - b) < 0.11;

async function open(name) {
    await page.goto("about:blank");
    await page.goto("file://" + path.join(dir, name));
}

async function shot(name) {
    if (shots) await page.screenshot({ path: shots + name + ".png" });
}

async function checkZoom() {
    await open("names.svg");
    const all = await shown();
    ok(all.length === 12, "twelve frames", all.length);
    ok(all.every(f => !f.parent), "nothing zoomed at first");
    ok((await text("title")).length > 0, "a title");
    await shot("first");
    await click("été");
    let f = await find("été");
    ok(f.x === 10 && f.w === 1180, "a clicked frame fills the width", f);
    f = await find("main");
    ok(f.parent && f.w === 1180, "its caller stays, dimmed", f);
    f = await find("😀");
    ok(f && f.w === 1180 && f.text === "😀", "what it calls is scaled and labelled", f);
    ok(!(await find("javascript:")), "the rest is hidden");
    ok(/^#x=20&w=7&d=2$/.test(await hash()), "the fragment holds the zoom", await hash());
    await page.hover("#frames > g:last-child > rect");
    ok((await text("details")) === "😀 (7 samples, 25.93%; 100.00% of view)",
        "the tooltip tells shares of view and total", await text("details"));
    await shot("zoom");
    await page.reload();
    f = await find("été");
    ok(f && f.w === 1180, "a reload restores it", f);
    await page.locator("#unzoom").click();
    const again = await shown(), bare = v => [v.x, v.w, v.text];
    ok(same(again.map(bare), all.map(bare)), "reset gives the first picture again", again);
    ok((await hash()) === "", "and an empty fragment", await hash());
    await page.evaluate(() => { location.hash = "#x=20&w=7&d=2&s=%E4%B8%AD"; });
    await page.waitForFunction(() => /Matched/.test(document.getElementById("matched").textContent));
    f = await find("中文");
    ok(f.w === 1180 && f.drawn === "rgb(230, 0, 230)", "a new fragment is followed", f);
    await page.evaluate(() => { location.hash = "#x=1e999&w=%&d=%zz&s=("; });
    await page.evaluate(() => { location.hash = "#x=5&w=4&d=9"; });
    ok((await shown()).length === 12, "one that means nothing shows all");
}

async function checkSearch() {
    await open("names.svg");
    await page.keyboard.press("F3");
    await page.keyboard.type("^JAVA");
    ok((await text("matched")) === "Matched: 0.0%", "search minds case", await text("matched"));
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+i");
    ok((await text("matched")) === "Matched: 7.4%", "and does not when told",
        await text("matched"));
    ok((await hash()) === "#s=%5EJAVA&i=1", "the fragment holds it", await hash());
    let f = await find("javascript:");
    ok(f.drawn === "rgb(230, 0, 230)", "what matches is painted", f);
    await shot("search");
    await page.locator("#search").click();
    f = await find("javascript:");
    ok((await text("matched")).trim() === "" && f.drawn !== "rgb(230, 0, 230)",
        "search is reset", f);
    await page.keyboard.press("/");
    await page.keyboard.type("main|été|😀");
    ok((await text("matched")) === "Matched: 100%", "nested matches count once",
        await text("matched"));
    await page.keyboard.type("(");
    ok(/[Nn]ot a regular/.test(await text("matched")), "a bad expression is said to be one");
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("27|samples|%");
    ok((await text("matched")) === "Matched: 0.0%", "numbers of the tooltip are no names",
        await text("matched"));
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("été|中文|javascript");
    await page.keyboard.press("Enter");
    ok((await text("matched")) === "Matched: 33.3% (1 of 3)" && (await on()) === "javascript:alert(1)",
        "Enter goes to the first match", [await text("matched"), await on()]);
    await page.keyboard.press("n");
    ok((await on()) === "été", "n to the next", await on());
    await page.keyboard.press("n");
    await page.keyboard.press("n");
    ok((await on()) === "javascript:alert(1)", "and round", await on());
    await page.keyboard.press("N");
    ok((await on()) === "中文", "N back", await on());
    await page.locator("#previous").click();
    ok((await on()) === "été", "so does the control", await on());
    await page.keyboard.press("Enter");
    ok((await text("matched")) === "Matched: 100% of view, 25.9% of total",
        "a zoomed view has shares of both, hidden frames not counted", await text("matched"));
}

async function checkKeys() {
    await open("names.svg");
    const all = await shown();
    await page.evaluate(() => document.querySelector("#frames > g").focus());
    await page.keyboard.press("ArrowUp");
    ok((await text("details")).startsWith("main ("), "the keyboard walks", await text("details"));
    ok((await page.evaluate(() => document.activeElement.getAttribute("aria-label"))) ===
        "main (27 samples, 100.00%)", "with a label for readers of the screen");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    let f = (await shown()).filter(v => !v.parent)[0];
    ok(f.w === 1180, "and zooms", f);
    await page.keyboard.press("Escape");
    ok((await shown()).length === 12, "and resets");
    await page.keyboard.press("?");
    ok(/Enter, click: zoom/.test(await text("details")), "? shows the keys");
    await page.keyboard.press("?");
    await page.hover("#frames > g:nth-child(2) > rect");
    ok((await text("details")).startsWith("main (27 samples, 100.00%"), "details on hover",
        await text("details"));
    await page.keyboard.press("i");
    f = await shown();
    ok(f[0].y < f[1].y && same(f.map(v => 138 - v.y), all.map(v => v.y)),
        "i turns the picture upside down", f);
    ok((await hash()) === "#v=flip", "the fragment holds that", await hash());
    await page.reload();
    ok((await shown())[0].y === f[0].y, "and restores it");
    await shot("icicle");
    await page.keyboard.press("r");
    f = await shown();
    ok(f[0].title.startsWith("all (27") && f[0].y < f[1].y, "r puts callees below", f[0]);
    const main = f.filter(v => v.title.startsWith("main ("));
    ok(near(main.reduce((s, v) => s + v.w, 0), 1180) && main.every(v => v.y > f[0].y + 16),
        "callers stand above their callees", main);
    const smile = f.find(v => v.title.startsWith("😀 (7 samples, 25.93%)"));
    ok(smile && near(smile.w, 305.9), "by their own weight", smile);
    await shot("reverse");
    await page.keyboard.press("r");
    await page.keyboard.press("i");
    ok(same((await shown()).map(v => [v.x, v.y, v.w]), all.map(v => [v.x, v.y, v.w])),
        "and all back");
    ok((await page.evaluate(() => window.__pwn)) === undefined, "no name ran as script");
}

/* before: a 10, b 20, gone 5; after: a 30, b 10, new 7 (all of main) */
async function checkDiff() {
    await open("diff.svg");
    const fill = async n => (await find(n + " (")).fill;
    ok((await text("subtitle")) === "base 35 samples, scaled by 1.342857; new 47 samples",
        "both sums are told", await text("subtitle"));
    ok(same([await fill("a"), await fill("main")], ["rgb(255,0,0)", "rgb(255,255,255)"]) ||
        same([await fill("b"), await fill("main")], ["rgb(0,0,255)", "rgb(255,255,255)"]),
        "red grew, blue shrank, white stayed", await shown());
    const a = await find("a (");
    ok(a.title === "a (30 samples, 63.83%; +35.26%; before 10 samples)" && near(a.w, 753.2),
        "the tooltip has the change", a);
    ok((await find("new (")).title === "new (7 samples, 14.89%; +14.89%; new)", "new is new");
    ok(!(await find("gone")), "what vanished has no width");
    await page.keyboard.press("r");
    ok(/reverse=yes/.test(await text("details")), "reverse says what to do",
        await text("details"));
    await click("a (");
    ok((await find("a (")).w === 1180, "it zooms");
    await shot("diff");
    await open("elided.svg");
    const f = await shown();
    ok(f.length === 3 && f[2].title.startsWith("gone (5 samples, 100.00%;") && f[2].w === 1180,
        "the elided view has what vanished alone", f);
}

/* main: step 0-60 us with load 10-30 on it, step 80-100; stream 7: kernel 30-70 */
async function checkChart() {
    await open("chart.svg");
    const lanes = await page.evaluate(() =>
        Array.from(document.querySelectorAll("#lanes > text")).map(t => t.textContent));
    ok(same(lanes, ["main 1/1", "stream 7 1/2"]), "a lane a thread", lanes);
    const f = await shown();
    const at = n => f.filter(v => v.title.startsWith(n + " (")).map(v => [v.x, v.w]);
    ok(same(at("step"), [[10, 708], [954, 236]]) && same(at("load"), [[128, 236]]) &&
        same(at("kernel"), [[364, 472]]), "spans stand at their times", f);
    ok((await find("kernel")).title === "kernel (40.000 us at 30.000 us, 40.00%)",
        "and tell them", await find("kernel"));
    await shot("chart");
    await click("kernel");
    const step = (await shown()).filter(v => v.title.startsWith("step ("));
    ok(step.length === 1 && step[0].x === 10 && step[0].w === 885 && !step[0].parent,
        "zoom cuts other lanes to the time", step);
    ok((await hash()) === "#x=30000&w=40000&d=0&l=1", "the fragment names the lane", await hash());
    await page.reload();
    ok((await find("kernel")).w === 1180, "and restores it");
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("step|load");
    ok((await text("matched")) === "Matched: 66.7%", "lanes are added up: 80 of 120 us",
        await text("matched"));
    await open("order.svg");
    const g = (await shown()).map(v => [v.title.replace(/ .*/, ""), v.x, v.w]).sort();
    ok(same(g, [["a", 10, 590], ["a", 895, 295], ["all", 10, 1180], ["b", 600, 295],
        ["x", 10, 295], ["y", 305, 295]].sort()), "stacks without times keep their order", g);
    await shot("order");
}

/* 40,000 boxes: nothing is timed, but the figures are told. */
async function checkMany() {
    let t = Date.now();
    await open("many.svg");
    const load = Date.now() - t, n = (await shown()).length;
    t = Date.now();
    await click("f1 (");
    await page.evaluate(() => new Promise(r => requestAnimationFrame(() => setTimeout(r, 0))));
    const zoom = Date.now() - t;
    t = Date.now();
    await page.keyboard.press("Escape");
    await page.evaluate(() => new Promise(r => requestAnimationFrame(() => setTimeout(r, 0))));
    console.log("# " + n + " boxes: load " + load + " ms, zoom " + zoom + " ms, reset " +
        (Date.now() - t) + " ms");
    ok(n > 30000 && (await shown()).length === n, "many boxes zoom and come back", n);
}

(async () => {
    const browser = await chromium.launch({
        executablePath: process.argv[3],
        args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    });
    const trouble = [];
    page = await browser.newPage({ viewport: { width: 1240, height: 400 } });
    page.on("pageerror", e => trouble.push("error " + e.message));
    page.on("console", m => trouble.push("console " + m.text()));
    page.on("dialog", d => { trouble.push("dialog " + d.message()); d.dismiss(); });
    page.on("request", r => {
        if (!/^(file:|about:)/.test(r.url())) trouble.push(r.url());
    });
    await checkZoom();
    await checkSearch();
    await checkKeys();
    await checkDiff();
    await checkChart();
    await checkMany();
    ok(trouble.length === 0, "no errors, messages, dialogs or requests", trouble);
    console.log("1.." + count);
    await browser.close();
    process.exit(failed ? 1 : 0);
})().catch(e => {
    console.log("Bail out! " + e.message.split("\n")[0]);
    process.exit(1);
});
