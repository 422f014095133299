/*
 * scope-check.cjs - the flame scope in a real browser: node scope-check.cjs CHROMIUM PAGE.html
 *
 * The page is that of tests/data/perf/demo.data. Ranges are chosen by mouse, keyboard and numbers;
 * two of them; the state is in the address; the search paints. Prints TAP lines without a plan. Fails
 * on script errors and on requests that leave the disk.
 */
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");
const [browserPath, file] = process.argv.slice(2), url = "file://" + path.resolve(file);
let failed = 0;

function ok(good, name, more) {
    if (!good) failed++;
    console.log((good ? "ok - " : "not ok - ") + "browser: " + name);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more).slice(0, 600));
}

(async () => {
    const browser = await chromium.launch({ executablePath: browserPath,
        args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const trouble = [];
    page.on("pageerror", e => trouble.push(e.message));
    page.on("console", m => trouble.push(m.text()));
    page.on("dialog", d => { trouble.push(d.message()); d.dismiss(); });
    page.on("request", r => { if (!r.url().startsWith("file:")) trouble.push(r.url()); });
    const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === "1");
    const shot = async name => {
        if (process.env.HTML_SHOTS)
            await page.screenshot({ path: path.join(process.env.HTML_SHOTS, name + ".png") });
    };
    const sum = () => page.evaluate("[FM.model.sum, FM.model.sumBefore, FM.model.caption]");
    const hash = async () => Object.fromEntries((await page.evaluate("location.hash")).slice(1)
        .split("&").filter(s => s !== "").map(s => s.split("=").map(decodeURIComponent)));
    const field = label => page.getByLabel(label, { exact: true });

    await page.goto(url + "#view=scope");
    await ready();
    await shot("scope");
    const [all] = await sum();
    ok(all > 0 && (await sum())[2] === null, "the whole profile at first", await sum());
    const heat = await page.locator(".fm-heat-scroller").boundingBox();
    const at = (x, y) => page.mouse.move(heat.x + x, heat.y + y);

    /* by mouse: drag */
    await at(150, 100);
    await page.mouse.down();
    await at(190, 60);
    await page.mouse.up();
    let state = await hash(), [part, , caption] = await sum();
    ok(part > 0 && part < all && Number(state.from) < Number(state.to), "a drag chooses a range",
        [part, all, state]);
    ok(caption !== null && caption.startsWith(state.from + " – "), "which is said", caption);
    await shot("scope-range");
    await page.reload();
    await ready();
    ok((await sum())[0] === part, "and restored from the address", await sum());
    await page.getByRole("tab", { name: "Top functions" }).click();
    ok((await sum())[0] === part, "other views show the range", await sum());
    await page.getByRole("tab", { name: "Flame scope" }).click();

    /* whole again; two clicks */
    await page.getByRole("button", { name: "Whole profile" }).click();
    let address = await hash();
    ok((await sum())[0] === all && address.from === undefined, "the whole profile again", address);
    await at(150, 100);
    await page.mouse.down();
    await page.mouse.up();
    ok((await sum())[0] === all, "a click begins a range");
    await at(190, 60);
    await page.mouse.down();
    await page.mouse.up();
    address = await hash();
    ok((await sum())[0] === part && address.from === state.from, "a second one ends it", address);

    /* the second range: a differential */
    await page.getByRole("button", { name: "Compare" }).click();
    await field("from").fill(String(Number(state.to)));
    await field("to").fill(String(Number(state.to) + 0.05));
    await field("to").press("Enter");
    let [now, before, said] = await sum();
    address = await hash();
    ok(address.vs === state.from && address.vt === state.to && now > 0 && before > 0 &&
        / against /.test(said), "a second range is compared with the first",
    [address, now, before, said]);
    await shot("scope-compare");

    /* by keyboard */
    await page.keyboard.press("Escape");
    await page.locator(".fm-heat-scroller").focus();
    await page.keyboard.press("Escape");
    ok((await sum())[0] === all, "Escape shows the whole profile", await sum());
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    address = await hash();
    ok((await sum())[0] === all && address.from !== undefined, "from the first cell to the last: all",
        [await sum(), address]);
    await page.keyboard.press("Home");
    for (let k = 0; k < 3; k++) await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Enter");
    ok((await sum())[0] < all, "Shift with arrows extends a range", await sum());

    /* numbers: a bad one is marked, nothing moves */
    const was = (await sum())[0];
    await field("from").fill("x");
    await field("from").press("Enter");
    ok((await sum())[0] === was && await field("from").evaluate(n => n.classList.contains("fm-wrong")),
        "what is no time is marked");
    await page.getByRole("button", { name: "Whole profile" }).click();

    /* settings of the map, in the address */
    await page.getByLabel("cells in a column").selectOption("60");
    await page.getByLabel("length of a column").selectOption(String(1e8));
    await page.getByLabel("what a cell counts").selectOption("weight");
    await page.getByLabel("how colours grow").selectOption("log");
    await page.getByLabel("lanes").selectOption("thread");
    state = await hash();
    ok(state.sub === "60" && state.col === "100000000" && state.val === "weight" &&
        state.how === "log" && state.by === "thread", "rows, columns, values, colours and lanes", state);
    await shot("scope-lanes");
    await page.getByLabel("search functions by regular expression").fill("draw");
    await page.waitForTimeout(300);
    await shot("scope-search");
    const painted = await page.evaluate(() => {
        const c = document.querySelector(".fm-heat canvas"), g = c.getContext("2d");
        const d = g.getImageData(0, 0, c.width, c.height).data;
        let n = 0;
        for (let i = 0; i < d.length; i += 4) n += d[i] > 150 && d[i + 1] < 110 && d[i + 2] > 190;
        return n;
    });
    ok(painted > 20, "a search paints the cells of what it finds", painted);
    await page.reload();
    await ready();
    ok(await page.getByLabel("cells in a column").inputValue() === "60" &&
        await page.getByLabel("lanes").inputValue() === "thread", "the address has the settings");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForTimeout(100);
    await shot("scope-dark");
    await page.setViewportSize({ width: 700, height: 500 });
    await page.waitForTimeout(100);
    ok(trouble.length === 0, "no errors, dialogs or requests", trouble);
    await browser.close();
    process.exit(failed ? 1 : 0);
})().catch(e => {
    console.log("not ok - browser: " + e.message.split("\n")[0]);
    process.exit(1);
});
