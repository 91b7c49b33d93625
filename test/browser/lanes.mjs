// SPDX-License-Identifier: Apache-2.0
// lanes.mjs URL SCREENSHOTS: what threads did when, of a program of which that is known and of this machine, in Chromium. Prints TAP.
import { arrived, check, end, look } from "./look.mjs";
import { send, sendSwitches } from "./waiting.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = (name, of = page) => of.screenshot({ path: `${screenshots}/lanes-${name}.png` });

const second = Math.floor(Date.now() / 1000) - 120, host = "lanes-" + second;
const sent = await send(url, host, second);
check("takes waits", sent.status === 200, await sent.text());
await arrived(url, host);
const range = `from=${second}&to=${second + 4}&host=${host}`, where = () => query().getAll("where").join();

await page.goto(`${url}/?view=lanes&${range}`);
await until(() => document.querySelectorAll("#thread-lanes figure").length === 2);
await settled();
const captions = () => page.locator("#thread-lanes figcaption").allTextContents();
check("has a lane for each thread, who runs first", (await captions()).join("; ") === "shop · 5151 lock 50.0 %, running 37.5 %, wants a CPU 12.5 %; shop, thread worker · 5152 sleep 100.0 %", await captions());
check("says how exact it is", /4\.00 s: 2 threads; times add up, moments are about right/.test(await text("#lanes-note")), await text("#lanes-note"));
check("has a legend", (await text("#lanes-legend")).trim() === "sleep 50.0 % lock 25.0 % running 18.8 % wants a CPU 6.25 %", await text("#lanes-legend"));
await shoot("known");

// The colour in the middle of a lane at a moment.
const colour = (lane, ms) => page.evaluate(([number, share]) => {
  const canvas = document.querySelectorAll("#thread-lanes canvas")[number], { data } = canvas.getContext("2d").getImageData(Math.floor(share * canvas.width), Math.floor(canvas.height / 2), 1, 1);
  return "#" + [...data].slice(0, 3).map(part => part.toString(16).padStart(2, "0")).join("");
}, [lane, ms / 4000]);
for (const [lane, ms, want] of [[0, 500, "#69c36d"], [0, 1500, "#f2c14b"], [0, 2900, "#f2c14b"], [0, 3250, "#f2783c"], [0, 3700, "#69c36d"], [1, 50, "#d2d6dc"], [1, 3900, "#d2d6dc"]])
  check(`draws what thread ${lane} did at ${ms} ms`, await colour(lane, ms) === want, await colour(lane, ms));

// ---- What is said of a moment, by hand and by keys

const canvas = page.locator("#thread-lanes canvas").first(), box = await canvas.boundingBox(), tip = () => page.locator("#tip").textContent();
await page.mouse.move(box.x + box.width * 0.5, box.y + 10);
check("says what was at a moment", /shop · 5151.*lock.*about 100.0 %: a lock/.test(await tip()), await tip());
await shoot("tip");
await page.mouse.move(5, 5);
await canvas.focus();
for (const [key, want] of [["Home", /^shop · 5151 .* running 100\.0 %/], ["ArrowRight", /running 100/], ["End", /^shop · 5151 .* running/], ["ArrowDown", /^shop, thread worker · 5152 .* sleep 100/], ["ArrowUp", /^shop · 5151/]]) {
  await page.keyboard.press(key);
  check(`${key} leads to ${want.source}`, want.test(await text("#lanes-details")), await text("#lanes-details"));
}
await page.keyboard.press("Escape");
check("Escape leaves", (await text("#lanes-details")).trim() === "");

// ---- From a moment to its stacks

const opened = async (lane, ms) => {
  const place = await page.locator("#thread-lanes canvas").nth(lane).boundingBox();
  await page.mouse.click(place.x + place.width * ms / 4000, place.y + 10);
  await until(() => location.search.includes("tid") && new URLSearchParams(location.search).get("view") === null && document.getElementById("flame")?.height > 40);
  await settled();
};
const total = async () => (await (await fetch(`${url}/api/v1/flame?${query()}`)).json()).total / 1e6;
await opened(0, 2000);
check("a click leads to the flame graph of that moment, thread and reason", where() === `host=${host},type=wall,tid=5151,wait=futex` && await total() === 2000, [page.url(), await total()]);
await shoot("flame");
await page.goBack();
await until(() => document.querySelectorAll("#thread-lanes figure").length === 2);
await settled();
await opened(1, 1000);
check("... of a wait that is told of after the range, too", where().endsWith("tid=5152,wait=sleep") && await total() === 4500, [page.url(), await total()]);
await page.goBack();
await until(() => document.querySelectorAll("#thread-lanes figure").length === 2);
await settled();
await opened(0, 500);
check("... of time on a CPU", where().endsWith("tid=5151,wait=") && await total() > 0 && await total() <= 1000, [page.url(), await total()]);
await page.goBack();
await until(() => document.querySelectorAll("#thread-lanes figure").length === 2);
await settled();

// ---- The legend, a process, a shorter time, the table

await page.locator("#lanes-legend button", { hasText: "lock" }).click();
await page.mouse.move(5, 5);
const faint = await colour(0, 500);
check("shows one thing among others", await colour(0, 1500) === "#f2c14b" && faint !== "#69c36d", faint);
await page.locator("#lanes-legend button", { hasText: "lock" }).click();
await page.selectOption("#lanes-process", "5151");
await until(() => location.search.includes("pid%3D5151"));
await settled();
check("shows a process alone", where() === `host=${host},pid=5151` && (await captions()).length === 2, page.url());
await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.75, box.y + 10, { steps: 4 });
await page.mouse.up();
await until(from => Math.abs(new URLSearchParams(location.search).get("from") - from) < 0.05, second + 1);
await settled();
check("shows a shorter time by dragging", Math.abs(query().get("to") - second - 3) < 0.05 && /lock 100\.0 %/.test((await captions()).join()), [page.url(), await captions()]);
await page.goto(`${url}/?view=lanes&${range}`);
await until(() => document.querySelectorAll("#thread-lanes figure").length === 2);
const table = await page.locator("#lanes-table tr").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join("|")).join(" / "));
check("has a table for those who cannot see it", table === "thread|sleep|lock|running|wants a CPU / shop · 5151||2.00 s|1.50 s|500 ms / shop, thread worker · 5152|4.00 s|||", table);

// ---- How long threads wanted a CPU: known where each switch is

check("says where that is known", await page.locator("#queue-unknown").isVisible() && !await page.locator("#queue-known").isVisible());
const switches = "switches-" + second, told = await sendSwitches(url, switches, second);
check("takes switches", told.status === 200, await told.text());
await arrived(url, switches);
await page.goto(`${url}/?view=lanes&from=${second}&to=${second + 4}&host=${switches}`);
await until(() => document.querySelectorAll("#queue tbody tr").length === 1);
const cells = () => page.locator("#queue tr").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join("|")).join(" / "));
check("says how long threads wanted a CPU", /^104 times a thread .* at most 20 µs, 99 of 100 for at most 250 ms, the longest for 250 ms; 1\.00 s in all/.test(await text("#queue-known .note")), await text("#queue-known .note"));
check("... by process", /^process\|waits\|in all\|half below\|99 % below\|longest \/ shop\|104\|1\.00 s\|20 µs\|250 ms\|250 ms$/.test(await cells()), await cells());
const ink = (ms, us) => page.evaluate(([x, y]) => {
  const one = document.querySelector("#queue canvas"), ratio = one.width / one.clientWidth;
  const { data } = one.getContext("2d").getImageData(Math.floor((56 + x * (one.clientWidth - 56)) * ratio), Math.floor((1 - y) * (one.clientHeight - 18) * ratio), 1, 1);
  return data[0] - data[2] > 60;
}, [ms / 4000, (Math.log2(us / 1.024) + 1) / 25]);
const inked = [await ink(304, 20), await ink(2501, 250000), await ink(304, 250000), await ink(2501, 20), await ink(1900, 20)];
check("draws when, and how long", inked.join() === "true,true,false,false,false", inked);
await page.locator("#queue").scrollIntoViewIfNeeded();
await shoot("queue");
await page.selectOption("#queue-by", "cpu");
await until(() => document.querySelectorAll("#queue tbody tr").length === 2);
check("... by CPU, and keeps that in the address", query().get("queue") === "cpu" && /^cpu\|.* \/ 7\|4\|1\.00 s\|.* \/ 3\|100\|2\.00 ms\|20 µs\|20 µs\|20 µs$/.test(await cells()), await cells());
await page.locator("#queue tbody button", { hasText: "3" }).click();
await until(() => document.querySelectorAll("#queue tbody tr").length === 1);
check("shows one CPU alone", where() === `host=${switches},cpu=3`, page.url());

// ---- A small page, dark; nothing; this machine

const phone = await looking.open({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
await phone.goto(`${url}/?view=lanes&${range}`);
await phone.waitForFunction(() => document.querySelectorAll("#thread-lanes figure").length === 2);
check("fits a phone", await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
await shoot("phone", phone);
await phone.close();
await page.goto(`${url}/?view=lanes&from=1000&to=2000`);
await until(() => document.getElementById("lanes-empty")?.hidden === false);
check("says that there is nothing", /Nothing is known of threads/.test(await text("#lanes-empty")) && !await page.locator("#thread-lanes").isVisible());
await page.goto(`${url}/?view=lanes&from=now-1m&where=host!%3D${host}`);
await until(() => document.querySelectorAll("#thread-lanes figure").length > 1);
await settled();
check("shows this machine", /threads? ?/.test(await text("#lanes-note")), await text("#lanes-note"));
await shoot("live");

await end(looking);
