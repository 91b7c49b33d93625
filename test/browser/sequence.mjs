// SPDX-License-Identifier: Apache-2.0
// sequence.mjs URL SCREENSHOTS PROGRAM: the flame chart, of samples whose times are known and of this machine as they come; lines of functions, and the source of
// PROGRAM, v-inline of test/victims, whose directory wick may read; in Chromium. Prints TAP.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import zlib from "node:zlib";
import { arrived, check, end, look } from "./look.mjs";

const [url, screenshots, program] = process.argv.slice(2);
const began = Date.now() / 1000, victim = spawn(program, ["2"], { stdio: "ignore" }), ended = once(victim, "exit");
const looking = await look(url, { permissions: ["clipboard-read", "clipboard-write"] }), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = (name, of = page) => of.screenshot({ path: `${screenshots}/sequence-${name}.png` });

// ---- Two threads: parse for half a second, render for 0.3 s, nothing for 1.2 s, parse again; the other idles for 0.1 s

const second = Math.floor(Date.now() / 1000) - 60, host = "chart-" + second, names = ["", "samples", "count", "cpu", "nanoseconds", "main", "parse", "render", "idle", "thread.id", "thread.name", "src/shop.c"];
const attribute = (key, value) => ({ key, value }), at = ms => String(BigInt(second) * 1000000000n + BigInt(ms) * 1000000n);
const every10 = (from, to) => Array.from({ length: (to - from) / 10 }, (_, i) => at(from + 10 * (i + 1)));
const sample = (stackIndex, attributeIndices, ...times) => ({ stackIndex, attributeIndices, timestampsUnixNano: times.flat() });
const sent = await fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({
  resourceProfiles: [{ resource: { attributes: [attribute("host.name", { stringValue: host }), attribute("process.executable.name", { stringValue: "shop" }), attribute("process.pid", { intValue: "4242" })] },
    scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000", timeUnixNano: at(0),
      samples: [sample(1, [1, 2], every10(0, 500)), sample(4, [1, 2], every10(2000, 2100)), sample(2, [1, 2], every10(500, 800)), sample(3, [3, 4], every10(0, 100))] }] }] }],
  dictionary: { stringTable: names, mappingTable: [{}], linkTable: [{}], attributeTable: [{}, { keyStrindex: 9, value: { intValue: "4242" } }, { keyStrindex: 10, value: { stringValue: "shop" } },
      { keyStrindex: 9, value: { intValue: "4243" } }, { keyStrindex: 10, value: { stringValue: "worker" } }], functionTable: names.map((_, i) => ({ nameStrindex: i, filenameStrindex: i ? 11 : 0 })),
    locationTable: [{}, ...[[5, 3], [6, 11], [7, 0], [8, 0], [6, 12]].map(([functionIndex, line]) => ({ lines: [{ functionIndex, line }] }))], stackTable: [{}, ...[2, 3, 4, 5].map(leaf => ({ locationIndices: [leaf, 1] }))] } }) });
check("takes profiles", sent.status === 200, await sent.text());
await arrived(url, host);
const range = `from=${second}&to=${second + 3}&host=${host}`;
await page.goto(`${url}/?view=sequence&${range}`);
await until(() => document.querySelectorAll("#lanes figure").length === 2);
await settled();
const captions = () => page.locator("#lanes figcaption").allTextContents(), canvas = page.locator("#lanes canvas").first();
check("has a lane for each thread, the busiest first", (await captions()).join() === "shop · 4242 90 samples,shop, thread worker · 4243 10 samples", await captions());
check("says how exact it is", /3\.00 s: 100 samples of 2 threads.*stands for the 10 ms before it, and what happens in between is not seen/.test(await text("#sequence-note")), await text("#sequence-note"));
await shoot("known");

// What is at a moment, in a row; "" if nothing is.
const ROW = 17;
async function tip(ms, row) {
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * ms / 3000, box.y + row * ROW + 8);
  return page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => resolve(document.getElementById("tip").hidden ? "" : [...document.querySelectorAll("#tip b, #tip dt, #tip dd")].map(part => part.textContent).join(" ")))));
}
for (const [ms, row, want] of [[250, 0, /^main .* for about 800 ms, 80 samples/], [250, 1, /^parse .* 0\.00 ms after the start for about 500 ms, 50 samples .*shop · 4242/], [650, 1, /^render .* 500 ms after the start for about 300 ms, 30 samples/],
  [1400, 1, /^$/], [2050, 1, /^parse .* 2\.00 s after the start for about 100 ms, 10 samples/], [2050, 2, /^$/]]) {
  const told = await tip(ms, row);
  check(`tells what is at ${ms} ms in row ${row}`, want.test(told), told);
}
await tip(250, 1);
await shoot("tip");

// ---- Keys

await page.mouse.move(5, 5);
await canvas.focus();
for (const [key, want] of [["ArrowRight", /^main · about 800 ms/], ["ArrowDown", /^parse · about 500 ms/], ["ArrowRight", /^render/], ["ArrowRight", /^parse · about 100 ms/], ["ArrowLeft", /^render · .*500 ms after/]]) {
  await page.keyboard.press(key);
  check(`${key} leads to ${want.source}`, want.test(await text("#sequence-details")), await text("#sequence-details"));
}
await page.keyboard.press("Enter");
await until(from => Math.abs(new URLSearchParams(location.search).get("from") - from) < 0.002, second + 0.5);
check("looks at that time", Math.abs(query().get("to") - second - 0.8) < 0.002 && query().get("view") === "sequence", page.url());
await until(() => /, 300 ms: 30 samples/.test(document.getElementById("sequence-note").textContent));
check("shows only that", (await captions()).join() === "shop · 4242 30 samples", await captions());
await page.goBack();
await until(() => document.querySelectorAll("#lanes figure").length === 2);
check("and goes back", true);

// ---- One thread alone, and what can be done with a box

await settled();
await page.selectOption("#lane", { label: "shop, thread worker · 4243 (10)" });
await until(() => document.querySelectorAll("#lanes figure").length === 1);
check("shows a thread alone, and says so in the address", (await captions()).join() === "shop, thread worker · 4243 10 samples" && query().get("lane") === `${host}/4242/4243/worker`, page.url());
const other = await looking.open();
await other.goto(page.url());
await other.waitForFunction(() => document.querySelectorAll("#lanes figure").length === 1 && /worker/.test(document.querySelector("#lanes figure").textContent));
check("shows the same to whoever has the address", true);
await other.setViewportSize({ width: 390, height: 844 });
await other.emulateMedia({ colorScheme: "dark" });
check("fits a phone", await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
await shoot("phone", other);
await other.close();
await page.click("#lanes figcaption button");
await until(() => document.querySelectorAll("#lanes figure").length === 2);
const place = await canvas.boundingBox();
await page.mouse.click(place.x + place.width * 0.1, place.y + ROW + 8, { button: "right" });
check("has a menu for a box", /parse.*Flame graph of this time.*Only stacks with it/s.test(await text("#menu")), await text("#menu"));
await page.click("#menu button:has-text('Flame graph of this time')");
await until(() => document.getElementById("flame")?.height > 40 && location.search.includes("tid"));
check("leads to the flame graph of it", query().getAll("where").includes("tid=4242") && Math.abs(query().get("to") - second - 0.5) < 0.002, page.url());

// ---- The lines of a function

await page.goto(`${url}/?view=sandwich&function=parse&${range}`);
await page.click("#card-lines summary");
await until(() => document.querySelectorAll("#lines-rows tr").length === 2);
const lines = () => page.locator("#lines-rows tr").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join(" ")).join());
check("lists the lines of a function by their samples", await lines() === "83.3 % 500 ms shop.c:11,16.7 % 100 ms shop.c:12" && query().get("lines") === "1", await lines());
check("says what they are of", (await text("#lines-note")).startsWith("600 ms in the function itself"), await text("#lines-note"));
await shoot("lines");
await page.goto(`${url}/?view=sandwich&function=render&lines=1&${range}`);
await until(() => /No line is known/.test(document.getElementById("lines-note").textContent));
check("says when no line is known", !await page.locator("#lines-table").isVisible());
await page.goto(`${url}/?view=sandwich&function=main&lines=1&${range}`);
await until(() => /No sample .* in the function itself/.test(document.getElementById("lines-note").textContent));
check("does not take calls for its own", await page.locator("#lines-rows tr").count() === 0);

// ---- The source of a function: what its lines have, counted again from an exported pprof file

const varints = bytes => {
  const all = [];
  let value = 0n, shift = 0n;
  for (const byte of bytes) {
    value |= BigInt(byte & 127) << shift;
    shift = byte < 128 ? 0n : shift + 7n;
    if (byte < 128) {
      all.push(Number(BigInt.asIntN(64, value)));
      value = 0n;
    }
  }
  return all;
};
const numbersOf = (all = []) => all.flatMap(one => typeof one === "number" ? [one] : varints(one));
// Fields of a message, by number: numbers and bytes.
function fields(bytes) {
  const found = {};
  let at = 0;
  const next = () => {
    const end = bytes.findIndex((byte, i) => i >= at && byte < 128) + 1, [value] = varints(bytes.subarray(at, end));
    at = end;
    return value;
  };
  while (at < bytes.length) {
    const tag = next(), value = next(), isNumber = (tag & 7) === 0;
    (found[tag >> 3] ??= []).push(isNumber ? value : bytes.subarray(at, at + value));
    at += isNumber ? 0 : value;
  }
  return found;
}

// By "FUNCTION FILE:LINE" what samples have at their innermost line, the function's total, and its own.
function linesOf(bytes) {
  const { 2: samples, 4: locations, 5: functions, 6: strings } = fields(bytes), string = index => Buffer.from(strings[index]).toString(), sums = { self: {}, total: {}, lines: {} };
  const byId = messages => new Map(messages.map(fields).map(message => [message[1][0], message])), named = byId(functions), placed = byId(locations);
  const add = (table, key, value) => table[key] = (table[key] ?? 0) + value;
  for (const sample of samples.map(fields)) {
    const [count] = numbersOf(sample[2]), stack = numbersOf(sample[1]).flatMap(id => (placed.get(id)[4] ?? []).map(fields)).map(line => ({ line: line[2]?.[0] ?? 0, of: named.get(line[1][0]) }));
    const names = stack.map(({ of }) => string(of[2][0])), [leaf] = stack;
    new Set(names).forEach(name => add(sums.total, name, count));
    add(sums.self, names[0], count);
    if (leaf?.line)
      add(sums.lines, `${names[0]} ${string(leaf.of[4]?.[0] ?? 0)}:${leaf.line}`, count);
  }
  return sums;
}

await ended;
const over = Date.now() / 1000 + 0.5, chosen = `from=${began.toFixed(3)}&to=${over.toFixed(3)}&pid=${victim.pid}`, api = async (name, more = "") => (await fetch(`${url}/api/v1/${name}?${chosen}${more}`)).json();
for (let tries = 0; tries < 100 && !(await (await fetch(`${url}/api/v1/values?label=pid&from=${over}`)).json()).length; tries++)
  await new Promise(resolve => setTimeout(resolve, 100));
const counted = linesOf(zlib.gunzipSync(Buffer.from(await (await fetch(`${url}/api/v1/export?format=pprof&${chosen}`)).arrayBuffer()))), top = (await api("top")).rows;
const inner = await api("source", "&function=inl_a_inner"), spun = 11, sourceText = fs.readFileSync("test/victims/inline.c", "utf8").split("\n");
for (const name of ["inl_a_inner", "inl_b", "leaf_c", "middle"]) {
  const told = await api("source", `&function=${name}&in=${encodeURIComponent(program)}`), row = top.find(one => one[0] === name) ?? [];
  const lined = told.files.flatMap(({ file, lines: all }) => all.map(([line, self, total]) => ({ key: `${name} ${file}:${line}`, self, total }))), sum = key => lined.reduce((all, line) => all + line[key], told.unknown[key]);
  const own = Object.entries(counted.lines).filter(([key]) => key.startsWith(name + " "));
  check(`tells what each line of ${name} has, as an exported file does`, own.length === lined.length && (own.length > 0 || name === "middle") && lined.every(({ key, self, total }) => counted.lines[key] === self && total === self), [lined, own]);
  check(`which together is what ${name} has`, sum("self") === (counted.self[name] ?? 0) && sum("total") === counted.total[name] && row[4] === sum("self") && row[5] === sum("total"), [told, row]);
}
const hot = inner.files[0].lines.reduce((most, line) => line[1] > most[1] ? line : most);
check("knows the line that spins", hot[0] === spun && hot[1] > inner.self / 2 && sourceText[spun - 1].includes("SPIN"), inner);
check("has the text of the file", inner.text.lines[spun - inner.text.first] === sourceText[spun - 1] && inner.text.path.endsWith("/test/victims/inline.c"), inner.text);

await page.goto(`${url}/?view=sandwich&function=inl_a_inner&live=&${chosen}`);
await page.click("#sandwich-source");
await page.waitForSelector("#source-rows tr.at");
await settled();
const marked = () => page.locator("#source-rows tr.at").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.firstChild?.className === "bar" ? cell.childNodes[1].data : cell.textContent)));
const milliseconds = value => value * inner.period / 1e9 >= 1 ? (value * inner.period / 1e9).toFixed(2) + " s" : (value * inner.period / 1e6).toFixed(0) + " ms";
check("leads from the function to its source, the hottest line marked", JSON.stringify(await marked()) === JSON.stringify([[String(spun), milliseconds(hot[1]), milliseconds(hot[2]), sourceText[spun - 1]]]), await marked());
const inSight = () => page.evaluate(() => {
  const box = document.getElementById("source-box").getBoundingClientRect(), row = document.querySelector("#source-rows tr.at").getBoundingClientRect();
  return row.top >= box.top && row.bottom <= box.bottom;
});
check("which is in sight", await inSight());
check("is a table with headings", await page.locator("#source-table th[scope=col]").count() === 4 && await page.locator("#source-rows th[scope=row]").count() === inner.text.lines.length);
await page.click("#source-copy");
const copied = await page.evaluate(() => navigator.clipboard.readText());
check("is copied as text", copied.startsWith("line\tself\ttotal\tsource\n") && copied.includes(`\n${spun}\t${milliseconds(hot[1])}\t${milliseconds(hot[2])}\t${sourceText[spun - 1]}\n`), copied);
await shoot("source");
const phone = await looking.open({ viewport: { width: 390, height: 800 }, colorScheme: "dark" });
await phone.goto(page.url());
await phone.waitForSelector("#source-rows tr.at");
check("fits a phone, the hottest line in sight", await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("#source-rows tr.at").getBoundingClientRect().bottom <= innerHeight));
await shoot("source-phone", phone);
await phone.close();

// Of a file that is nowhere: lines and numbers all the same.
await page.goto(`${url}/?view=source&function=parse&${range}`);
await until(() => document.querySelectorAll("#source-rows tr.hot").length === 2);
check("says what to do without a text", /No text of src\/shop\.c: no directory of `source` has it/.test(await text("#source-note")), await text("#source-note"));
for (const [key, want] of [["n", "12"], ["n", "11"], ["p", "12"], ["p", "11"]]) {
  await page.keyboard.press(key);
  check(`${key} leads to line ${want}`, await page.evaluate(() => document.activeElement.dataset.key) === want && (await marked()).length === 1);
}
await shoot("source-missing");

// ---- Who wants to see other files

const refused = await fetch(`${url}/api/v1/source?${chosen}&function=inl_a_inner&source=/etc/passwd`);
check("shows no file that frames do not name", refused.status === 404 && /no frame of the function/.test(await refused.text()), refused.status);
await fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({
  resourceProfiles: [{ resource: { attributes: [attribute("host.name", { stringValue: "thief-" + second })] }, scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, timeUnixNano: at(0), samples: [{ stackIndex: 1, timestampsUnixNano: [at(0)] }] }] }] }],
  dictionary: { stringTable: ["", "samples", "count", "steal", "/etc/passwd"], mappingTable: [{}], linkTable: [{}], attributeTable: [{}], functionTable: [{}, { nameStrindex: 3, filenameStrindex: 4 }], locationTable: [{}, { lines: [{ functionIndex: 1, line: 1 }] }], stackTable: [{}, { locationIndices: [1] }] } }) });
await arrived(url, "thief-" + second);
await page.goto(`${url}/?view=source&function=steal&from=${second - 1}&to=${second + 3}`);
await until(() => document.querySelectorAll("#source-rows tr.hot").length === 1);
check("nor one that they name and that is no source", /No text of \/etc\/passwd: only files that end as sources do/.test(await text("#source-note")) && !(await text("#source-view")).includes("root:"), await text("#source-note"));

// ---- Too much, and nothing

await page.route("**/api/v1/sequence?*", route => route.continue({ url: route.request().url() + "&max=10" }));
await page.goto(`${url}/?view=sequence&${range}`);
await until(() => /left out/.test(document.getElementById("sequence-note").textContent));
check("says what is left out", /: 10 samples of 1 thread; .*90 earlier samples are left out/.test(await text("#sequence-note")), await text("#sequence-note"));
await page.unroute("**/api/v1/sequence?*");
await page.goto(`${url}/?view=sequence&from=1000&to=2000`);
await until(() => document.getElementById("sequence-empty")?.hidden === false);
check("says that there is nothing, and what to do", /Nothing was sampled in the last minute.*Drag in the chart/.test(await text("#sequence-empty")) && !await page.locator("#lanes").isVisible(), await text("#sequence-empty"));
await shoot("empty");

// ---- This machine, live

const answers = name => page.waitForResponse(response => response.url().includes("/api/v1/" + name) && response.status() < 400, { timeout: 60000 });
await page.goto(`${url}/?view=sequence&from=now-1m`);
await until(() => document.querySelectorAll("#lanes figure").length > 1);
await answers("sequence");
check("follows what comes, the last seconds of it", /the last 10 s of the range/.test(await text("#sequence-note")), await text("#sequence-note"));
await shoot("live");
// The last function that is outermost in the first lane: where a pixel of it is. New data may come before the hand does.
const findSpot = () => {
  const seen = document.querySelector("#lanes canvas"), ratio = seen.width / seen.clientWidth, { data } = seen.getContext("2d").getImageData(0, 4 * ratio, seen.width, 1), bounds = seen.getBoundingClientRect();
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--empty").match(/[0-9a-f]{2}/g).map(part => parseInt(part, 16));
  for (let x = seen.width - 1; x > 0; x--)
    if (ground.reduce((sum, part, i) => sum + Math.abs(part - data[4 * x + i]), 0) > 30)
      return { x: bounds.left + x / ratio, y: bounds.top + 4 };
  return { x: 5, y: 5 };
};
for (let tries = 0; tries < 50 && !await page.locator("#tip").isVisible(); tries++) {
  const spot = await page.evaluate(findSpot);
  await page.mouse.move(5, 5);
  await page.mouse.move(spot.x, spot.y);
}
const held = await text("#tip b");
await answers("chart");
await answers("chart");
check("stays what it is under the hand", await text("#tip b") === held && await page.locator("#tip").isVisible(), [held, await text("#tip")]);
await page.mouse.move(5, 5);
await answers("sequence");
check("and moves on when that is gone", true);

await end(looking);
