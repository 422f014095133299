/*
 * html-check.cjs - the HTML report in a browser: node html-check.cjs DIR CHROMIUM [SHOTS]
 *
 * DIR holds what html.test made: names.html (tests/data/folded/names.folded), hostile.html,
 * demo.html (a perf recording with symbols), recursion.html, difference.html, empty.html. Prints
 * TAP lines without a plan. Fails on script errors, dialogs, and anything that is fetched. SHOTS: a
 * folder for pictures to look at.
 */
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");

const [dir, executablePath, shots] = process.argv.slice(2);
let failed = 0;

function ok(good, name, more) {
    if (!good) failed++;
    console.log((good ? "ok - " : "not ok - ") + name);
    if (!good && more !== undefined) console.log("# " + JSON.stringify(more).slice(0, 800));
}

(async () => {
    const browser = await chromium.launch({
        executablePath,
        args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-gpu",
            "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    });
    const trouble = [], refused = [];
    const url = name => "file://" + path.resolve(dir, name + ".html");
    let page = null;

    async function fresh(options) {
        page = await browser.newPage(Object.assign({ viewport: { width: 1280, height: 760 } },
            options));
        page.on("pageerror", e => trouble.push("error " + e.message));
        page.on("console", m => {
            if (m.type() === "error" || m.type() === "warning") trouble.push(m.text());
        });
        page.on("dialog", d => {
            trouble.push("dialog " + d.message());
            d.dismiss();
        });
        page.on("requestfailed", r => refused.push(r.url() + " " + r.failure().errorText));
        page.on("request", r => {
            if (!r.url().startsWith(url("").slice(0, -5))) trouble.push("fetched " + r.url());
        });
    }

    async function open(name, fragment) {
        await page.goto("about:blank");
        await page.goto(url(name) + (fragment || ""));
        await page.waitForSelector("html[data-ready]");
    }

    const settle = () => page.evaluate(() => new Promise(done => setTimeout(() =>
        requestAnimationFrame(() => requestAnimationFrame(done)), 260)));
    const href = () => page.evaluate(() => location.href);
    const text = selector => page.textContent(selector);
    const shot = async name => {
        if (shots) await page.screenshot({ path: path.join(shots, name + ".png") });
    };
    /* The middle of the box of a name on the canvas of the flame view. */
    const box = name => page.evaluate(n => {
        const m = FM.model, down = FM.state.get("down") === "1", k = m.names.indexOf(n);
        const s = document.querySelector("#fm-view-flame .fm-scroller");
        const b = s.getBoundingClientRect();
        const z = Number(FM.state.get("zoom") || 0), lo = m.pre[z], hi = m.pre[m.end[z]];
        let i = 0;
        while (i < m.n && m.name[i] !== k) i++;
        const room = s.firstChild.offsetHeight, row = 19;
        const y = down ? (m.depth[i] + 0.5) * row : room - (m.depth[i] + 0.5) * row;
        return { x: b.left + ((m.pre[i] + m.pre[m.end[i]]) / 2 - lo) / (hi - lo) * b.width,
            y: b.top + y - s.scrollTop, i };
    }, name);
    const click = async name => {
        const at = await box(name);
        await page.mouse.click(at.x, at.y);
        await settle();
        return at.i;
    };

    await fresh();
    await open("names");
    ok((await text("h1")).startsWith("names.folded"), "a title", await text("h1"));
    ok(await page.evaluate(() => document.title) === await text("h1"), "the same on the tab");
    ok((await text(".fm-titles p")).includes("27 samples"), "the sum", await text(".fm-titles p"));
    ok(await page.evaluate(() => window.__pwn) === undefined, "no name ran as script");
    await settle();
    await shot("names");

    /* flame graph */
    const zoomed = await click("été");
    ok((await href()).endsWith("#zoom=" + zoomed), "a click zooms, and the fragment says so",
        (await href()));
    ok((await page.locator(".fm-crumb").allTextContents()).join(" > ") === "all > main > été",
        "crumbs", await page.locator(".fm-crumb").allTextContents());
    const at = await box("😀");
    await page.mouse.move(at.x, at.y);
    ok(/😀.*7 samples.*25\.9% of all.*100% of view/.test(await text(".fm-tip")),
        "the box at the pointer tells of all and of view", await text(".fm-tip"));
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    ok((await page.locator(".fm-crumb").count()) === 3, "a fragment is followed on opening");
    await page.goBack();
    await settle();
    ok(await page.locator(".fm-crumb").count() === 0, "and back");
    await page.goForward();
    await settle();
    ok(await page.locator(".fm-crumb").count() === 3, "and forward");
    await page.click("text=Reset zoom");
    ok(!(await href()).includes("zoom"), "reset");
    await page.keyboard.press("i");
    ok((await href()).includes("down=1") &&
        await page.getAttribute("text=Icicle", "aria-pressed") === "true", "icicle by key");
    await settle();
    const lower = await click("été");
    ok((await href()).includes("zoom=" + lower), "a click hits in the icicle, too", await href());
    await page.keyboard.press("0");
    await page.keyboard.press("i");

    await page.keyboard.press("r");
    ok(await page.evaluate(() => FM.range().tree.children(0).length) === 6 &&
        (await href()).includes("reverse=1"), "reversed, leaves stand on the root");
    await page.keyboard.press("r");

    /* keyboard */
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    ok((await text(".fm-details b")).length > 0 && (await text(".fm-details b")) !== "main",
        "arrows walk", await text(".fm-details b"));
    await page.keyboard.press("Enter");
    await settle();
    ok(await page.locator(".fm-crumb").count() === 3, "Enter zooms");
    await page.keyboard.press("Backspace");
    await settle();
    ok(await page.locator(".fm-crumb").count() === 2, "Backspace goes out by one");
    await page.keyboard.press("Escape");
    ok(await page.locator(".fm-crumb").count() === 0, "Escape resets");

    /* search */
    await page.keyboard.press("/");
    await page.keyboard.type("^JAVA");
    await page.keyboard.press("Enter");
    ok(/Matched 7\.41%.*1 function$/.test(await text(".fm-found")), "search ignores case",
        await text(".fm-found"));
    ok((await href()).includes("q=%5EJAVA"), "the fragment holds the search", await href());
    await page.click("text=Aa");
    ok(await text(".fm-found") === "No match", "or minds it", await text(".fm-found"));
    await page.fill(".fm-search", "main|été|😀");
    await page.keyboard.press("Enter");
    ok(/^Matched 100% in 3 functions/.test(await text(".fm-found")), "nested matches count once",
        await text(".fm-found"));
    await page.fill(".fm-search", "été|javascript");
    await page.focus(".fm-search");
    await page.keyboard.press("Enter");
    ok(await text(".fm-step") === "1/2", "the first match", await text(".fm-step"));
    const first = await text(".fm-details b");
    await page.keyboard.press("Enter");
    ok(await text(".fm-step") === "2/2" && await text(".fm-details b") !== first, "the next");
    await page.keyboard.press("Shift+Enter");
    ok(await text(".fm-step") === "1/2" && await text(".fm-details b") === first, "the one before");
    await page.fill(".fm-search", "(");
    await page.keyboard.press("Enter");
    ok(/not a regular/.test(await text(".fm-found")), "a bad expression is said to be one");
    await page.keyboard.press("Escape");
    ok(await text(".fm-found") === "", "search is cleared");
    await open("names", "#q=main&zoom=" + zoomed);
    ok(/Matched 100% of view, 100% of all/.test(await text(".fm-found")),
        "what is under a match matches", await text(".fm-found"));

    /* functions */
    await open("names", "#view=top");
    const rows = () => page.$$eval(".fm-view:not([hidden]) .fm-row", list => list.map(r =>
        r.innerText.split("\n").map(s => s.trim()).filter(s => s)));
    let list = await rows();
    ok(list[0].join("|") === "7 samples|25.9%|7 samples|25.9%|😀", "functions by self weight",
        list[0]);
    await page.click("button.fm-col:has-text('Total')");
    list = await rows();
    ok(list[0].join("|") === "0 samples|0%|27 samples|100%|main", "by total", list[0]);
    await page.click("button.fm-col:has-text('Function')");
    await page.click("button.fm-col:has-text('Function')");
    ok((await page.getAttribute("button.fm-col:has-text('Function')", "aria-sort")) ===
        "descending" && (await href()).includes("sort=name"), "by name, downwards", await href());
    await page.fill(".fm-search", "é");
    await page.keyboard.press("Enter");
    list = await rows();
    ok(list.length === 1 && list[0].includes("été"), "a search leaves what matches", list);
    await page.keyboard.press("Escape");
    await shot("names-top");

    /* tree */
    await open("names", "#view=tree");
    list = await rows();
    ok(list[0].includes("all") && list[1].includes("main") && list.length > 3,
        "the tree opens", list);
    const open0 = list.length;
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    ok((await rows()).length > open0, "a key opens a row", await rows());
    await page.keyboard.press("ArrowLeft");
    ok((await rows()).length === open0, "and closes it");
    await page.keyboard.press("b");
    list = await rows();
    ok(list[0].includes("😀") && (await href()).includes("callers=1"), "bottom up", list[0]);
    await page.keyboard.press("ArrowRight");
    list = await rows();
    ok(list[1].includes("中文") && list[3].includes("main"), "to the callers", list.slice(0, 4));

    /* sandwich */
    await open("recursion");
    await page.evaluate(() => FM.openSandwich(FM.model.names.indexOf("f")));
    await settle();
    ok(/fn=\d+&view=sandwich$/.test(await href()), "a sandwich has its address", await href());
    ok((await text(".fm-middle")).includes("total 6 samples · 60.0%") &&
        (await text(".fm-middle")).includes("self 5 samples · 50.0%"),
        "recursion counts once", await text(".fm-middle"));
    await shot("recursion-sandwich");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    ok((await text(".fm-middle .fm-name")) !== "f", "another by key", await text(".fm-middle"));

    /* differential */
    await open("difference");
    await settle();
    ok((await text(".fm-legend")).includes("new"), "a differential has its legend");
    const f = await box("f");
    await page.mouse.move(f.x, f.y);
    ok(/before5 samples.*change\+1 sample \(\+20%\)/.test(await text(".fm-tip")),
        "and tells what changed", await text(".fm-tip"));
    await shot("difference");
    await page.click("text=As before");
    await settle();
    ok((await href()).includes("before=1") && (await text(".fm-legend")).includes("gone"),
        "or what is gone");
    await shot("difference-before");
    await page.click("#fm-tab-top");
    list = await rows();
    ok(list.some(r => r.includes("x") && r.includes("gone")) &&
        list.some(r => r.includes("h") && r.includes("new")), "in the table, too", list);
    await shot("difference-top");

    /* nothing */
    await open("empty");
    for (const view of ["flame", "top", "tree", "sandwich"]) {
        await page.click("#fm-tab-" + view);
        for (const key of ["ArrowUp", "ArrowDown", "Enter", "n", "b", "r", "o", "i", "Escape"])
            await page.keyboard.press(key);
        await settle();
        await shot("empty-" + view);
    }
    ok((await text(".fm-titles p")).startsWith("0 ns"), "a profile of nothing opens");

    /* about, theme */
    await open("demo");
    await page.keyboard.press("?");
    const about = await text("dialog[open]");
    ok(/267 samples in = 267 kept \+ 0 dropped/.test(about) && /cpu-clock/.test(about),
        "the account", about.slice(0, 300));
    await page.keyboard.press("Escape");
    ok(await page.locator("dialog[open]").count() === 0, "Escape closes it");
    const theme = () => page.evaluate(() => [document.documentElement.dataset.theme,
        getComputedStyle(document.body).backgroundColor].join());
    const light = await theme();
    await page.keyboard.press("d");
    ok((await theme()).startsWith("dark") && await theme() !== light, "dark by key", await theme());
    await page.keyboard.press("d");
    for (const view of ["flame", "top", "tree", "sandwich"]) {
        await page.click("#fm-tab-" + view);
        await settle();
        ok(await page.isVisible("#fm-view-" + view), "view " + view);
        await shot("demo-" + view);
    }
    const inked = await page.evaluate(() => {
        FM.open("flame");
        const c = document.querySelector("#fm-view-flame canvas"), seen = new Set();
        const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        for (let i = 0; i < d.length; i += 4 * 97) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
        return seen.size;
    });
    ok(inked > 4, "something is drawn", inked);

    /* hostile names, and the policy */
    await open("hostile");
    for (const view of ["flame", "top", "tree", "sandwich"]) {
        await page.click("#fm-tab-" + view);
        await settle();
        await shot("hostile-" + view);
    }
    await page.keyboard.press("?");
    const built = await page.evaluate(() => [document.querySelectorAll("script").length,
        document.querySelectorAll("img,iframe,b.pwn,svg").length, window.__pwn]);
    ok(built[0] === 1 && built[1] === 0 && built[2] === null || built[2] === undefined,
        "hostile names make no elements and run nothing", built);
    const names = await page.evaluate(() => FM.model.names);
    for (const want of ["</script><script>window.__pwn=1</script>", "<!--<script>",
        "a\u2028b\u2029c", "bad\ufffdbytes\ufffd\ufffd\ufffd", "esc\u001b[31m",
        "back\\slash\\3c", "\u202eright-to-left",
        "constructor", "__proto__", "😀"])
        ok(names.includes(want), "kept: " + JSON.stringify(want), names.filter(n => n.length < 99));
    ok(names.some(n => n === "x".repeat(10000)), "a name of 10,000 characters");
    ok(trouble.length === 0, "no errors, dialogs or requests", trouble);
    const blocked = trouble.length;
    const ran = await page.evaluate(() => {
        const s = document.createElement("script");
        s.textContent = "window.__pwn = 9";
        document.body.append(s);
        const i = document.createElement("img");
        i.setAttribute("onerror", "window.__pwn = 8");
        i.src = "http://127.0.0.1:9/x.png";
        document.body.append(i);
        return new Promise(done => setTimeout(() => done(window.__pwn), 300));
    });
    ok(ran === undefined || ran === null, "the policy blocks an injected script and a handler",
        ran);
    ok(trouble.length > blocked && refused.some(r => /x\.png csp$/.test(r)),
        "and a fetch", refused);
    trouble.length = 0;
    await page.close();

    /* without script: a table */
    await fresh({ javaScriptEnabled: false });
    await page.goto(url("recursion"));
    await page.waitForSelector("#fm-plain td", { state: "visible" });
    const plain = (await page.innerText("#fm-plain")).split("\n").map(s => s.replace(/\s+/g, " "));
    ok(plain.includes("5 50.00% 6 60.00% f") && plain.includes("5 50.00% 5 50.00% g"),
        "without script, the functions of most weight", plain);
    await page.goto(url("hostile"));
    await page.waitForSelector("#fm-plain td", { state: "visible" });
    await shot("hostile-plain");
    ok((await page.innerText("#fm-plain")).includes("</script><script>window.__pwn=1</script>") &&
        await page.locator("#fm-plain script, #fm-plain img").count() === 0, "and hostile names");
    await page.close();

    /* dark by the viewer's setting; a sandboxed frame, where neither address nor storage work */
    await fresh({ colorScheme: "dark", reducedMotion: "reduce" });
    await open("names", "#view=top");
    ok((await theme()).startsWith("dark"), "dark where the viewer's system is");
    const html = require("fs").readFileSync(path.resolve(dir, "names.html"), "utf8");
    await page.goto("about:blank");
    await page.evaluate(h => {
        const f = document.createElement("iframe");
        f.setAttribute("sandbox", "allow-scripts");
        f.style.width = "900px";
        f.style.height = "500px";
        f.srcdoc = h;
        document.body.append(f);
    }, html);
    const frame = await (await page.waitForSelector("iframe")).contentFrame();
    await frame.waitForSelector("html[data-ready]");
    await frame.click("#fm-tab-tree");
    await frame.click("[aria-label='light or dark']");
    ok(await frame.isVisible("#fm-view-tree"), "works in a sandboxed frame");
    ok(trouble.length === 0, "without errors", trouble);
    await browser.close();
    process.exit(failed ? 1 : 0);
})().catch(e => {
    console.log("not ok - the browser: " + e.message.split("\n")[0]);
    console.log("# " + String(e.stack).split("\n").slice(0, 6).join(" | "));
    process.exit(1);
});
