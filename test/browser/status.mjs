// SPDX-License-Identifier: Apache-2.0
// status.mjs SCREENSHOTS: what Status says of a wick of its own ($WICK) that is well, and then of one whose exporter has nowhere to send to; in Chromium.
// Prints TAP.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { check, end, look } from "./look.mjs";

const [screenshots] = process.argv.slice(2), directory = fs.mkdtempSync(path.join(os.tmpdir(), "wick-status-"));
const port = await new Promise(resolve => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port: free } = server.address();
    server.close(() => resolve(free));
  });
});
const url = `http://127.0.0.1:${port}`, names = ["", "samples", "count", "cpu", "nanoseconds", "main"];

async function start(exporters) {
  fs.writeFileSync(directory + "/wick.yaml", JSON.stringify({ receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } }, exporters: { store: { path: directory + "/store" }, ...exporters },
    extensions: { page: { endpoint: `127.0.0.1:${port}` } }, service: { extensions: ["page"], pipelines: { profiles: { receivers: ["otlp"], exporters: ["store", ...Object.keys(exporters)] } }, telemetry: { metrics: { level: "none" } } } }));
  const child = spawn(process.env.WICK, ["--config", directory + "/wick.yaml"], { stdio: ["ignore", "ignore", fs.openSync(directory + "/log", "a")] });
  for (let i = 0; i < 100 && !(await fetch(url + "/api/v1/generation").catch(() => null))?.ok; i++)
    await new Promise(resolve => setTimeout(resolve, 100));
  return () => new Promise(resolve => {
    child.once("exit", resolve);
    child.kill("SIGTERM");
  });
}

const attribute = (key, value) => ({ key, value: { stringValue: value } });
const send = (host, at, agent) => fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json", "user-agent": agent }, body: JSON.stringify({
  resourceProfiles: [{ resource: { attributes: [attribute("host.name", host)] }, scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000",
    timeUnixNano: String(BigInt(at) * 1000000000n), samples: [{ stackIndex: 1, timestampsUnixNano: Array.from({ length: 50 }, (_, i) => String(BigInt(at) * 1000000000n + BigInt(i) * 10000000n)) }] }] }] }],
  dictionary: { stringTable: names, mappingTable: [{}], attributeTable: [{}], linkTable: [{}], locationTable: [{}, { lines: [{ functionIndex: 5 }] }], functionTable: names.map((_, i) => ({ nameStrindex: i })), stackTable: [{}, { locationIndices: [1] }] } }) });

// ---- All is well

let stop = await start({});
const looking = await look(url), { page, text } = looking, until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const now = () => Math.floor(Date.now() / 1000);
for (let i = 0; i < 3; i++)
  check(`takes profiles ${i}`, (await send("lively", now() - 2, "profiler/1.2.3")).status === 200);
await new Promise(resolve => setTimeout(resolve, 1500));
await page.goto(url + "/?view=status");
await until(() => document.querySelectorAll(".card.hosts tbody tr").length === 1 && document.querySelector(".card.senders tbody tr"));
const row = selector => page.locator(`${selector} tbody tr`).first().locator("td").allTextContents();
check("says that all is well", /All is well/.test(await text(".attention")), await text(".attention"));
check("says which host, and when it was last sampled", (await row(".card.hosts"))[0] === "lively" && (await row(".card.hosts"))[2] === "now", await row(".card.hosts"));
check("says which agent, in which version, and its last word", (await row(".card.senders")).join() === "127.0.0.1,profiler/1.2.3,otlp,now,3,3,0", await row(".card.senders"));
check("says what an exporter has to do", (await row(".card.exporters")).slice(0, 4).join() === "store,ok,0 of 1,000,3", await row(".card.exporters"));
check("says what a receiver took", (await row(".card.receivers")).slice(0, 4).join() === "otlp,ok,3,0", await row(".card.receivers"));
check("says what is left of the disk", /are free on its disk/.test(await text("#status-view")));
await page.screenshot({ path: `${screenshots}/status-well.png` });
await stop();

// ---- An exporter without anybody to send to, a host that has gone, and what is broken

stop = await start({ otlphttp: { endpoint: "http://127.0.0.1:1", sending_queue: { queue_size: 2, num_consumers: 1 }, retry_on_failure: { initial_interval: "60s", max_interval: "60s" } } });
await send("gone", now() - 600, "profiler/1.2.3");
for (let i = 0; i < 6; i++)
  await send("lively", now() - 2, "profiler/1.2.4");
await fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json", "user-agent": "broken/0.1" }, body: "{" });
await page.goto("about:blank");
await page.goto(url + "/?view=status");
await until(() => /Needs attention/.test(document.querySelector(".attention")?.textContent) && /gone has been silent/.test(document.querySelector(".attention").textContent));
const told = await text(".attention");
check("says that an exporter is stuck, and what to do", /otlphttp does not get rid of what it has: .*Is the other side there/s.test(told), told);
check("says that samples were dropped, and what to do", /[\d,]+ samples were dropped before otlphttp, whose queue was full.*queue_size/s.test(told), told);
check("says which host is silent, and what to do", /gone has been silent for (10|9)\.\d min.*reach this port/s.test(told) && !/lively has been/.test(told), told);
check("says whose requests are refused", /1 of 1 requests of 127\.0\.0\.1 \(broken\/0\.1\) were refused.*Logs say why/s.test(told), told);
const dropped = Number((await page.locator(".card.exporters tr[data-key=otlphttp] td").nth(5).textContent()).replace(/\D/g, ""));
const counted = /^otelcol_exporter_enqueue_failed_profile_samples\S* (\d+)/m.exec(await (await fetch(url + "/metrics").catch(() => null))?.text?.() ?? "");
check("counts them", dropped > 0 && (!counted || Number(counted[1]) === dropped), [dropped, counted?.[1]]);
check("knows two versions of an agent apart", (await page.locator(".card.senders tbody tr").count()) === 3);
await page.screenshot({ path: `${screenshots}/status-ill.png`, fullPage: true });
const phone = await looking.open({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
await phone.goto(url + "/?view=status&live=");
await phone.waitForSelector(".card.exporters");
check("fits a phone", await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
await phone.screenshot({ path: `${screenshots}/status-phone.png` });
await stop();
fs.rmSync(directory, { recursive: true, force: true });
looking.errors.length = 0;    // it is gone while pages look on
await end(looking);
