// SPDX-License-Identifier: Apache-2.0
// Prints what we promise of the page, what was measured, whether the promise holds, and what other viewers need in the same run. README.md
// defines the rows. QUICK=1: fewer repeats, no 500,000 stacks. PEERS=0: wick alone. DATA=DIRECTORY: keeps the profiles there for the next run.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { median } from "./chromium.mjs";
import { files, look, names } from "./peers.mjs";
import * as wick from "./wick.mjs";

const here = path.dirname(new URL(import.meta.url).pathname), quick = process.env.QUICK === "1";
const peers = execFileSync(here + "/peers.sh", { stdio: ["ignore", "pipe", "inherit"] }).toString().trim();
const sizes = quick ? [1000, 50000] : [1000, 50000, 500000], repeats = Number(process.env.REPEATS ?? (quick ? 3 : 9));
const data = process.env.DATA ?? fs.mkdtempSync(path.join(os.tmpdir(), "wick-bench-data-"));
process.env.CHROMIUM ??= execFileSync("sh", ["-c", "command -v chromium || command -v chromium-browser || command -v google-chrome"]).toString().trim();

const ms = value => Number.isNaN(value) ? "–" : `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const kb = value => `${(value / 1024).toFixed(0)} KB`, mb = value => `${value.toFixed(0)} MB`;
const short = size => size >= 1000 ? size / 1000 + "k" : String(size);
const rows = [];
const row = (what, value, most, show, others = {}) => rows.push([what, show(value), `≤ ${show(most)}`, value <= most ? "met" : "NOT MET", others]);

const at = await files(peers, data), found = {}, others = {};
for (const size of sizes) {
  if (fs.existsSync(`${data}/${size}/about.json`))
    continue;
  fs.mkdirSync(`${data}/${size}`, { recursive: true });
  execFileSync("node", ["--stack-size=4000", "--max-old-space-size=6000", here + "/generate.mjs", size, `${data}/${size}`]);
}
const blank = median(await wick.coldLoads(peers, at.url + "/blank.html", repeats, () => document.readyState === "complete"));
let assets = 0;
for (const size of sizes) {
  const server = await wick.serve(`${data}/${size}`, 18590);
  try {
    found[size] = { ...await wick.measure(peers, server), answer: await wick.answer(server, 5), about: server.about,
                    loads: await wick.coldLoads(peers, wick.page(server), repeats) };
    assets = await wick.assets(server);
  } finally {
    await server.end();
  }
}
for (const name of process.env.PEERS === "0" ? [] : names)
  for (const size of sizes.filter(size => size <= 50000))
    (others[size] ??= {})[name] = await look(name, peers, data, size, at.url, 60);
at.end();
if (!process.env.DATA)
  fs.rmSync(data, { recursive: true, force: true });

const beside = (size, key, show) => Object.fromEntries(Object.entries(others[size] ?? {}).map(([name, values]) =>
  [name, values.missing ?? show(key === "load" ? values.load - blank : values[key])]));
const loadMost = { 1000: 200, 50000: 250, 500000: 350 }, changeMost = { 50000: 120, 500000: 250 };
for (const size of sizes)
  row(`cold load to the first flame graph, ${short(size)} stacks`, median(found[size].loads) - blank, loadMost[size], ms, beside(size, "load", ms));
for (const size of sizes.filter(size => changeMost[size]))
  row(`another range or filter, ${short(size)}`, found[size].change, changeMost[size], ms);
for (const size of sizes.filter(size => size > 1000)) {
  row(`zoom, CPU of the handler, ${short(size)}`, found[size].zoom, 8, ms, beside(size, "zoom", value => ms(value) + " wall"));
  row(`a key of a search, CPU of the handler, ${short(size)}`, found[size].key, 15, ms, beside(size, "search", value => ms(value) + " wall"));
  rows.push([`share that a search finds, ${short(size)}`, found[size].matched ? "exact" : "WRONG", "exact", found[size].matched ? "met" : "NOT MET", {}]);
  row(`memory of the renderer, ${short(size)}`, Math.max(found[size].memory, found[size].memoryEnd), 90, mb, beside(size, "memory", mb));
  row(`flame graph, packed, ${short(size)}`, found[size].answer.bytes, 200 * 1024, kb);
  row(`first rows of ${found[size].rows.toLocaleString("en")} functions`, found[size].table, 100, ms);
  row(`server's CPU for a refresh, per million samples, ${short(size)}`, found[size].answer.cpu * 1000 / (found[size].about.samples / 1e6), 20, ms);
}
row("heat map of 90,000 cells", found[50000].heat, 50, ms);
row("all files of the page, packed", assets, 100 * 1024, kb);

const columns = ["", "wick", "target", "", ...Object.keys(others[50000] ?? {})];
const cells = rows.map(([what, value, most, met, more]) => [what, value, most, met, ...columns.slice(4).map(name => more[name] ?? "")]);
const widths = columns.map((title, i) => Math.max(title.length, ...cells.map(cell => cell[i].length)));
const line = cell => "| " + cell.map((text, i) => text.padEnd(widths[i])).join(" | ") + " |";
console.log([line(columns), "| " + widths.map(width => "-".repeat(width)).join(" | ") + " |", ...cells.map(line)].join("\n"));
console.log(`\n${repeats} cold loads each, median, less ${ms(blank)} of a blank page; ${os.cpus().length} CPUs, load average ${os.loadavg()[0].toFixed(1)}.`);
process.exit(0);
