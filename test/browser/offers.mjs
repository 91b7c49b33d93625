// SPDX-License-Identifier: Apache-2.0
// offers.mjs URL SCREENSHOTS: one function in full, a table beside the flame graph, bottom up, what changed, views that are kept; in Chromium, of
// profiles whose every number is known. Prints TAP.
import { arrived, check, end, foundPixels, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = name => page.screenshot({ path: `${screenshots}/offers-${name}.png` });

// ---- What is sent: two services, and two files that have a function `work`; a minute before only a part of it

const names = ["", "samples", "count", "cpu", "nanoseconds", "/opt/lib.so", "/opt/other.so", "main", "serve", "query", "work", "idle"];
const [main, serve, ask, work, idle] = [7, 8, 9, 10, 11], second = Math.floor(Date.now() / 1000) - 10, then = second - 60, host = "shop-" + second;
const locations = [{}, [main, 1], [serve, 1], [ask, 1], [work, 1], [idle, 1], [work, 2]].map(one => one[0] ? { mappingIndex: one[1], lines: [{ functionIndex: one[0] }] } : {});
const stacks = [[], [4, 2, 1], [5, 1], [6, 2, 1], [4, 3, 1], [3, 1]].map(locationIndices => ({ locationIndices }));
const attribute = (key, value) => ({ key, value: { stringValue: value } });
const profile = (service, at, counts) => ({ resource: { attributes: [attribute("host.name", host), attribute("service.name", service), attribute("process.executable.name", service)] },
  scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000", timeUnixNano: String(BigInt(at) * 1000000000n),
    samples: Object.entries(counts).map(([stackIndex, count]) => ({ stackIndex: Number(stackIndex), timestampsUnixNano: Array.from({ length: count }, (_, i) => String(BigInt(at) * 1000000000n + BigInt(i) * 10000000n)) })) }] }] });
const body = { resourceProfiles: [profile("web", second, { 1: 60, 2: 20, 3: 5 }), profile("db", second, { 4: 30, 5: 10 }), profile("web", then, { 1: 20, 2: 20 })],
  dictionary: { stringTable: names, mappingTable: [{}, { filenameStrindex: 5 }, { filenameStrindex: 6 }], attributeTable: [{}], linkTable: [{}], locationTable: locations,
    functionTable: names.map((_, i) => ({ nameStrindex: i })), stackTable: stacks } };
const sent = await fetch(url + "/v1development/profiles", { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
check("takes profiles of two services", sent.status === 200, await sent.text());
await arrived(url, host);
const shop = `host=${host}&from=${second - 5}&to=${second + 5}`;

// ---- One function: where, whose, when, who calls it

await page.goto(`${url}/?view=sandwich&function=work&in=/opt/lib.so&${shop}`);
await until(() => /72\.0 %/.test(document.getElementById("card")?.textContent) && document.querySelectorAll("#card-whose tr").length);
const card = await text("#card-facts");
check("says how much a function has", /72\.0 % total/.test(card) && /72\.0 % self/.test(card) && /900 ms/.test(card), card);
check("says in which other files there is one", /other\.so/.test(await text("#card-files")) && /4\.00 %/.test(await text("#card-files")), await text("#card-files"));
check("says whose it is", /service.*web.*66\.7 %.*db.*33\.3 %/s.test(await text("#card-whose")), await text("#card-whose"));
await until(() => /CPU.* at most/.test(document.getElementById("trend-note").textContent));
const trend = await page.locator("#trend").boundingBox();
check("draws its trend", trend.height > 50 && Object.keys(await page.locator("#trend-legend button").allTextContents()).length === 2, await page.locator("#trend-legend").textContent());
check("draws who calls it", await page.evaluate(() => document.getElementById("callers").height) > 60);
await shoot("function");
await page.click("#card-files button:has-text('other.so')");
await until(() => new URLSearchParams(location.search).get("in") === "/opt/other.so" && /4\.00 %/.test(document.getElementById("card-facts").textContent));
check("goes to that of the other file", /50 ms/.test(await text("#card-facts")), await text("#card-facts"));
await page.click("#card-whose button:has-text('web')");
await until(() => /service=web/.test(document.getElementById("chips").textContent));
check("goes on with one of the services", query().getAll("where").includes("service=web"), page.url());

// ---- Functions of scripts, which have no program of their own, are of their source

const scripts = { resourceProfiles: [{ resource: { attributes: [attribute("host.name", host + "-py"), attribute("service.name", "py")] }, scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, timeUnixNano: String(BigInt(second) * 1000000000n),
  samples: [{ stackIndex: 1, values: ["3"] }, { stackIndex: 2, values: ["1"] }] }] }] }],
  dictionary: { stringTable: ["", "samples", "count", "handle", "/srv/a.py", "/srv/b.py"], mappingTable: [{}], attributeTable: [{}], linkTable: [{}], locationTable: [{}, { lines: [{ functionIndex: 1 }] }, { lines: [{ functionIndex: 2 }] }],
    functionTable: [{}, { nameStrindex: 3, filenameStrindex: 4 }, { nameStrindex: 3, filenameStrindex: 5 }], stackTable: [{}, { locationIndices: [1] }, { locationIndices: [2] }] } };
await fetch(url + "/v1development/profiles", { method: "POST", body: JSON.stringify(scripts), headers: { "content-type": "application/json" } });
await arrived(url, host + "-py");
await page.goto(`${url}/?view=top&service=py&${shop.replace(host, host + "-py")}&live=`);
await until(() => document.querySelectorAll("#top-rows td.name button").length === 2);
await page.locator("#top-rows td.name button").first().click();
await until(() => /75\.0 % total/.test(document.getElementById("card-facts")?.textContent));
check("knows functions of two scripts apart", query().get("in") === "/srv/a.py" && /b\.py 25\.0 %/.test(await text("#card-files")), [page.url(), await text("#card-files")]);

// ---- A chart of some stacks only

await page.goto(`${url}/?${shop}&focus=query&live=`);
await until(() => document.getElementById("chart-legend").textContent);
await settled();
check("charts only the stacks that are shown", (await page.locator("#chart-legend button").allTextContents()).join() === "db" && /only stacks/.test(await text("#chart-note")), [await text("#chart-legend"), await text("#chart-note")]);

// ---- A table beside the flame graph

await page.goto(`${url}/?${shop}&live=&beside=1`);
const rowsAre = want => until(text => [...document.querySelectorAll("#beside-rows tr[data-key]")].map(row => `${row.dataset.key.split("\n")[0]} ${row.cells[1].textContent}`).join(", ") === text, want);
await rowsAre("work 72.0 %, idle 16.0 %, query 32.0 %, work 4.00 %, main 100.0 %, serve 52.0 %");
check("has a table beside the flame graph", true);
await shoot("beside");
const flame = await page.locator("#flame").boundingBox();
await page.mouse.move(flame.x + flame.width * 0.1, flame.y + 90);
await until(() => document.querySelector("#beside-rows tr.at"));
check("shows the row of the frame that is pointed at", (await page.locator("#beside-rows tr.at").getAttribute("data-key")).startsWith("work"));
const before = await page.evaluate(foundPixels, "flame");
await page.locator("#beside-rows tr", { hasText: "query" }).hover();
const lit = await page.evaluate(foundPixels, "flame");
check("shows the frames of the row that is pointed at", before === 0 && lit > 0.25 * flame.width * 15, [before, lit]);
await page.mouse.move(flame.x + flame.width * 0.1, flame.y + 30);
await page.mouse.click(flame.x + flame.width * 0.1, flame.y + 30);
await until(() => location.search.includes("path="));
await rowsAre("work 24.0 %, query 32.0 %, main 32.0 %").catch(() => {});
const part = await page.locator("#beside-rows tr[data-key]").evaluateAll(rows => rows.map(row => `${row.dataset.key.split("\n")[0]} ${row.cells[1].textContent}`).join(", "));
check("has in it what was zoomed into", part === "work 24.0 %, query 32.0 %, main 32.0 %", part);
await page.locator("#beside-rows td.name button", { hasText: "query" }).click();
await until(() => /query/.test(document.getElementById("search").value));
check("searches for what is clicked in it", /matched/.test(await text("#matched")), await text("#matched"));

// ---- Bottom up

await page.goto(`${url}/?${shop}&live=&group=`);
await until(() => document.getElementById("flame")?.height > 60);
await page.check("#inverted");
await until(() => location.search.includes("inverted=1"));
await settled();
const inverted = await page.locator("#flame").boundingBox();
await page.mouse.move(inverted.x + inverted.width * 0.5, inverted.y + 30);
await until(() => /work/.test(document.querySelector("#tip b").textContent));
check("stands on its head", /total72\.0 %/.test(await text("#tip dl")), await text("#tip"));
await page.keyboard.press("b");
await until(() => !location.search.includes("inverted=1"));
check("and back by a key", true);

// ---- What changed

await page.goto(`${url}/?view=diff&${shop.replace(/from=\d+&to=\d+/, `from=${second - 30}&to=${second + 30}`)}&live=`);
await until(() => document.querySelectorAll("#diff-rows tbody tr[data-key]").length === 6);
const changes = await page.locator("#diff-rows tbody tr[data-key]").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));
check("lists what changed most first", changes[0][0] === "−34.0 %" && changes[0][3] === "idle lib.so" && changes[1][0] === "+22.0 %" && changes[1][3] === "work lib.so", changes);
check("says what is noise", /noise/.test(changes.find(row => row[0] === "+4.00 %")?.[4]) && !/noise/.test(changes[0][4]), changes);
await shoot("changes");
await page.goto(`${url}/?view=diff&${shop}&service=web&base=same&live=`);
await until(() => /compared with itself/.test(document.getElementById("message").textContent));
await page.fill("#versus", "service=db, host=" + host);
await page.press("#versus", "Enter");
await until(() => document.querySelector("#diff-rows tbody tr[data-key] td")?.textContent === "−25.0 %");
await until(() => /850 ms.*400 ms/.test(document.getElementById("diff-note").textContent));
const versus = await page.locator("#diff-rows tbody tr[data-key]").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join(" ")));
check("compares one service with another", versus[0] === "−25.0 % 0.00 % 25.0 % query lib.so sure" && versus[1].startsWith("+23.5 % 23.5 % 0.00 % idle"), versus);
await shoot("versus");

// ---- Side by side

const ranges = shop.replace(/from=\d+&to=\d+/, `from=${second - 30}&to=${second + 30}`);
await page.goto(`${url}/?view=diff&${ranges}&live=&group=`);
await until(() => document.querySelectorAll("#diff-rows tbody tr[data-key]").length === 6);
await page.check("input[name=sides]");
await until(() => /125 samples/.test(document.getElementById("now-title").textContent) && /40 samples/.test(document.getElementById("then-title").textContent));
check("has both beside each other", await page.locator("#two-sides").isVisible() && !await page.locator("#diff-rows").isVisible() && query().get("sides") === "1", page.url());
const side = await page.locator("#now").boundingBox();
await page.mouse.move(side.x + side.width * 0.95, side.y + 50);
await until(() => /serve/.test(document.querySelector("#tip b")?.textContent));
check("shows in one what the hand is at in the other", await page.evaluate(foundPixels, "then") > 100 && await page.evaluate(foundPixels, "now") === 0, [await page.evaluate(foundPixels, "then"), await page.evaluate(foundPixels, "now")]);
await shoot("sides");
await page.mouse.click(side.x + side.width * 0.95, side.y + 50);
await until(() => /path=main.*serve/.test(decodeURIComponent(location.search)));
await page.mouse.move(5, 5);
const width = await page.evaluate(() => document.getElementById("then").clientWidth), there = await page.locator("#then").boundingBox();
await page.mouse.move(there.x + width * 0.05, there.y + 50);
await until(() => /serve/.test(document.querySelector("#tip b")?.textContent));
check("zooms into both", /total50\.0 %/.test(await text("#tip dl")), await text("#tip"));
await page.mouse.move(5, 5);
await page.keyboard.press("d");
await until(() => !document.getElementById("one-diff").hidden);
check("and back to one difference by a key", !query().get("sides"), page.url());

// ---- Completion over labels and values

await page.goto(`${url}/?${shop}&live=`);
const suggested = (typed, want) => page.fill("#filter", typed).then(() => until(text => [...document.querySelectorAll("#suggestions option")].some(option => option.value === text), want));
await suggested("", "pod=");
await suggested("", "service=db");
await suggested("service!=", "service!=web");
check("completes labels and values", await page.evaluate(() => [...document.querySelectorAll("#suggestions option")].every(option => option.value.startsWith("service!="))));
await page.fill("#filter", "");

// ---- Views that are kept

await page.goto(`${url}/?view=top&${shop}&order=total&live=`);
await page.waitForSelector("#top-rows td.name");
await page.click("#views");
await page.fill("#view-name", "The shop, by total");
await page.click("#view-keep button");
await page.waitForSelector("#view-list a");
await shoot("views");
await page.keyboard.press("Escape");
await page.goto(url + "/?view=status&live=");
await page.waitForSelector("#status-view .card");
await page.click("#views");
await page.click("#view-list a:has-text('The shop, by total')");
await page.waitForSelector("#top-rows td.name");
check("keeps a view by name", query().get("order") === "total" && query().get("view") === "top" && (await text("#chips")).includes("host=" + host), page.url());
await page.click("#views");
await page.click("#view-list button");
await until(() => !document.querySelector("#view-list a"));
check("forgets it again", true);
await page.keyboard.press("Escape");

await end(looking);
