// SPDX-License-Identifier: Apache-2.0
// A wick with a profile in its store, and its page as Chromium sees it.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { lasted, median, opened, start } from "./chromium.mjs";

const WICK = process.env.WICK ?? "build/wick", HZ = 100;

async function until(holds, seconds, what) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await new Promise(resolve => setTimeout(resolve, 50)))
    if (await holds().catch(() => false))
      return;
  throw new Error(`waited ${seconds} s for ${what}`);
}

export async function serve(data, port) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "wick-bench-")), url = `http://127.0.0.1:${port}`, file = directory + "/wick.yaml";
  const about = JSON.parse(fs.readFileSync(data + "/about.json"));
  fs.writeFileSync(file, JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}`, max_request_body_size: 64 << 20 } } } },
    exporters: { store: { path: directory + "/store" } }, extensions: { page: { endpoint: `127.0.0.1:${port}` } },
    service: { extensions: ["page"], telemetry: { metrics: { level: "none" } }, pipelines: { profiles: { receivers: ["otlp"], exporters: ["store"] } } } }));
  const child = spawn(WICK, ["--config", file], { stdio: ["ignore", "ignore", fs.openSync(directory + "/log", "w")] });
  await until(async () => (await fetch(url + "/")).ok, 10, "wick");
  for (let i = 0; i < about.parts; i++) {
    execFileSync(WICK, ["convert", `${data}/part-${i}.pb.gz`, directory + "/part.otlp"]);
    const body = fs.readFileSync(directory + "/part.otlp");
    const answer = await fetch(url + "/v1development/profiles", { method: "POST", body, headers: { "content-type": "application/x-protobuf" } });
    if (!answer.ok)
      throw new Error(`part ${i}: ${answer.status} ${await answer.text()}`);
  }
  const range = `from=${about.began - 60}&to=${about.began + about.parts + 60}`;
  await until(async () => (await (await fetch(`${url}/api/v1/search?text=encode&${range}`)).json()).total === about.samples, 60, "all samples to be stored");
  return { url, about, range, cpu: () => {
    const stat = fs.readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(stat[11]) + Number(stat[12])) / HZ;
  }, end() {
    child.kill("SIGTERM");
    return new Promise(resolve => child.once("exit", () => {
      fs.rmSync(directory, { recursive: true, force: true });
      resolve();
    }));
  } };
}

const drawn = () => document.querySelector("main")?.getAttribute("aria-busy") === "false" && performance.getEntriesByName("flame").length > 0;
const settled = page => page.waitForFunction(() => document.querySelector("main").getAttribute("aria-busy") === "false", null, { polling: "raf" });
const painted = () => performance.getEntriesByName("flame").length > 0;

// From nothing: a new browser each time, so that nothing is cached.
export async function coldLoads(peers, url, times, ready = painted) {
  const loads = [];
  for (let i = 0; i < times; i++) {
    const browser = await start(peers);
    loads.push(await opened(browser.page, url, ready));
    await browser.end();
  }
  return loads;
}

export const page = wick => `${wick.url}/?live=&${wick.range}`;

// In the page: clicks on frames of the third row and back, or the keys of a search. How many handlers ran.
function act(what) {
  const canvas = document.getElementById("flame"), bounds = canvas.getBoundingClientRect(), input = document.getElementById("search");
  const keys = ["e", "en", "enc", "enco", "encod", "encode"];
  if (what === "key")
    for (const text of keys) {
      input.value = text;
      input.dispatchEvent(new Event("input"));
    }
  for (let i = 0; i < 10 && what === "zoom"; i++) {
    const at = { clientX: bounds.left + 80 + 130 * i, clientY: bounds.top + 50, bubbles: true };
    canvas.dispatchEvent(new MouseEvent("click", at));
    canvas.dispatchEvent(new MouseEvent("dblclick", at));
  }
  return what === "key" ? keys.length : 20;
}

// Milliseconds of CPU that a handler takes, drawing included: others use the machine too.
async function handling(tab, what) {
  const cdp = await tab.context().newCDPSession(tab);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const script = async () => (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ScriptDuration").value;
  const before = await script(), count = await tab.evaluate(act, what), lasted = await script() - before;
  await cdp.detach();
  return lasted * 1000 / count;
}

export async function measure(peers, wick) {
  const browser = await start(peers), { page: tab } = browser, found = {};
  await opened(tab, page(wick), drawn);
  found.memory = browser.use().pss;
  for (const what of ["zoom", "key"])
    found[what] = await handling(tab, what);
  await tab.waitForFunction(() => /^[\d.]+ % matched/.test(document.getElementById("matched")?.textContent), null, { timeout: 20000 });
  const shown = parseFloat(await tab.textContent("#matched")), exact = 100 * wick.about.encode / wick.about.samples;
  found.matched = Math.abs(shown - exact) < 0.06;
  await settled(tab);
  found.memoryEnd = browser.use().pss;
  await tab.fill("#search", "");
  await tab.goto(page(wick));
  await settled(tab);
  const changes = [];
  for (const filter of ["focus=kind%3Dnative", "ignore=parse", "hide=flush", "collapse=1"]) {
    const [key, value] = filter.split("=");
    changes.push(await lasted(tab, async () => {
      await tab.evaluate(address => {
        history.pushState(null, "", address);
        dispatchEvent(new PopStateEvent("popstate"));
      }, `/?live=&${wick.range}&${key}=${value}`);
      await settled(tab);
    }));
  }
  for (let i = 1; i <= 3; i++)
    changes.push(await lasted(tab, async () => {
      await tab.evaluate(address => {
        history.pushState(null, "", address);
        dispatchEvent(new PopStateEvent("popstate"));
      }, `/?live=&from=${wick.about.began - 60 - i}&to=${wick.about.began + wick.about.parts + 60}`);
      await settled(tab);
    }));
  found.change = median(changes);
  found.table = await lasted(tab, async () => {
    await tab.click("#top-tab");
    await tab.waitForSelector("#top-rows tr[data-place]");
  });
  found.rows = Number((await tab.textContent("#top-count")).replace(/\D/g, ""));
  await tab.click("#heat-tab");
  await tab.waitForSelector("#heat");
  await settled(tab);
  found.heat = median(await tab.evaluate(async began => {
    const { Heat } = await import("/ui/tabs/heat.js"), times = [];
    const answer = await (await fetch(`/api/v1/heat?rows=100&from=${began - 800}&to=${began + 100}`)).json();
    const heat = new Heat(document.getElementById("heat"), () => {});
    for (let i = 0; i < 5; i++) {
      const from = performance.now();
      heat.show(answer);
      times.push(performance.now() - from);
    }
    return times;
  }, wick.about.began));
  await browser.end();
  return found;
}

// What the server needs for one flame graph of all, and how large the answer is.
export async function answer(wick, times) {
  const before = wick.cpu(), lasts = [];
  let bytes = 0;
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    const reply = execFileSync("curl", ["-s", "-H", "accept-encoding: gzip", `${wick.url}/api/v1/flame?${wick.range}&nodes=${16384 - i}`], { maxBuffer: 1 << 28 });
    lasts.push(performance.now() - began);
    bytes = Math.max(bytes, reply.length);
  }
  return { bytes, cpu: (wick.cpu() - before) / times, wall: median(lasts) };
}

export async function assets(wick) {
  const names = fs.readdirSync(new URL("../../ui", import.meta.url), { recursive: true }).filter(name => /\.(html|css|js|svg)$/.test(name));
  return names.reduce((sum, name) => sum + execFileSync("curl", ["-s", "-H", "accept-encoding: gzip", `${wick.url}/ui/${name}`]).length, 0);
}
