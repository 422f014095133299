/*
 * svg-check.cjs - an SVG flame graph in a real browser: node svg-check.cjs FILE.svg CHROMIUM
 *
 * Prints TAP. The file must hold the frames of tests/data/folded/names.folded. Needs
 * playwright-core (NODE_PATH). Fails on script errors, dialogs and requests that leave the disk.
 */
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");

const url = "file://" + path.resolve(process.argv[2]);
let count = 0, failed = 0;

function ok(good, name, more) {
    count++;
    if (!good) failed++;
    console.log((good ? "ok " : "not ok ") + count + " - " + name);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more));
}

(async () => {
    const browser = await chromium.launch({
        executablePath: process.argv[3],
        args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    });
    const page = await browser.newPage({ viewport: { width: 1240, height: 400 } });
    const trouble = [];
    page.on("pageerror", e => trouble.push("error " + e.message));
    page.on("dialog", d => { trouble.push("dialog " + d.message()); d.dismiss(); });
    page.on("request", r => { if (!r.url().startsWith("file:")) trouble.push(r.url()); });

    const shown = () => page.evaluate(() =>
        Array.from(document.querySelectorAll("#frames > g"))
            .filter(g => g.getAttribute("class") !== "hide")
            .map(g => ({
                title: g.querySelector("title").textContent,
                x: +g.querySelector("rect").getAttribute("x"),
                w: +g.querySelector("rect").getAttribute("width"),
                parent: g.getAttribute("class") === "parent",
                fill: g.querySelector("rect").getAttribute("fill"),
                text: (g.querySelector("text") || { textContent: "" }).textContent
            })));
    const find = async name => (await shown()).find(f => f.title.startsWith(name));
    const click = name => page.evaluate(n =>
        Array.from(document.querySelectorAll("#frames > g"))
            .find(g => g.querySelector("title").textContent.startsWith(n))
            .querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true })), name);
    const text = id => page.evaluate(i => document.getElementById(i).textContent, id);

    await page.goto(url);
    const all = await shown();
    ok(all.length === 12, "twelve frames", all.length);
    ok(all.every(f => !f.parent), "nothing zoomed at first");
    ok((await text("title")).length > 0, "a title");
    if (process.argv[4]) await page.screenshot({ path: process.argv[4] + "-1.png" });

    await click("été");
    let f = await find("été");
    ok(f.x === 10 && f.w === 1180, "a clicked frame fills the width", f);
    f = await find("main");
    ok(f.parent && f.w === 1180, "its caller stays, dimmed", f);
    f = await find("😀");
    ok(f && f.w === 1180 && f.text === "😀", "what it calls is scaled and labelled", f);
    ok(!(await find("javascript:")), "the rest is hidden");
    ok(/[?]x=/.test(page.url()), "the address holds the zoom", page.url());
    if (process.argv[4]) await page.screenshot({ path: process.argv[4] + "-2.png" });
    await page.reload();
    f = await find("été");
    ok(f && f.w === 1180, "and restores it", f);
    await page.locator("#unzoom").click();
    ok(JSON.stringify((await shown()).map(v => v.w)) === JSON.stringify(all.map(v => v.w)) &&
        JSON.stringify((await shown()).map(v => v.text)) === JSON.stringify(all.map(v => v.text)),
        "reset gives the first picture again", await shown());

    await page.keyboard.press("F3");
    await page.keyboard.type("^JAVA");
    ok((await text("matched")) === "Matched: 0.0%", "search minds case", await text("matched"));
    await page.keyboard.press("Enter");
    await page.keyboard.press("Control+i");
    ok((await text("matched")) === "Matched: 7.4%", "and does not when told", await text("matched"));
    f = await find("javascript:");
    ok(f.fill === "rgb(230,0,230)", "what matches is painted", f);
    if (process.argv[4]) await page.screenshot({ path: process.argv[4] + "-3.png" });
    await page.locator("#search").click();
    f = await find("javascript:");
    ok((await text("matched")).trim() === "" && f.fill !== "rgb(230,0,230)", "search is reset", f);
    await page.keyboard.press("Control+f");
    await page.keyboard.type("main|été|😀");
    ok((await text("matched")) === "Matched: 100%", "nested matches count once",
        await text("matched"));
    await page.keyboard.type("(");
    ok(/[Nn]ot a regular/.test(await text("matched")), "a bad expression is said to be one");
    await page.keyboard.press("Escape");

    await page.evaluate(() => document.querySelector("#frames > g").focus());
    await page.keyboard.press("ArrowUp");
    ok((await text("details")).startsWith("main ("), "the keyboard walks", await text("details"));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    f = (await shown()).filter(v => !v.parent)[0];
    ok(f.w === 1180, "and zooms", f);
    await page.keyboard.press("Escape");
    ok((await shown()).length === 12, "and resets");

    await page.hover("#frames > g:nth-child(2) > rect");
    ok((await text("details")).startsWith("main (27 samples, 100.00%"), "details on hover",
        await text("details"));
    ok((await page.evaluate(() => window.__pwn)) === undefined, "no name ran as script");
    ok(trouble.length === 0, "no errors, dialogs or requests", trouble);
    console.log("1.." + count);
    await browser.close();
    process.exit(failed ? 1 : 0);
})().catch(e => {
    console.log("Bail out! " + e.message.split("\n")[0]);
    process.exit(1);
});
