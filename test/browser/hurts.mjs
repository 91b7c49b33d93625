// SPDX-License-Identifier: Apache-2.0
// hurts.mjs URL SCREENSHOTS: what once hurt a person who used the page, one after the other, in Chromium. Prints TAP.
import os from "node:os";
import { arrived, check, end, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, errors, query, text, drawn } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const answer = async question => (await fetch(`${url}/api/v1/${question}`)).json();

// ---- What is sent: stacks of one value each, and two programs with a main; neither says when.

const names = ["", "samples", "count", "cpu", "nanoseconds", "main", "/opt/one", "/opt/two", "one_only", "two_only"];
const leaves = 20000, at = Date.now(), attribute = (key, value) => ({ key, value: { stringValue: value } });
const profile = (host, samples) => ({ resource: { attributes: [attribute("host.name", host), attribute("process.executable.name", host)] }, scopeProfiles: [{ profiles: [{
  sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "50000000", timeUnixNano: String(BigInt(at) * 1000000n), samples }] }] });
const strings = [...names, ...Array.from({ length: leaves }, (_, i) => "leaf_" + i)];
const locations = [{}, ...[[5, 1], [8, 1], [5, 2], [9, 2]].map(([name, file]) => ({ mappingIndex: file, lines: [{ functionIndex: name }] })),
                   ...Array.from({ length: leaves }, (_, i) => ({ mappingIndex: 1, lines: [{ functionIndex: names.length + i }] }))];
const body = { resourceProfiles: [profile("equals", Array.from({ length: leaves }, (_, i) => ({ stackIndex: 3 + i, values: ["3"] }))),
                                  profile("twins", [{ stackIndex: 1, values: ["30"] }, { stackIndex: 2, values: ["10"] }])],
  dictionary: { stringTable: strings, mappingTable: [{}, { filenameStrindex: 6 }, { filenameStrindex: 7 }], attributeTable: [{}], linkTable: [{}], locationTable: locations,
    functionTable: strings.map((_, i) => ({ nameStrindex: i })), stackTable: [{}, { locationIndices: [2, 1] }, { locationIndices: [4, 3] },
      ...Array.from({ length: leaves }, (_, i) => ({ locationIndices: [5 + i] }))] } };
const sent = await fetch(url + "/v1development/profiles", { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
check("takes a profile without times", sent.status === 200, await sent.text());
await arrived(url, "equals");
await arrived(url, "twins");

// ---- The chart

await page.goto(`${url}/?from=now-1m&host=${os.hostname()}`);
await drawn();
await until(() => /at most/.test(document.getElementById("chart-note").textContent));
const most = parseFloat(/([\d.]+) CPUs? at most/.exec(await text("#chart-note"))[1]);
// But for one tick of each CPU that came late, of the twenty at least that a bucket has.
check("claims no more CPUs than there are", most <= os.cpus().length * 1.05 && most > 0, await text("#chart-note"));
const legend = () => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#chart-legend button")].map(button => [button.textContent, button.querySelector("i").style.background])));
const colours = await legend();
check("has a legend", Object.keys(colours).length > 1, colours);
const chart = await page.locator("#chart").boundingBox();
await page.mouse.move(chart.x + chart.width * 0.9, chart.y + 40);
await until(() => !document.getElementById("tip").hidden);
const tip = await text("#tip");
check("says what the chart shows at a place", /\d\d:\d\d.*all[\d.]+ CPU/.test(tip), tip);
await page.waitForTimeout(3000);
check("keeps saying it", await page.locator("#tip").isVisible());
const later = await legend();
check("keeps the colours of lines", Object.keys(colours).filter(name => later[name]).every(name => later[name] === colours[name]), [colours, later]);
await page.mouse.move(5, 5);
await page.locator("#chart").focus();
await page.keyboard.press("End");
check("is read by keys", await page.locator("#tip").isVisible());
await page.keyboard.press("Escape");

// ---- Whose it is

await page.mouse.move((await page.locator("#flame").boundingBox()).x + 300, (await page.locator("#flame").boundingBox()).y + 30);
await until(() => /label/.test(document.querySelector("#tip dl").textContent));
check("begins with whose time it is", (await page.inputValue("#group")) === "auto" && /label/.test(await text("#tip dl")), await text("#tip"));
await page.goto(`${url}/?host=equals&from=now-5m&live=`);
await until(() => /CPU.* at most/.test(document.getElementById("chart-note").textContent));
check("takes a profile without times for one CPU", parseFloat(/([\d.]+) CPUs? at most/.exec(await text("#chart-note"))[1]) <= 1.01, await text("#chart-note"));
const flame = await answer("flame?host=equals&from=now-5m");
check("shows as many equals as there is room for", flame.nodes.frame.length === 16384, flame.nodes.frame.length);

// ---- A function is of its file

await page.goto(`${url}/?view=top&host=twins&from=now-5m&live=&part=main`);
await page.locator("#top-rows td.name button").first().click();
await until(() => document.getElementById("callees")?.height > 30 && /samples/.test(document.getElementById("sandwich-share").textContent));
check("knows main of one program from that of another", query().get("in") === "/opt/one" && /\(30 samples\)/.test(await text("#sandwich-share")), [page.url(), await text("#sandwich-share")]);
await page.click("#sandwich-file");
await until(() => /\(40 samples\)/.test(document.getElementById("sandwich-share").textContent));
check("shows all of that name if asked to", !query().get("in"), page.url());

// ---- Nothing, and mistakes

await page.goto(url + "/?view=sandwich&function=main&from=1000&to=2000");
await until(() => /not in this range/.test(document.getElementById("sandwich-share")?.textContent));
const black = await page.evaluate(() => ["callers", "callees"].map(id => {
  const canvas = document.getElementById(id);
  return canvas.height ? [...canvas.getContext("2d").getImageData(0, 0, 1, 1).data].slice(0, 3).join() : "none";
}));
check("draws no black for nothing", !black.includes("0,0,0"), black);
await page.goto(url + "/?view=top&live=");
await page.selectOption("#export", "png");
await page.waitForSelector("#toast:not([hidden])");
check("says that a table is no picture", /no picture/.test(await text("#toast")));
await page.goto(url + "/?view=foo&live=");
await drawn();
await settled();
check("says that there is no such view", /no view "foo"/.test(await text("#message")), await text("#message"));
await page.goto(url + "/?view=diff&base=foo&from=now-20s&live=");
await until(() => /no "foo" to compare/.test(document.getElementById("message").textContent));
check("says that there is nothing of that name to compare with", (await page.inputValue("#base")) === "before");
await page.goto(url + "/?from=yesterday&live=");
await until(() => /is no time/.test(document.getElementById("message").textContent));
check("says that a time is none", true);

// ---- Copying by plain http, files

const plain = await looking.open();
await plain.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
await plain.goto(url + "/?view=top&live=");
await plain.waitForSelector("#top-rows td.name");
await plain.selectOption("#copy-as", "csv");
await plain.waitForFunction(() => /rows are copied/.test(document.getElementById("toast").textContent));
await plain.focus("#filter");
await plain.keyboard.press("Control+V");
check("copies by plain http, as CSV", (await plain.inputValue("#filter")).startsWith("self %,total %,self,total,function"), await plain.inputValue("#filter"));
await plain.evaluate(() => {
  const files = new DataTransfer();
  files.items.add(new File(["\x7fELF, but no program"], "x"));
  document.querySelector("main").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
});
await plain.waitForFunction(() => document.querySelector("#upload [role=status]")?.textContent);
check("takes a file that is dropped anywhere", new URL(plain.url()).searchParams.get("view") === "executables");
await plain.close();

// ---- Time

await page.goto(url + "/?from=now-1m");
await drawn();
await page.click("#range");
await page.fill("#amount", "90");
await page.selectOption("#unit", "s");
await page.click("#relative button");
await until(() => document.getElementById("range").textContent === "last 90 seconds");
check("takes a relative time", query().get("from") === "now-90s", page.url());
await page.click("#wider");
check("zooms out", query().get("from") === "now-180s", page.url());
await page.click("#earlier");
const first = Number(query().get("from"));
check("goes back in time", Math.abs(Date.now() / 1000 - 270 - first) < 5 && !query().get("live"), page.url());
await page.click("#range");
await page.screenshot({ path: screenshots + "/hurts-picker.png" });
await page.fill("#from", "2026-01-02T03:04:05");
await page.fill("#to", "2026-01-02T03:04:15");
await page.click("#absolute button");
await until(() => /from=\d+&/.test(location.search + "&"));
check("takes an absolute time", Number(query().get("to")) - Number(query().get("from")) === 10, page.url());
await page.goto(url + "/?from=now-2m&live=");
await drawn();
await settled();
const wide = await page.locator("#chart").boundingBox();
await page.mouse.move(wide.x + wide.width * 0.7, wide.y + 30);
await page.mouse.down();
await page.mouse.move(wide.x + wide.width * 0.8, wide.y + 30, { steps: 4 });
const asked = page.waitForRequest(request => request.url().includes("/api/v1/chart"));
await page.mouse.up();
const around = new URL((await asked).url()).searchParams;
check("keeps what is around a range that was chosen", Number(around.get("to")) - Number(around.get("from")) > 100 &&
      Number(query().get("to")) - Number(query().get("from")) < 20, [String(around), page.url()]);
await settled();
await page.screenshot({ path: screenshots + "/hurts-context.png" });

// ---- While it takes long

let goOn = null;
const held = new Promise(resolve => goOn = resolve);
await page.route("**/api/v1/flame?*", async route => {
  await held;
  await route.continue();
});
await page.goto(url + "/?live=");
await page.waitForSelector("#progress:not([hidden])");
check("shows that something is loading", (await page.getAttribute("main", "aria-busy")) === "true");
goOn();
await drawn();
await settled();
check("and that it has come", await page.locator("#progress").isHidden());
await page.unroute("**/api/v1/flame?*");

// ---- A phone

const phone = await looking.open({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
await phone.goto(url + "/?view=top&live=");
await phone.waitForSelector("#top-rows td.name");
const cells = await phone.evaluate(() => [...document.querySelectorAll("#top-rows tr[data-place]:first-of-type td, #top-rows tr[data-place='0'] td")].filter(cell => cell.offsetWidth)
  .map(cell => ({ left: cell.getBoundingClientRect().left, right: cell.getBoundingClientRect().right, name: cell.className === "name" })));
check("has names on a phone, and no column off the screen", cells.every(({ right }) => right <= 390) && cells.some(({ name, left, right }) => name && right - left > 180), cells);
await phone.screenshot({ path: screenshots + "/hurts-phone.png" });
await phone.close();

errors.splice(0, errors.length, ...errors.filter(error => !/40[04]/.test(error)));
await end(looking);
