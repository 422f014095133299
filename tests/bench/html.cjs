/*
 * html.cjs - figures of one HTML report: node html.cjs PAGE.html CHROMIUM
 */
"use strict";
const { chromium } = require("playwright-core");
const fs = require("fs"), path = require("path");

(async () => {
    const file = path.resolve(process.argv[2]), size = fs.statSync(file).size;
    const browser = await chromium.launch({
        executablePath: process.argv[3],
        args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    });
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    const drawn = () => page.evaluate(() => new Promise(done =>
        requestAnimationFrame(() => requestAnimationFrame(done))));
    const time = async (what, fn) => {
        const from = Date.now();
        await fn();
        await drawn();
        console.log("  " + what.padEnd(34) + String(Date.now() - from).padStart(7) + " ms");
    };
    await time("open", async () => {
        await page.goto("file://" + file);
        await page.waitForSelector("html[data-ready]", { timeout: 300000 });
    });
    const nodes = await page.evaluate(() => FM.model.n);
    console.log("  " + nodes + " frames, " + size + " bytes, " + (size / nodes).toFixed(2) +
        " a frame");
    await page.emulateMedia({ reducedMotion: "reduce" });
    const box = await page.locator("#fm-view-flame .fm-scroller").boundingBox();
    await time("zoom", () => page.mouse.click(box.x + box.width / 2, box.y + box.height - 60));
    await time("zoom out", () => page.keyboard.press("Escape"));
    await time("search", async () => {
        await page.fill(".fm-search", "method_1");
        await page.keyboard.press("Enter");
    });
    await page.keyboard.press("Escape");
    await time("by weight", () => page.click("text=By weight"));
    for (const view of ["top", "tree", "sandwich"])
        await time("view " + view, () => page.click("#fm-tab-" + view));
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
    console.log("  heap " + Math.round(heap / 1048576) + " MiB");
    await browser.close();
})();
