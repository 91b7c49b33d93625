// SPDX-License-Identifier: Apache-2.0
// page.mjs URL FUNCTION DIRECTORY FILE: looks at the page as a person would, in Chromium. FUNCTION is hot in the program FILE. Prints TAP; leaves screenshots.
import { check, end, look } from "./look.mjs";
import { contrast, palette } from "./contrast.mjs";

const [url, hot, pictures, file] = process.argv.slice(2);
const looking = await look(url, { permissions: ["clipboard-read", "clipboard-write"] });
const { page, errors, query, text, drawn } = looking;

const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const shoot = name => page.screenshot({ path: `${pictures}/page-${name}.png` });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
// The share that a search finds, when the exact number is there.
async function matched() {
  await settled();
  await until(() => /^[\d.]+ % matched/.test(document.getElementById("matched")?.textContent));
  return parseFloat(await text("#matched"));
}
async function search(words) {
  await page.fill("#search", "");
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type(words);
  return matched();
}
const chips = async () => (await page.locator("#chips .chip").allTextContents()).join(" ");

// ---- The first picture, search, zoom

await page.goto(url + "/?live=");
await drawn();
check("shows a flame graph", (await page.evaluate(() => document.getElementById("flame")?.height)) > 100);
check("says nothing where nothing is wrong", (await text("#message")) === "", await text("#message"));
await shoot("flame");

const share = await search(hot);
check("finds the hot function", share > 1, share);
check("keeps the search in the address", query().get("search") === hot, page.url());
await page.keyboard.press("Enter");
await until(() => / of /.test(document.getElementById("matched")?.textContent));
check("goes to the next match", /^1 of \d+.* drawn/.test(await text("#matched")), await text("#matched"));
check("says all of a frame", /total.*self.*kind.*native.*file/s.test(await text("#tip")) && (await text("#tip")).includes(hot), await text("#tip"));
await shoot("search");
await page.keyboard.press("Escape");
await page.keyboard.press("n");
await page.keyboard.press("N");
check("goes back to the one before", /^1 of \d+.* drawn/.test(await text("#matched")), await text("#matched"));

await page.fill("#search", "");
const box = await page.locator("#flame").boundingBox();
await page.mouse.move(box.x + 200, box.y + 30);
await until(() => / % total, .* % self/.test(document.getElementById("details")?.textContent));
check("says what is under the mouse", true);
await page.mouse.click(box.x + 200, box.y + 30);
await until(() => location.search.includes("path="));
check("zooms by a click", (await page.locator("#crumbs li").count()) > 1);
check("says where one is in the whole", await page.locator("#map").isVisible());
await page.goBack();
await until(() => !location.search.includes("path="));
check("goes back", (await page.locator("#crumbs li").count()) === 0);

await page.mouse.move(box.x + 400, box.y + 30);
await page.keyboard.down("Control");
await page.mouse.wheel(0, -400);
await page.keyboard.up("Control");
await until(() => !document.getElementById("map").hidden);
check("zooms by the wheel", true);
await page.mouse.dblclick(box.x + 400, box.y + 10);
await until(() => document.getElementById("map").hidden);
check("shows all again by a double click", true);

// ---- Keys

await page.keyboard.press("g");
await page.keyboard.press("ArrowDown");
const first = await text("#details");
await page.keyboard.press("ArrowDown");
check("moves by keys", first !== await text("#details") && / % total/.test(first), first);
await page.keyboard.press("Enter");
await until(() => location.search.includes("path="));
await page.keyboard.press("Escape");
await page.keyboard.press("Escape");
await until(() => !location.search.includes("path="));
check("zooms in and out by keys", true);
await page.keyboard.press("?");
check("helps", await page.locator("#keys").isVisible());
await until(() => /next, previous match/.test(document.getElementById("tab-keys").textContent));
await page.keyboard.press("Escape");

// ---- Less of it

await search(hot);
const total = await page.evaluate(async name => (await (await fetch("/api/v1/search?text=" + name)).json()).total, hot);
await page.click("#keep");
await until(() => /only/.test(document.getElementById("chips")?.textContent));
const focused = await matched();
check("shows only stacks with a function", focused === 100 && query().getAll("focus")[0] === hot, focused);
await page.click("#chips button");
await until(() => !/only/.test(document.getElementById("chips")?.textContent));
const back = await matched();       // of what runs by now, beside the browser itself
check("takes that back", back > 0 && back < 95 && total > 0, [await text("#matched"), share]);

// A function is that of its file: others of the same name stay.
const own = await search(`file=${file} /${hot}/`);
await page.keyboard.press("Escape");
await page.keyboard.press("n");
await page.keyboard.press("m");
check("has a menu for a frame", (await text("#menu")).includes("Callers and callees"), await text("#menu"));
await shoot("menu");
await page.click("#menu button:has-text('Without stacks')");
await until(() => /without/.test(document.getElementById("chips")?.textContent));
const without = await matched();
check("shows stacks without a function", own > 0 && without < own / 2, [without, own]);
await page.goBack();
await until(() => !/without/.test(document.getElementById("chips")?.textContent));
await matched();
await page.keyboard.press("g");
await page.keyboard.press("n");
await page.keyboard.press("h");
await until(() => /hidden/.test(document.getElementById("chips")?.textContent));
check("hides a function", await matched() < own / 2, [await text("#matched"), own]);
await shoot("chips");
await page.click("#chips button");
await settled();
await page.click("#legend button:has-text('kernel')");
await until(() => location.search.includes("focus=kind"));
check("filters by a colour", /only\s*kind=kernel/.test(await chips()), await chips());
await page.click("#chips button");
await page.check("#collapse");
await until(() => location.search.includes("collapse=1"));
await drawn();
check("collapses recursion", true);
await page.uncheck("#collapse");
for (const by of ["file", "name", "kind"])
  await page.selectOption("#colour", by);
await page.uncheck("#icicle");
check("stands on its feet", query().get("icicle") === "", page.url());
await page.goBack();
await until(() => document.getElementById("icicle").checked);
check("goes back to how it was drawn", !query().has("icicle"), page.url());

await page.selectOption("#group", "process");
await until(() => document.getElementById("legend")?.textContent?.includes("label"));
check("groups by process", query().get("group") === "process", page.url());
await page.selectOption("#group", "");

// ---- The other views

await page.click("[data-view=top]");
await page.waitForSelector("#top-rows tbody tr[data-place]");
const rows = await page.locator("#top-rows tbody tr[data-place]").count(), count = parseInt((await text("#top-count")).replace(/\D/g, ""));
check("lists functions, as many rows as are seen", rows > 3 && rows < 100, rows);
// Of a range that ends now there may be more by then.
await until(() => {
  document.getElementById("top-rows").scrollTop = 1e9;
  const last = document.querySelector("#top-rows table").getAttribute("aria-rowcount") - 2;
  return document.querySelector(`#top-rows tr[data-place="${last}"] .name`);
});
check("lists them to the last", count > 100, count);
await shoot("top");
await page.click("#top-rows th button:has-text('total')");
await until(() => document.querySelector("#top-rows th[aria-sort=descending]")?.textContent === "total");
check("sorts them", query().get("order") === "total", page.url());
await page.fill("#part", hot);
await until(name => {
  const cells = [...document.querySelectorAll("#top-rows td.name")];
  return cells.length && cells.every(cell => cell.textContent.includes(name));
}, hot);
await page.locator("#top-rows td.name button", { hasText: hot }).first().click();
await until(() => document.getElementById("callers")?.height > 30 && document.getElementById("callees")?.height > 30);
check("shows callers and callees", query().get("function") === hot, page.url());
await shoot("sandwich");

await page.click("[data-view=diff]");
await until(() => document.getElementById("diff")?.height > 40 && document.getElementById("diff-note")?.textContent);
check("compares two ranges", true);
await shoot("diff");
await page.click("[data-view=heat]");
await until(() => document.getElementById("heat")?.width > 300 && /at most/.test(document.getElementById("heat-note")?.textContent));
check("draws a heat map", true);
await shoot("heat");
await page.click("[data-view=executables]");
await page.waitForSelector("#executable-rows tbody tr");
check("lists executables", true);
await page.click("[data-view=status]");
await page.waitForSelector("#status-view .card");
check("tells how the store is", /Every sample, from/.test(await text("#status-view")));
await page.keyboard.press("/");
check("searches from any tab", !query().has("view") && (await page.evaluate(() => document.activeElement.id)) === "search", page.url());
const fresh = await looking.open();
await fresh.goto(url + "/?view=top&live=&part=" + hot);
await fresh.waitForSelector("#top-rows tbody tr[data-place]");
await fresh.keyboard.press("/");
await fresh.waitForFunction(() => document.activeElement.id === "search");
check("keeps what another tab was told", new URL(fresh.url()).searchParams.get("part") === hot, fresh.url());
await fresh.goto(url + "/?view=nothing&live=");
await fresh.waitForFunction(() => document.getElementById("legend")?.textContent.includes("native"));
check("shows the first tab for one that it does not know", true);
await fresh.close();

// ---- A range, its address, a file of it

await page.click("[data-view=flame]");
const chart = await page.locator("#chart").boundingBox();
await page.mouse.move(chart.x + chart.width * 0.6, chart.y + 30);
await page.mouse.down();
// As long ago as windows take to come, 10 s, and not as long as wick runs by now.
await page.mouse.move(chart.x + chart.width * 0.965, chart.y + 30, { steps: 5 });
await page.mouse.up();
await until(() => /from=\d+\.\d+/.test(location.search));
check("takes a range from the chart", Number(query().get("to")) > Number(query().get("from")), page.url());
// All of it has come when something later has: windows come in their order, on a slow machine late.
for (let tries = 0; tries < 400 && !(await (await fetch(`${url}/api/v1/values?label=pid&from=${Number(query().get("to")) + 1}`)).json()).length; tries++)
  await page.waitForTimeout(100);
await page.reload();
await matched();

const shared = await looking.open();
await shared.goto(page.url());
await shared.waitForFunction(() => /^[\d.]+ % matched/.test(document.getElementById("matched")?.textContent));
check("shows the same to whoever has the address", (await shared.textContent("#matched")) === await text("#matched"),
      [await shared.textContent("#matched"), await text("#matched")]);
await shared.close();

const [download] = await Promise.all([page.waitForEvent("download"), page.selectOption("#export", "pprof")]);
await download.saveAs(`${pictures}/page-export.pb.gz`);
check("exports", (await download.failure()) === null);

await page.goto(url + "/?from=1000&to=2000");
await page.waitForSelector("#empty button");
check("says that a range is empty, and what to do", /Last hour/.test(await text("#empty")), await text("#empty"));
await page.fill("#filter", "hots=1");
await page.press("#filter", "Enter");
await until(() => /no such label/.test(document.getElementById("message")?.textContent));
check("says what is wrong with a filter", true);
await page.goto("about:blank");    // no more answers come
errors.splice(0, errors.length, ...errors.filter(error => !/400/.test(error)));

// ---- Live, by events

const events = [];
page.on("request", request => /api\/v1\/(events|generation)/.test(request.url()) && events.push(request.url()));
const refreshed = page.waitForResponse(response => response.url().includes("/api/v1/flame") && response.ok());
await page.goto(url + "/?view=flame");
await refreshed;
await page.waitForResponse(response => response.url().includes("/api/v1/flame") && response.ok(), { timeout: 60000 });
check("follows what comes, told by events", events.length > 0 && events.every(address => address.endsWith("/events")), events);

// ---- For everybody

for (const theme of ["light", "dark"]) {
  const found = contrast(await page.evaluate(palette, theme));
  check(`has enough contrast, ${theme}`, found.every(({ ratio }) => ratio >= 4.5), found.filter(({ ratio }) => ratio < 4.5));
}
if (process.env.AXE) {
  for (const view of ["start", "flame", "top", "sandwich", "source", "executables", "heat", "sequence", "lanes", "diff", "traces", "logs", "status"]) {
    await page.goto(`${url}/?live=&view=${view}`);
    await settled();
    await page.evaluate((await import("node:fs")).readFileSync(process.env.AXE, "utf8"));
    const { violations } = await page.evaluate(() => axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
    check(`is accessible: ${view}`, violations.length === 0, violations.map(({ id, nodes }) => [id, nodes.map(node => node.html.slice(0, 120))]));
  }
} else {
  console.log("ok - page is accessible # SKIP axe-core cannot be installed");
}

const small = await looking.open({ viewport: { width: 390, height: 800 }, colorScheme: "dark", hasTouch: true, isMobile: true });
for (const view of ["start", "flame", "top", "sandwich", "source", "heat", "sequence", "diff", "status"]) {
  await small.goto(`${url}/?live=&view=${view}`);
  await small.waitForFunction(() => document.querySelector("main").getAttribute("aria-busy") === "false");
  const width = await small.evaluate(() => document.documentElement.scrollWidth);
  check(`fits a phone: ${view}`, width <= 390, width);
  await small.screenshot({ path: `${pictures}/page-phone-${view}.png` });
}
await small.goto(url + "/?live=");
await small.waitForFunction(() => document.getElementById("legend")?.textContent?.includes("native"));
await small.waitForFunction(() => document.querySelector("main").getAttribute("aria-busy") === "false");
// Where it is once nothing moves any more.
let canvas = null, moved = null;
do {
  canvas = moved;
  await small.waitForTimeout(300);
  moved = await small.locator("#flame").boundingBox();
} while (canvas?.y !== moved.y);
await small.touchscreen.tap(canvas.x + 100, canvas.y + 30);
await small.waitForFunction(() => / % total/.test(document.getElementById("details").textContent));
check("says what a finger is at", !small.url().includes("path=") && await small.locator("#tip").isVisible());
await small.touchscreen.tap(canvas.x + 100, canvas.y + 30);
await small.waitForFunction(() => location.search.includes("path="));
check("zooms by a finger that comes again", true);
check("is dark for who likes it dark", (await small.evaluate(() => getComputedStyle(document.body).backgroundColor)) === "rgb(22, 23, 26)");

await end(looking);
