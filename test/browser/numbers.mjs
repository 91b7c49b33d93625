// SPDX-License-Identifier: Apache-2.0
// numbers.mjs URL [SEED]: what the page says of 20 random selections (ranges, labels, functions) against sums over an exported profile that are made
// here, sample by sample. Prints TAP.
import { check, end, look } from "./look.mjs";

const [url, given] = process.argv.slice(2), SELECTIONS = 20;
const looking = await look(url), { page, text } = looking;
let seed = Number(given) || Date.now() % 100000;
console.log(`# seed ${seed}`);
const random = below => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor(seed / 2147483648 * below);
};
const pick = list => list[random(list.length)];

// ---- The profile, as a list of samples: time, labels, functions from the root on

// What others send would count by another period: nobody has yet. All of it has come when something later has: windows come in their order, on
// a slow machine late; and there may be a few samples that had to wait, for which there are some seconds more.
const to = Math.floor(Date.now() / 1000) - 10, from = to - 15;
for (let tries = 0; tries < 400 && !(await (await fetch(`${url}/api/v1/values?label=pid&from=${to + 1}`)).json()).length; tries++)
  await new Promise(resolve => setTimeout(resolve, 200));
const otlp = await (await fetch(`${url}/api/v1/export?format=json&from=${from}&to=${to}`)).json();
const { stringTable, functionTable, locationTable, stackTable, mappingTable, attributeTable } = otlp.dictionary;
const value = ({ stringValue, intValue }) => stringValue ?? String(intValue);
const string = index => stringTable[index ?? 0];
const frames = index => (locationTable[index].lines ?? []).map(line => ({ name: string(functionTable[line.functionIndex ?? 0].nameStrindex),
  file: string(mappingTable[locationTable[index].mappingIndex ?? 0].filenameStrindex) || string(functionTable[line.functionIndex ?? 0].filenameStrindex) }));
const samples = otlp.resourceProfiles.flatMap(({ resource, scopeProfiles }) => {
  const labels = Object.fromEntries((resource.attributes ?? []).map(one => [one.key, value(one.value)]));
  return scopeProfiles.flatMap(scope => scope.profiles).flatMap(profile => profile.samples.flatMap(sample => {
    const own = Object.fromEntries((sample.attributeIndices ?? []).map(index => [string(attributeTable[index].keyStrindex), value(attributeTable[index].value)]));
    const stack = (stackTable[sample.stackIndex].locationIndices ?? []).flatMap(frames).reverse();
    return sample.timestampsUnixNano.map((time, i) => ({ time: BigInt(time), count: Number(sample.values?.[i] ?? 1), stack,
      process: labels["process.executable.name"] ?? "", pid: labels["process.pid"] ?? "", thread: own["thread.name"] ?? "", cpu: own["cpu.logical_number"] ?? "" }));
  }));
});
check("has an export to count", samples.length > 300, samples.length);

// ---- Sums by hand

const sum = list => list.reduce((total, { count }) => total + count, 0);
function functions(list) {
  const found = new Map();
  for (const { stack, count } of list) {
    const seen = new Set();
    stack.forEach(({ name, file }, i) => {
      const key = name + "\n" + file, row = found.get(key) ?? found.set(key, { self: 0, total: 0 }).get(key);
      row.total += seen.has(key) ? 0 : count;
      row.self += i === stack.length - 1 ? count : 0;
      seen.add(key);
    });
  }
  return found;
}

// ---- The page

const percent = share => (100 * share).toFixed(share && share < 0.001 ? 3 : share < 0.1 ? 2 : 1) + " %";
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
let wrong = 0, compared = 0;

// Another address of the page that is there, as if one had gone back to it; until all of it has come.
async function visit(address) {
  await page.mouse.move(0, 0);
  await page.evaluate(where => {
    document.activeElement.blur();
    history.pushState(null, "", where);
    dispatchEvent(new PopStateEvent("popstate"));
  }, address);
  await until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
}

await page.goto(`${url}/?live=`);
await until(() => document.querySelector("main").getAttribute("aria-busy") === "false");

function compare(what, told, counted) {
  compared++;
  if (told === counted)
    return;
  wrong++;
  console.log(`# ${what}: the page says ${told}, counted ${counted}`);
}

for (let n = 0; n < SELECTIONS; n++) {
  const start = from + random(12000) / 1000, stop = Math.min(to, start + 0.5 + random(8000) / 1000), label = pick(["", "process", "pid", "thread", "cpu"]);
  const inRange = samples.filter(({ time }) => time >= BigInt(Math.round(start * 1000)) * 1000000n && time < BigInt(Math.round(stop * 1000)) * 1000000n);
  const chosen = label && inRange.length ? pick(inRange)[label] : "", kept = label && chosen ? inRange.filter(sample => sample[label] === chosen) : inRange;
  const focus = kept.length && random(3) === 0 ? pick(pick(kept).stack)?.name : undefined;
  const part = focus === undefined ? kept : kept.filter(({ stack }) => stack.some(({ name }) => name.toLowerCase().includes(focus.toLowerCase())));
  const query = new URLSearchParams({ from: start.toFixed(3), to: stop.toFixed(3) });
  if (label && chosen)
    query.append("where", `${label}=${chosen}`);
  if (focus !== undefined && !/^(kind=|file=|\/)/.test(focus))
    query.append("focus", focus);
  else if (focus !== undefined)
    continue;
  const total = sum(part);
  if (!total)
    continue;
  // The flame graph: all of it.
  await visit(`/?${query}`);
  await until(() => document.getElementById("flame")?.height > 20);
  const box = await page.locator("#flame").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 8);
  await until(() => !document.getElementById("tip").hidden);
  compare(`all of ${query}`, /\(([\d,]+) samples\)/.exec(await text("#tip"))?.[1].replaceAll(",", ""), String(total));
  // A function that was searched for.
  const sought = pick(pick(part).stack)?.name;
  if (sought && !/^(kind=|file=|\/)/.test(sought)) {
    const found = sum(part.filter(({ stack }) => stack.some(({ name }) => name.toLowerCase().includes(sought.toLowerCase()))));
    await page.fill("#search", sought);
    await until(() => /^[\d.]+ % matched/.test(document.getElementById("matched").textContent));
    compare(`"${sought}" in ${query}`, /^[\d.]+ %/.exec(await text("#matched"))[0], percent(found / total));
  }
  // Functions.
  const counted = functions(part);
  await visit(`/?view=top&${query}`);
  await page.waitForSelector("#top-rows td.name");
  const rows = await page.locator("#top-rows tr[data-key]").evaluateAll(list => list.slice(0, 12).map(row => [row.dataset.key, row.cells[0].textContent, row.cells[1].textContent]));
  for (const [key, self, all] of rows) {
    compare(`self of ${key} in ${query}`, self, percent((counted.get(key)?.self ?? NaN) / total));
    compare(`total of ${key} in ${query}`, all, percent((counted.get(key)?.total ?? NaN) / total));
  }
  compare(`functions of ${query}`, (await text("#top-count")).replace(/\D/g, ""), String(counted.size));
  // The same as a file that is only looked at.
  const file = await (await fetch(`${url}/api/v1/export?format=otlp&${query}`)).arrayBuffer();
  const { id } = await (await fetch(`${url}/api/v1/files?name=selection`, { method: "POST", body: file })).json();
  await visit(`/?view=top&file=${id}&from=${start.toFixed(3)}&to=${stop.toFixed(3)}`);
  await page.waitForSelector("#top-rows td.name");
  const inFile = await page.locator("#top-rows tr[data-key]").evaluateAll(list => list.slice(0, 12).map(row => [row.dataset.key, row.cells[0].textContent, row.cells[1].textContent]));
  for (const [key, self, all] of inFile) {
    compare(`self of ${key} in a file of ${query}`, self, percent((counted.get(key)?.self ?? NaN) / total));
    compare(`total of ${key} in a file of ${query}`, all, percent((counted.get(key)?.total ?? NaN) / total));
  }
  compare(`functions in a file of ${query}`, (await text("#top-count")).replace(/\D/g, ""), String(counted.size));
}
check(`says what was counted, of ${SELECTIONS} selections`, wrong === 0 && compared > 100, { wrong, compared });
await end(looking);
