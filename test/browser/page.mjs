// SPDX-License-Identifier: Apache-2.0
// page.mjs URL FUNCTION SCREENSHOT: looks at the page as a person would, in Chromium. Prints TAP.
import { check, end, look } from "./look.mjs";

const [url, hot, screenshot] = process.argv.slice(2);
const looking = await look(url), { browser, page, query, text, drawn } = looking;

await page.goto(url + "/?live=");
await drawn();
check("shows a flame graph", (await page.evaluate(() => document.getElementById("flame").height)) > 40);
await page.screenshot({ path: screenshot });

await page.keyboard.press("/");
await page.keyboard.type(hot);
await page.waitForFunction(() => document.getElementById("matched").textContent);
const matched = parseFloat(await text("#matched"));
check("finds the hot function", matched > 1, matched);
check("keeps the search in the address", query().get("search") === hot, page.url());

const box = await page.locator("#flame").boundingBox();
await page.mouse.move(box.x + 200, box.y + 30);
check("says what is under the mouse", / % total, .* % self/.test(await text("#details")), await text("#details"));
await page.mouse.click(box.x + 200, box.y + 30);
await page.waitForFunction(() => location.search.includes("path="));
check("zooms by a click", !(await page.locator("#reset").isHidden()));
await page.goBack();
check("goes back", !query().get("path"), page.url());

await page.selectOption("#group", "process");
await page.waitForFunction(() => document.getElementById("legend").textContent.includes("label"));
check("groups by process", query().get("group") === "process", page.url());

await page.click("[data-view=top]");
await page.waitForSelector("#top-rows tbody tr");
check("lists functions", (await page.locator("#top-rows tbody tr").count()) > 3);
await page.fill("#part", hot);
await page.waitForFunction(name => [...document.querySelectorAll("#top-rows td.name")].every(cell => cell.textContent.includes(name)), hot);
await page.locator("#top-rows td.name button", { hasText: hot }).first().click();
await page.waitForFunction(() => document.getElementById("callers").height > 40);
check("shows callers and callees", query().get("function") === hot, page.url());

await page.click("[data-view=diff]");
await page.waitForFunction(() => document.getElementById("diff").height > 40);
check("compares two ranges", true);
await page.click("[data-view=heat]");
await page.waitForFunction(() => document.getElementById("heat").width > 300);
check("draws a heat map", true);
await page.click("[data-view=status]");
await page.waitForSelector("#status-view .card");
check("tells how the store is", /Reaches back/.test(await text("#status-view")));

await page.click("[data-view=flame]");
const chart = await page.locator("#chart").boundingBox();
await page.mouse.move(chart.x + chart.width * 0.6, chart.y + 30);
await page.mouse.down();
await page.mouse.move(chart.x + chart.width * 0.999, chart.y + 30, { steps: 5 });
await page.mouse.up();
await page.waitForFunction(() => /from=\d+\.\d+/.test(location.search));
check("takes a range from the chart", Number(query().get("to")) > Number(query().get("from")), page.url());

const shared = await browser.newPage();
await shared.goto(page.url());
await shared.waitForFunction(() => document.getElementById("chips"));
check("shows the same to whoever has the address", (await shared.inputValue("#search")) === hot);

await page.setViewportSize({ width: 390, height: 800 });
check("fits a phone", await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
      await page.evaluate(() => document.documentElement.scrollWidth));
await end(looking);
