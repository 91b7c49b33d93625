// SPDX-License-Identifier: Apache-2.0
// hand.mjs URL FUNCTION SCREENSHOTS: the page while new data comes each second, and somebody points, chooses, zooms and types. What
// the hand is at stays. FUNCTION is hot. Prints TAP.
import os from "node:os";
import { check, end, foundPixels, look } from "./look.mjs";

const [url, hot, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text, drawn } = looking;
// What answers cost wick makes a page ask less often; here it is to ask as often as it may.
await page.addInitScript(() => {
  const { get } = Headers.prototype;
  Headers.prototype.get = function(name) {
    return name === "server-timing" ? null : get.call(this, name);
  };
});
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const focused = () => page.evaluate(() => document.activeElement.closest("tr")?.dataset.key ?? document.activeElement.id ?? document.activeElement.tagName);

// Others may send profiles of hosts of their own meanwhile.
const here = "host=" + os.hostname();

// Waits for so many refreshes of what a tab asks.
async function refreshes(name, count) {
  for (let i = 0; i < count; i++)
    await page.waitForResponse(response => response.url().includes("/api/v1/" + name) && response.status() < 400, { timeout: 60000 });
  await page.waitForTimeout(150);
}

// ---- A tooltip, and the frame that it is about

await page.goto(`${url}/?from=now-1m&${here}`);
await drawn();
const box = await page.locator("#flame").boundingBox();
await page.mouse.move(box.x + box.width / 2, box.y + 10);
await until(() => !document.getElementById("tip").hidden);
const title = await text("#tip b"), seen = [];
const end_at = Date.now() + 3500;
while (Date.now() < end_at) {
  seen.push(await page.evaluate(() => document.getElementById("tip").hidden ? "" : document.querySelector("#tip b").textContent));
  await page.waitForTimeout(50);
}
check("keeps a tooltip while the mouse rests", seen.every(name => name === title), [...new Set(seen)]);
check("keeps what it says below", (await text("#details")).trim().startsWith(title), await text("#details"));
const before = await text("#tip dl");
await refreshes("flame", 2);
check("tells new numbers in it", (await text("#tip dl")) !== before, before);

// ---- The frame that keys have chosen

await page.mouse.move(5, 5);
await page.fill("#search", hot);
await page.press("#search", "Enter");
await page.keyboard.press("Escape");
await until(name => document.getElementById("details").textContent.includes(name), hot);
await refreshes("flame", 3);
check("keeps the frame that was chosen", (await text("#details")).includes(hot), await text("#details"));
await page.keyboard.press("c");
await page.keyboard.press("ArrowUp");
const above = await text("#details");
check("moves on from there", / % total/.test(above) && !above.startsWith("all"), above);
await page.keyboard.press("ArrowDown");
check("and back", (await text("#details")).includes(hot), await text("#details"));

// ---- A window by the wheel

await page.fill("#search", "");
await page.keyboard.press("Escape");
await page.mouse.move(box.x + box.width / 2, box.y + 30);
await page.keyboard.down("Control");
await page.mouse.wheel(0, -300);
await page.keyboard.up("Control");
await until(() => !document.getElementById("map").hidden);
await page.mouse.move(5, 5);
await refreshes("flame", 3);
check("keeps a zoom by the wheel", !(await page.evaluate(() => document.getElementById("map").hidden)));
await page.screenshot({ path: screenshots + "/hand-wheel.png" });

// ---- A row of the table beside it

await page.goto(`${url}/?from=now-1m&beside=1&${here}`);
await page.waitForSelector("#beside-rows td.name button");
await page.locator("#beside-rows tr[data-key]").nth(1).hover();
const row = () => page.evaluate(() => document.querySelector("#beside-rows tr:hover")?.dataset.key);
const pointed = await row(), share = await page.evaluate(foundPixels, "flame");
await refreshes("flame", 3);
check("keeps the frames of a row lit", share > 0 && await page.evaluate(foundPixels, "flame") > 0 && await row(), [pointed, share, await row()]);
await page.mouse.move(5, 5);
check("and no longer than that", await page.evaluate(foundPixels, "flame") === 0);

// ---- Focus in tables

for (const [view, rows, answer] of [["top", "#top-rows td.name button", "top"], ["executables", "#executable-rows td.name button", "executables"]]) {
  await page.goto(`${url}/?view=${view}&from=now-1m&${here}`);
  await page.waitForSelector(rows);
  await page.locator(rows).nth(1).focus();
  const key = await focused();
  await refreshes(answer, 3);
  check(`keeps the focus in ${view}`, key && key !== "BODY" && await focused() === key, [key, await focused()]);
}
await page.goto(url + "/?view=logs");
await page.waitForSelector("#logs-view td button");
await page.locator("#logs-view td button").nth(2).focus();
const entry = await focused();
await refreshes("arrivals", 2);
check("keeps the focus in logs", entry && await focused() === entry, [entry, await focused()]);

// ---- Zooms of the other flame graphs are in the address

for (const [view, canvas, key] of [["diff", "#diff", "path"], ["sandwich", "#callers", "up"], ["sandwich", "#callees", "down"]]) {
  await page.goto(`${url}/?view=${view}&from=now-1m&${here}&function=${hot}`);
  await until(selector => document.querySelector(selector)?.height > 40, canvas);
  await page.waitForTimeout(300);
  const at = await page.locator(canvas).boundingBox();
  await page.mouse.click(at.x + at.width / 2, at.y + 30);
  await until(name => new URLSearchParams(location.search).get(name), key);
  await page.mouse.move(5, 5);
  const path = query().get(key);
  await refreshes(view === "diff" ? "diff" : key === "up" ? "callers" : "callees", 2);
  check(`has a zoom in ${canvas.slice(1)} in the address`, path && query().get(key) === path, page.url());
  await page.goBack();
  await until(name => !new URLSearchParams(location.search).get(name), key);
  check(`goes back from there, ${canvas.slice(1)}`, true);
}

await end(looking);
