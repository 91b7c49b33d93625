// SPDX-License-Identifier: Apache-2.0
// waits.mjs URL SCREENSHOTS: CPU, wall and waiting of a program of which it is known what it waited for, in Chromium. Prints TAP.
import { arrived, check, end, look } from "./look.mjs";
import { send } from "./waiting.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = (name, of = page) => of.screenshot({ path: `${screenshots}/waits-${name}.png` });

const second = Math.floor(Date.now() / 1000) - 60, host = "waits-" + second;
const sent = await send(url, host, second);
check("takes waits", sent.status === 200, await sent.text());
await arrived(url, host);
const range = `from=${second}&to=${second + 5}&host=${host}`, where = () => query().getAll("where").join();

// ---- The switch

const buttons = () => page.locator("#kinds button").evaluateAll(all => all.map(one => one.textContent + (one.getAttribute("aria-pressed") === "true" ? "*" : "")).join(" "));
const legend = () => page.locator("#chart-legend button").allTextContents();
const say = text => page.getByRole("button", { name: text, exact: true });
await page.goto(`${url}/?view=flame&${range}`);
await until(() => document.querySelectorAll("#kinds button").length === 3);
await settled();
check("starts with CPU, beside Wall and Waiting", await buttons() === "CPU* Wall Waiting", await buttons());
check("has nothing else to choose from", !await page.locator("#type-label").isVisible());
check("does not offer reasons where nobody waits", await page.locator("#group option[value=wait]").evaluate(option => option.hidden));
await shoot("cpu");

// ---- Labels of samples

await page.selectOption("#group", "label.tenant");
await until(() => document.querySelector("#chart-legend")?.textContent.includes("acme"));
await settled();
check("groups by a label that samples have", query().get("group") === "label.tenant" && await text("#own-keys") === "by tenant" && (await legend()).join() === "acme", await legend());
await page.fill("#filter", "label.tenant!=");
await until(() => [...document.querySelectorAll("#suggestions option")].some(({ value }) => value === "label.tenant!=acme"));
await page.fill("#filter", "label.ten");
await until(() => [...document.querySelectorAll("#suggestions option")].some(({ value }) => value === "label.tenant="));
check("completes its key and its values", true);
await page.fill("#filter", "");
await page.selectOption("#group", "auto");
await settled();

await say("Waiting").click();
await until(() => document.querySelector("#chart-legend")?.textContent.includes("lock"));
await settled();
check("shows waits by what they are for, with one click", await buttons() === "CPU Wall Waiting*" && query().get("group") === "wait" && where() === `host=${host},type=off_cpu`, page.url());
check("says reasons in words, the longest first", (await legend()).map(name => name.trim()).join() === "sleep,lock,wants a CPU", await legend());
check("counts threads, not CPUs", / threads? on average/.test(await text("#chart-note")), await text("#chart-note"));
const hex = colour => "#" + colour.match(/\d+/g).slice(0, 3).map(part => Number(part).toString(16).padStart(2, "0")).join("");
const swatches = await page.locator("#chart-legend .swatch").evaluateAll(all => all.map(one => getComputedStyle(one).backgroundColor));
check("has the same colours always", swatches.map(hex).join() === "#d2d6dc,#f2c14b,#f2783c", swatches.map(hex));
const has = colour => page.evaluate(wanted => {
  const canvas = document.getElementById("flame"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    count += "#" + [data[i], data[i + 1], data[i + 2]].map(part => part.toString(16).padStart(2, "0")).join("") === wanted;
  return count;
}, colour);
check("has them in the flame graph, too", await has("#f2c14b") > 500 && await has("#f2783c") > 100);
await shoot("waiting");

await page.locator("#chart-legend button", { hasText: "lock" }).click();
await until(() => location.search.includes("wait%3Dfutex"));
await settled();
check("filters by a reason with one click", where() === `host=${host},type=off_cpu,wait=futex` && (await legend()).length === 1, page.url());
await page.goBack();
await until(() => document.querySelectorAll("#chart-legend button").length === 3);
await page.locator("#chart-legend button", { hasText: "sleep" }).click({ modifiers: ["Shift"] });
await until(() => location.search.includes("wait%21%3Dsleep"));
await settled();
check("and leaves one out", (await legend()).map(name => name.trim()).join() === "lock,wants a CPU", await legend());

await say("Wall").click();
await until(() => document.querySelector("#chart-legend")?.textContent.includes("running"));
await settled();
check("keeps reasons that were left out", where().includes("wait!=sleep") && await buttons() === "CPU Wall* Waiting", page.url());
await page.locator("#chart-legend button", { hasText: "running" }).click();
await until(() => new URLSearchParams(location.search).getAll("where").includes("wait="));
await settled();
check("filters by running, too", (await legend()).map(name => name.trim()).join() === "running", await legend());
await say("CPU").click();
await until(() => !new URLSearchParams(location.search).getAll("where").some(filter => /^wait[!=]/.test(filter)));
check("forgets reasons where nobody waits", where() === `host=${host},type=samples` && !query().has("group"), page.url());
await settled();

// ---- A small page, dark

const phone = await looking.open({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
await phone.goto(`${url}/?view=flame&group=wait&type=wall&${range}`);
await phone.waitForFunction(() => document.querySelector("#chart-legend")?.textContent.includes("running"));
check("fits a phone", await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("#kinds").getBoundingClientRect().right <= innerWidth));
await shoot("phone", phone);
await phone.close();

await end(looking);
