// SPDX-License-Identifier: Apache-2.0
// links.mjs URL FUNCTION PID SCREENSHOTS: from metrics, traces, logs and links to flame graphs, in Chromium. FUNCTION is hot in
// process PID. Prints TAP.
import { check, end, look } from "./look.mjs";

const [url, hot, pid, screenshots] = process.argv.slice(2);
const trace = "0af7651916cd43dd8448eb211c80319c", span = "00f067aa0ba902b7", now = Date.now(), remote = `away-${now}`;
const looking = await look(url), { page, query, text, drawn } = looking;

// Two spans of one trace; one sample each, of functions that tell them apart.
function profile(now) {
  const strings = ["", "samples", "count", "order", "pay", "cpu", "nanoseconds"];
  const second = BigInt(now) * 1000000n, sample = n => ({ stackIndex: n, linkIndex: n, timestampsUnixNano: [String(second + BigInt(n))] });
  const text = (key, value) => ({ key, value: { stringValue: value } });
  return { resourceProfiles: [{ resource: { attributes: [text("host.name", remote), text("service.name", "shop")] }, scopeProfiles: [{ profiles: [{
    sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 5, unitStrindex: 6 }, period: "10000000",
    timeUnixNano: String(second), samples: [sample(1), sample(2)] }] }] }],
    dictionary: { mappingTable: [{}], attributeTable: [{}], stringTable: strings, functionTable: [{}, { nameStrindex: 3 }, { nameStrindex: 4 }],
      linkTable: [{}, { traceId: trace, spanId: span }, { traceId: trace, spanId: "00000000000000aa" }],
      locationTable: [{}, { lines: [{ functionIndex: 1 }] }, { lines: [{ functionIndex: 2 }] }],
      stackTable: [{}, { locationIndices: [1] }, { locationIndices: [2, 1] }] } };
}

const send = body => fetch(url + "/v1development/profiles", { method: "POST", body, headers: { "content-type": "application/json", "user-agent": "a-shop/1" } });
check("takes a profile with a trace", (await send(JSON.stringify(profile(now)))).status === 200);
check("refuses what is none", (await send("{")).status === 400);

// Metrics: a click, the keyboard, a process.
await page.goto(url + "/?view=heat&live=&from=now-30s");
const charts = page.locator("#metrics figure");
await page.waitForFunction(() => /:/.test(document.querySelector("#metrics figure .note")?.textContent ?? ""));
check("charts CPU, memory, load and processes", (await charts.count()) === 5 && /busy/.test(await charts.first().locator(".note").textContent()),
      await charts.first().textContent());
check("knows the memory of processes", /\(\d+\)/.test(await charts.nth(4).textContent()), await charts.nth(4).textContent());
await page.screenshot({ path: screenshots + "/timeline.png", fullPage: true });
await charts.first().locator("canvas").press("Enter");
await page.waitForFunction(() => !location.search.includes("view="));
await drawn();
const first = Number(query().get("from")), last = Number(query().get("to"));
check("shows the flame graph of a spike by a key", last > first && last - first <= 60 && Math.abs(last - now / 1000) < 120, page.url());
await page.goBack();
const box = await charts.first().locator("canvas").boundingBox();
const left = () => page.evaluate(() => /from=\d/.test(location.search));
for (let share = 0.95; share > 0.5 && !(await left()); share -= 0.03)
  await page.mouse.click(box.x + box.width * share, box.y + box.height / 2);
await page.waitForFunction(() => /from=\d/.test(location.search));
check("shows that of a spike by a click", !query().get("view") && !query().has("where"), page.url());
await page.goBack();
await charts.nth(3).locator(".legend button", { hasText: `(${pid})` }).click();
await page.waitForFunction(name => document.getElementById("chips")?.textContent.includes(name), "pid=" + pid);
await drawn();
await page.fill("#search", hot);
await page.waitForFunction(() => parseFloat(document.getElementById("matched")?.textContent) > 20);
check("shows that of a process", query().getAll("where").includes("pid=" + pid), page.url());

// Links from elsewhere.
await page.goto(`${url}/?from=${((now - 60000) / 1000).toFixed(3)}&to=${(Date.now() / 1000).toFixed(3)}&pid=${pid}&search=${hot}`);
await page.waitForFunction(() => parseFloat(document.getElementById("matched")?.textContent) > 20);
check("takes a link with a range and a pid", (await text("#chips")).includes("pid=" + pid));
await page.goto(`${url}/?view=top&from=now-1h&trace_id=${trace.toUpperCase()}&span_id=${span}`);
await page.waitForSelector("#top-rows tbody tr[data-place]");
check("takes a link with a trace and a span", (await page.locator("#top-rows tbody tr").allTextContents()).join().includes("order") &&
      !(await text("#top-rows")).includes("pay"), await text("#top-rows"));

// Traces.
await page.goto(url + "/?view=traces&from=now-1h&live=");
await page.waitForSelector("#traces-view tbody tr");
check("lists traces", (await text("#traces-view tbody tr")).includes("shop"), await text("#traces-view"));
await page.fill("#traces-view input[name=find]", "nothing like it");
check("filters them", (await page.locator("#traces-view tbody tr").count()) === 0 && query().get("find") === "nothing like it", page.url());
await page.fill("#traces-view input[name=find]", "SHOP");
await page.locator("#traces-view tbody tr").first().locator("button[aria-expanded]").click();
await page.waitForSelector("#traces-view tr.span");
check("lists the spans of one", (await page.locator("#traces-view tr.span").count()) === 2);
await page.screenshot({ path: screenshots + "/traces.png" });
await page.fill("#traces-view input.template", "https://tempo.example/{trace}?span={span}&from={from}");
await page.locator("#traces-view input.template").blur();
const away = await page.locator("#traces-view tr.span a[target]").evaluateAll(links => links.map(link => link.href));
check("links out by a template", away.length === 2 && away.some(href => href.startsWith(`https://tempo.example/${trace}?span=${span}&from=`)), away.join());
await page.fill("#traces-view input.template", "data:text/html,{trace}");
await page.locator("#traces-view input.template").blur();
check("but to web pages only", (await page.locator("#traces-view a[target]").count()) === 0);
const file = await fetch(url + `/api/v1/traces/${trace}/profile?format=json`), held = file.ok ? await file.json() : {};
check("gives the profile of a trace as a file", held.dictionary?.linkTable?.some(link => link.traceId === trace), `${file.status} ${JSON.stringify(held).slice(0, 300)}`);
check("has no profile of what is no trace", (await fetch(url + "/api/v1/traces/12/profile")).status === 404);
await page.locator("#traces-view tr.span button", { hasText: span }).click();
await page.waitForFunction(() => document.getElementById("flame")?.height > 20);
check("shows the flame graph of a span", query().getAll("where").join() === `trace=${trace},span=${span}`, page.url());
await page.goto(url + `/?view=heat&host=${remote}&from=now-5m&live=`);
await page.waitForFunction(() => /not sent/.test(document.getElementById("metrics")?.textContent));
check("says which host sends no memory", await charts.nth(1).isHidden());
// Then it tells of itself: two looks, ten seconds apart, one of its two CPUs busy.
function machine(at, seconds) {
  const text = (key, value) => ({ key, value: { stringValue: value } }), timeUnixNano = String(BigInt(at) * 1000000n);
  const time = (state, asDouble) => ({ timeUnixNano, asDouble, attributes: [text("state", state)] });
  const gauge = (name, asInt) => ({ name, gauge: { dataPoints: [{ timeUnixNano, asInt }] } });
  return { resourceMetrics: [{ resource: { attributes: [text("host.name", remote)] }, scopeMetrics: [{ metrics: [
    { name: "system.cpu.time", sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [time("user", seconds), time("idle", seconds)] } },
    gauge("system.cpu.logical.count", "2"), gauge("system.memory.limit", String(8 * 2 ** 30)), gauge("system.linux.memory.available", String(6 * 2 ** 30))] }] }] };
}
for (const [at, seconds] of [[now - 10000, 100], [now, 110]])
  check("takes what a host tells of itself", (await fetch(url + "/v1/metrics", { method: "POST", body: JSON.stringify(machine(at, seconds)),
    headers: { "content-type": "application/json" } })).status === 200);
await page.reload();
const told = await page.waitForFunction(name => document.getElementById("metrics")?.textContent.includes(`What ${name} did`), remote).catch(() => null);
check("shows memory of another host", told && (await charts.nth(1).isVisible()) && (await page.locator("#metrics select").inputValue()) === remote,
      await text("#metrics"));
await page.screenshot({ path: screenshots + "/away.png" });
await page.selectOption("#metrics select", (await page.locator("#metrics option").allTextContents()).find(host => !host.startsWith("away")));
await page.waitForFunction(() => !document.querySelectorAll("#metrics figure")[1].hidden);
check("shows another host", !query().getAll("where").includes(`host=${remote}`), page.url());

// Logs, live.
await page.goto(url + "/?view=logs");
const refused = page.locator("#logs-view tr.error", { hasText: "a-shop" }).first(); // the machine may have had others
await refused.waitFor();
check("shows what was refused and why", /a-shop.*not OTLP/.test(await refused.textContent()), await refused.textContent());
check("shows what arrived", /2 samples of 1 resource/.test(await text("#logs-view")));
const before = await page.locator("#logs-view tr.error").count();
await send("[");
await page.waitForFunction(count => document.querySelectorAll("#logs-view tr.error").length > count, before);
check("shows what arrives while one looks", true);
await page.selectOption("#logs-view select", "bad");
await page.screenshot({ path: screenshots + "/logs.png" });
await page.locator("#logs-view tr.error button").first().click();
await drawn();
check("shows the flame graph of that moment", Number(query().get("to")) > now / 1000, page.url());

await page.click("[data-view=executables]");
await page.waitForSelector("#executable-rows .badge");
check("tells which files have names", /symbolized|partly/.test(await text("#executable-rows")));
await page.setInputFiles("#upload input", (await import("node:fs")).realpathSync(`/proc/${pid}/exe`));
await page.waitForFunction(() => /have names now|is kept/.test(document.querySelector("#upload [role=status]")?.textContent));
check("takes a program for its symbols", /inlined functions only to new ones/.test(await text("#upload")));
await page.screenshot({ path: screenshots + "/executables.png" });

for (const view of ["heat", "traces", "logs", "executables"]) {
  await page.setViewportSize({ width: 390, height: 800 });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${url}/?view=${view}&live=`);
  await page.waitForSelector({ heat: "#metrics figure", traces: "#traces-view .empty, #traces-view tr", logs: "#logs-view tr", executables: ".badge" }[view]);
  check(`fits a phone with ${view}`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        await page.evaluate(() => document.documentElement.scrollWidth));
}
await page.goto(`${url}/?view=heat&live=`);
await page.waitForFunction(() => /:/.test(document.querySelector("#metrics figure .note")?.textContent ?? ""));
await page.screenshot({ path: screenshots + "/timeline-phone.png", fullPage: true });
await end(looking);
