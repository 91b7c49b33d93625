// SPDX-License-Identifier: Apache-2.0
// annotations.mjs URL SCREENSHOTS: what is said of moments, by tools and by hand, on the chart; in Chromium. Prints TAP.
import { check, end, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = name => page.screenshot({ path: `${screenshots}/annotations-${name}.png` });
const post = (form, headers = {}) => fetch(url + "/api/v1/annotations", { method: "POST", body: new URLSearchParams(form), headers });
const list = async query => (await (await fetch(`${url}/api/v1/annotations?${query}`)).json()).rows;

// ---- By a tool: a deploy of one service, in the middle of a minute that is known

const second = Math.floor(Date.now() / 1000) - 40, host = "notes-" + second, names = ["", "samples", "count", "cpu", "nanoseconds", "main", "old", "new"];
const attribute = (key, value) => ({ key, value: { stringValue: value } });
const profile = (stack, from) => ({ resource: { attributes: [attribute("host.name", host), attribute("service.name", "shop")] }, scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000",
  timeUnixNano: String(BigInt(from) * 1000000000n), samples: [{ stackIndex: stack, timestampsUnixNano: Array.from({ length: 300 }, (_, i) => String(BigInt(from) * 1000000000n + BigInt(i * 50 + 10) * 1000000n)) }] }] }] });
const sent = await fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ resourceProfiles: [profile(1, second), profile(2, second + 15)],
  dictionary: { stringTable: names, mappingTable: [{}], attributeTable: [{}], linkTable: [{}], locationTable: [{}, ...[5, 6, 7].map(at => ({ lines: [{ functionIndex: at }] }))], functionTable: names.map((_, i) => ({ nameStrindex: i })),
    stackTable: [{}, { locationIndices: [2, 1] }, { locationIndices: [3, 1] }] } }) });
check("takes profiles", sent.status === 200, await sent.text());
const evil = "<img src=x onerror=alert(1)> v2";
await page.goto(`${url}/?host=${host}&from=now-1m`);
await until(() => /CPU/.test(document.getElementById("chart-note").textContent));
check("has no annotation of others", !/annotat/.test(await text("#chart-note")) || !/v2/.test(await text("#chart-note")), await text("#chart-note"));
const told = await post({ kind: "deploy", title: evil, text: "by a pipeline", service: "shop", host, time: second + 15 });
check("takes an annotation", told.status === 200 && (await told.clone().json()).id > 0, await told.text());
await post({ kind: "deploy", title: "elsewhere", host: "another", time: second + 15 });
await until(() => /v2/.test(document.getElementById("chart-note").textContent));
check("shows it while it looks on", !/elsewhere/.test(await text("#chart-note")), await text("#chart-note"));

await page.goto(`${url}/?host=${host}&from=${second}&to=${second + 30}&live=`);
await until(() => /v2/.test(document.getElementById("chart-note").textContent));
await settled();
const box = await page.locator("#chart").boundingBox(), middle = box.x + 56 + (box.width - 56) / 2;
await page.mouse.move(middle + 1, box.y + 40);
await until(() => /deploy/.test(document.getElementById("tip").textContent));
check("tells of it where it is, as text", (await text("#tip")).includes(evil) && /by a pipeline/.test(await text("#tip")) && !await page.locator("#tip img").count(), await text("#tip"));
await shoot("tip");
await page.mouse.move(middle + 200, box.y + 40);
await until(() => !/deploy/.test(document.getElementById("tip").textContent));
check("and nowhere else", true);
const green = await page.evaluate(() => {
  const canvas = document.getElementById("chart"), ratio = canvas.width / canvas.clientWidth, { data } = canvas.getContext("2d").getImageData((56 + (canvas.clientWidth - 56) / 2) * ratio, 30, 2, 1);
  return [...data.slice(0, 3)];
});
check("draws a line there", green[1] > green[0] && green[1] > green[2], green);

// ---- Before and after

await page.mouse.click(middle + 1, box.y + 5);
await until(() => !document.getElementById("menu").hidden);
await page.click("#menu button:has-text('Compare what came after with before')");
await until(() => document.querySelectorAll("#diff-rows tbody tr[data-key]").length === 3);
const rows = await page.locator("#diff-rows tbody tr[data-key]").evaluateAll(all => all.map(row => [...row.cells].slice(0, 4).map(cell => cell.textContent.trim()).join(" ")).sort());
check("compares what came after with before", rows[0] === "+100.0 % 100.0 % 0.00 % new" && rows[2] === "−100.0 % 0.00 % 100.0 % old", rows);
check("with the same time before", Number(query().get("from")) === second + 15 && Math.abs(query().get("to") - second - 30) < 0.01, page.url());
await shoot("diff");

// ---- By hand, with keys alone

await page.goto(`${url}/?host=${host}&from=${second}&to=${second + 30}&live=`);
await until(() => /v2/.test(document.getElementById("chart-note").textContent));
await page.focus("#chart");
await page.keyboard.press("Home");
await page.keyboard.press("a");
await until(() => !document.getElementById("menu").hidden);
await page.click("#menu button:has-text('Annotate this moment')");
await page.fill("#annotate input[name=title]", "the pager went off");
await page.selectOption("#annotate select", "incident");
await shoot("dialog");
await page.press("#annotate input[name=title]", "Enter");
await until(() => /the pager went off/.test(document.getElementById("chart-note").textContent));
const [, by] = await list(`host=${host}&from=${second - 5}&to=${second + 30}`);
check("keeps what was said by hand", by?.title === "the pager went off" && by.kind === "incident" && by.host === host && Math.abs(by.time - second) < 2, by);
await page.focus("#chart");
await page.keyboard.press("Home");
await page.keyboard.press("a");
await page.click("#menu button:has-text('Remove')");
await until(() => !/pager/.test(document.getElementById("chart-note").textContent));
check("removes it", (await list(`host=${host}&from=${second - 5}&to=${second + 30}`)).length === 1);

// ---- By wick itself, and what cannot be kept

check("tells when wick started", (await list("from=now-1h")).some(({ kind, title }) => kind === "restart" && title === "wick started"));
for (const [form, want] of [[{ title: "" }, /title is missing/], [{ title: "x", kind: "Two Words" }, /one word/], [{ title: "x".repeat(300) }, /255 bytes/], [{ title: "x", text: "y".repeat(5000) }, /4000 bytes/],
  [{ title: "x", time: "99999999999" }, /seconds since 1970|future/], [{ title: "x", time: "now", end: "now-1h" }, /end is before/]]) {
  const answer = await post(form);
  check(`refuses ${JSON.stringify(form).slice(0, 40)} with a sentence`, answer.status === 400 && want.test((await answer.clone().json()).error), await answer.text());
}
check("refuses what another site posts", (await post({ title: "x" }, { origin: "http://evil.example" })).status === 403);
check("refuses what is too much", [413, 400].includes((await post({ title: "x", text: "y".repeat(40000) })).status));
check("says when there is none to remove", (await fetch(url + "/api/v1/annotations?id=4000000", { method: "DELETE" })).status === 404);

await end(looking);
