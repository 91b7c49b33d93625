// SPDX-License-Identifier: Apache-2.0
// A Chromium of its own, and what its renderer needs: time and memory.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const HZ = 100;

function processes() {
  return execFileSync("ps", ["-eo", "pid=,ppid=,args="]).toString().split("\n").map(line => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)).filter(Boolean)
    .map(([, pid, parent, args]) => ({ pid: Number(pid), parent: Number(parent), args }));
}

// The renderer that holds most memory: that of the page, not the spare one.
function renderer(directory) {
  const all = processes(), ours = new Set(all.filter(process => process.args.includes("--user-data-dir=" + directory)).map(({ pid }) => pid));
  for (let grew = true; grew;) {
    grew = false;
    for (const { pid, parent } of all)
      if (ours.has(parent) && !ours.has(pid))
        grew = Boolean(ours.add(pid));
  }
  let most = { pss: 0, cpu: 0 };
  for (const { pid, args } of all) {
    if (!ours.has(pid) || !args.includes("--type=renderer"))
      continue;
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      const pss = Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]) / 1024;
      if (pss > most.pss)
        most = { pss, cpu: (Number(stat[11]) + Number(stat[12])) / HZ };
    } catch { /* it has ended */ }
  }
  return most;
}

export async function start(peers) {
  const { chromium } = createRequire(peers + "/")("playwright-core"), directory = fs.mkdtempSync(path.join(os.tmpdir(), "wick-bench-"));
  const context = await chromium.launchPersistentContext(directory, { executablePath: process.env.CHROMIUM, headless: true, viewport: { width: 1600, height: 1000 },
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--js-flags=--max-old-space-size=8192"] });
  const page = context.pages()[0] ?? await context.newPage();
  return { page, use: () => renderer(directory), async end() {
    await Promise.race([context.close(), new Promise(resolve => setTimeout(resolve, 5000))]);
    fs.rmSync(directory, { recursive: true, force: true });
  } };
}

// Until two frames after the condition have been drawn.
export async function opened(page, url, ready, timeout = 120000) {
  const began = performance.now();
  await page.goto(url, { waitUntil: "commit", timeout });
  await page.waitForFunction(ready, null, { timeout, polling: "raf" });
  await twoFrames(page);
  return performance.now() - began;
}

export function twoFrames(page) {
  return page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

export async function lasted(page, action) {
  const began = performance.now();
  await action();
  await twoFrames(page);
  return performance.now() - began;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : NaN;
}
