// SPDX-License-Identifier: Apache-2.0
// files.mjs URL SCREENSHOTS: profiles that are dropped on the page and looked at with every view, without being kept; in Chromium. Prints TAP.
import zlib from "node:zlib";
import { check, end, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = name => page.screenshot({ path: `${screenshots}/files-${name}.png` });
const json = async address => (await fetch(url + "/api/v1/" + address)).json();

// As a hand does it: over the element, then let go.
const drop = (selector, ...files) => page.evaluate(([where, all]) => {
  const transfer = new DataTransfer();
  for (const { name, bytes } of all)
    transfer.items.add(new File([Uint8Array.from(bytes)], name));
  const target = document.querySelector(where), event = kind => new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
  target.dispatchEvent(event("dragover"));
  const isTold = !document.getElementById("drop").hidden;
  target.dispatchEvent(event("drop"));
  return isTold;
}, [selector, files.map(({ name, bytes }) => ({ name, bytes: [...Buffer.from(bytes)] }))]);

const file = (name, bytes) => ({ name, bytes });
const rowsAre = want => until(wanted => [...document.querySelectorAll("#top-rows tr[data-key]")].map(row => `${row.dataset.key.split("\n")[0]} ${row.cells[0].textContent.trim()} ${row.cells[1].textContent.trim()}`).join(", ") === wanted, want);

// ---- A file without times, dropped somewhere on the page

// From now on: Chromium is told of it some time after somebody begins to wait, and a chooser that opens before is nobody's.
page.on("filechooser", () => {});
const hostsBefore = await json("values?label=host&from=now-1d");
await page.goto(url + "/?view=flame");
await settled();
const a = file("a.folded", "main;serve;work 60\nmain;idle 20\nmain;serve;query 20\n");
check("says what a file that is held over it is for", await drop("#chart", a));
await until(() => /a\.folded/.test(document.getElementById("looking").textContent) && document.getElementById("flame")?.height > 60);
await settled();
check("opens a file that is dropped", query().get("file")?.length === 32 && query().get("view") !== "executables", page.url());
check("says what it is", /folded, 3 rows/.test(await text("#looking")), await text("#looking"));
check("draws no time where a file tells none", !await page.locator("#chart").isVisible());
const flame = await page.locator("#flame").boundingBox();
await page.mouse.move(flame.x + 20, flame.y + 30);
await until(() => /main/.test(document.querySelector("#tip b")?.textContent));
check("counts what is in it", /total100\.0 %, 100 samples/.test(await text("#tip dl")), await text("#tip"));
await page.mouse.move(0, 0);
await shoot("folded");
await page.click("#top-tab");
await rowsAre("work 60.0 % 60.0 %, idle 20.0 % 20.0 %, query 20.0 % 20.0 %, main 0.00 % 100.0 %, serve 0.00 % 80.0 %");
check("lists its functions", true);
await page.reload();
await rowsAre("work 60.0 % 60.0 %, idle 20.0 % 20.0 %, query 20.0 % 20.0 %, main 0.00 % 100.0 %, serve 0.00 % 80.0 %");
check("has it still when the page is loaded again", /a\.folded/.test(await text("#looking")));

// ---- A second one beside it

await page.click("#flame-tab");
await drop("header", file("b.folded", "main;serve;work 30\nmain;idle 50\nmain;serve;query 20\n"));
await until(() => /b\.folded/.test(document.querySelector("#looking b").textContent));
await page.selectOption("#looking select", { label: "a.folded" });
await until(() => document.querySelectorAll("#diff-rows tbody tr[data-key]").length === 5);
const changes = await page.locator("#diff-rows tbody tr[data-key]").evaluateAll(rows => rows.map(row => [...row.cells].slice(0, 4).map(cell => cell.textContent.trim()).join(" ")));
check("compares two files", changes[0] === "+30.0 % 50.0 % 20.0 % idle" && changes[1] === "−30.0 % 30.0 % 60.0 % work", changes);
await shoot("compared");
await drop("main", a, file("c.folded", "main;other 1\n"));
await until(() => /c\.folded/.test(document.querySelector("#looking b").textContent) && document.querySelector("#diff-rows tbody tr[data-key] td")?.textContent === "+100.0 %");
check("compares two that are dropped at once", query().get("view") === "diff" && query().get("base").startsWith("file:"), page.url());

// ---- One with times, labels and two types, in every format that can be read

const second = 1700000000, host = "elsewhere", strings = ["", "samples", "count", "cpu", "nanoseconds", "/opt/prog", "main", "work", "idle"];
const attribute = (key, value) => ({ key, value: { stringValue: value } });
const times = (from, count) => Array.from({ length: count }, (_, i) => String(BigInt(from) * 1000000000n + BigInt(i) * 10000000n));
const otlp = JSON.stringify({ resourceProfiles: ["web", "db"].map((service, i) => ({ resource: { attributes: [attribute("host.name", host), attribute("service.name", service), attribute("process.executable.name", service)] },
  scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000", timeUnixNano: String(BigInt(second) * 1000000000n),
    samples: [{ stackIndex: 1, timestampsUnixNano: times(second, 30 + 40 * i) }, { stackIndex: 2, timestampsUnixNano: times(second + 5, 20 + 10 * i) }] }] }] })),
  dictionary: { stringTable: strings, mappingTable: [{}, { filenameStrindex: 5 }], attributeTable: [{}], linkTable: [{}], locationTable: [{}, ...[6, 7, 8].map(at => ({ mappingIndex: 1, lines: [{ functionIndex: at }] }))],
    functionTable: strings.map((_, i) => ({ nameStrindex: i })), stackTable: [{}, { locationIndices: [2, 1] }, { locationIndices: [3, 1] }] } });
await page.goto(url + "/?view=flame");
await settled();
await drop("#flame-view", file("two.json", otlp));
await until(() => /two\.json/.test(document.getElementById("looking").textContent));
await until(() => /CPU/.test(document.getElementById("chart-note").textContent) && document.querySelectorAll("#chart-legend button").length === 2);
check("draws when its samples were taken", (await page.locator("#chart-legend button").allTextContents()).join() === "db,web", await text("#chart-legend"));
await shoot("times");
for (const [view, want] of [["top", /work.*main/s], ["executables", /\/opt\/prog/], ["heat", /CPU/]]) {
  await page.click(`#${view}-tab`);
  await page.waitForFunction(([id, part]) => new RegExp(part, "s").test(document.getElementById(id + "-view").textContent), [view, want.source], { timeout: 60000 });
  check(`has it in ${view}`, true);
}
await page.click("#top-tab");
await page.fill("#filter", "service=web");
await page.press("#filter", "Enter");
await rowsAre("work 60.0 % 60.0 %, idle 40.0 % 40.0 %, main 0.00 % 100.0 %");
check("filters it by its labels", true);
await page.locator("#top-rows td.name button", { hasText: "work" }).click();
await until(() => /60\.0 % total/.test(document.getElementById("card-facts")?.textContent));
check("shows one function of it", /300 ms/.test(await text("#card-facts")), await text("#card-facts"));
const id = query().get("file"), range = `from=${second - 1}&to=${second + 60}`;
for (const format of ["pprof", "otlp", "json", "perfdata", "folded"]) {
  const exported = Buffer.from(await (await fetch(`${url}/api/v1/export?format=${format}&file=${id}&${range}`)).arrayBuffer());
  await drop("main", file(`it.${format}`, exported));
  await until(name => document.querySelector("#looking b").textContent === name, `it.${format}`);
  const again = new URL(page.url()).searchParams, top = await json(`top?file=${again.get("file")}&from=${again.get("from")}&to=${again.get("to")}`);
  const shares = top.rows.filter(([name]) => ["work", "idle", "main"].includes(name)).map(([name, , , , self, total]) => `${name} ${self / top.total} ${total / top.total}`).sort().join();
  check(`reads ${format}`, shares === `idle ${50 / 150} ${50 / 150},main 0 1,work ${100 / 150} ${100 / 150}`, shares);
}
const packed = file("packed.json.gz", zlib.gzipSync(otlp));
await drop("main", packed);
await until(() => document.querySelector("#looking b").textContent === "packed.json.gz");
check("reads what is packed", true);

// ---- Not kept, and gone when it is closed

check("keeps nothing of it in the store", JSON.stringify(hostsBefore.map(([name]) => name)) === JSON.stringify((await json("values?label=host&from=now-1d")).map(([name]) => name)) &&
  !(await json(`values?label=host&${range}`)).length);
check("has eight of them at most", (await json("files")).length === 8, (await json("files")).map(({ name }) => name));
await page.goto(`${url}/?file=${id}&${range}`);
await until(() => document.getElementById("looking").textContent.trim());
await page.goto(`${url}/?file=00000000000000000000000000000000`);
await until(() => /gone/.test(document.getElementById("looking").textContent) && /not kept any more/.test(document.getElementById("message").textContent));
check("says when one is gone", true);
await shoot("gone");
looking.errors.length = 0;    // the browser notes each answer that is an error
await page.click("#looking button");
await until(() => document.getElementById("looking").hidden && !location.search.includes("file="));
await settled();
check("goes back to what is sampled", await page.locator("#chart").isVisible());

// ---- What is no profile, and what is too much of one

for (const [name, bytes, want] of [["noise", Buffer.from(Array.from({ length: 5000 }, (_, i) => i * 7919 % 251)), /no profile that can be read/], ["empty", Buffer.alloc(0), /no profile that can be read/],
  ["cut.pb.gz", zlib.gzipSync(Buffer.from(otlp)).subarray(0, 300), /can be read|broken/], ["deep.json", Buffer.from("[".repeat(200000)), /can be read|broken/],
  ["bomb.gz", zlib.gzipSync(Buffer.alloc(300 << 20, 97)), /memory|too large/]]) {
  await drop("main", file(name, bytes));
  await until(start => document.getElementById("message").textContent.startsWith(start), name + ":").catch(() => {});
  check(`refuses ${name} with a sentence`, want.test(await text("#message")) && (await text("#message")).startsWith(name), await text("#message"));
}
looking.errors.length = 0;
check("is there after all that", (await json("generation")).generation > 0);

// ---- By the keyboard

const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("O")]);
await chooser.setFiles({ name: "chosen.folded", mimeType: "text/plain", buffer: Buffer.from("main;x 1\n") });
await until(() => document.querySelector("#looking b")?.textContent === "chosen.folded");
check("opens a file that is chosen", true);
await page.click("#looking button:has-text('Close file')");
await until(() => document.getElementById("looking").hidden);
check("closes it", !(await json("files")).some(({ name }) => name === "chosen.folded"));

await end(looking);
