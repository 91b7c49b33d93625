// SPDX-License-Identifier: Apache-2.0
// viewers.mjs SPEEDSCOPE FILE.speedscope.json OUT.json FILE.svg FILE.html TERM: our files in Chromium. speedscope (its
// page) loads its file and saves what it understood; SVG and HTML are searched and zoomed. Prints what they found.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.PLAYWRIGHT + "/")("playwright-core");
const [speedscope, input, output, svg, html, term] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const errors = [], asked = [];

async function open(path) {
  const page = await browser.newPage({ viewport: { width: 1250, height: 800 } });
  page.on("pageerror", error => errors.push(`${path}: ${error}`));
  page.on("request", request => request.url().startsWith("file:") || request.url().startsWith("data:") || asked.push(request.url()));
  await page.goto("file://" + path);
  return page;
}

async function saveFromSpeedscope() {
  const page = await open(speedscope);
  await page.setInputFiles("input[type=file]", input);
  await page.waitForFunction(() => /Left Heavy/.test(document.body.textContent), null, { timeout: 60000 });
  const download = page.waitForEvent("download", { timeout: 60000 });
  await page.keyboard.press("Control+s");
  await (await download).saveAs(output);
}

async function searchSVG() {
  const page = await open(svg);
  page.on("dialog", dialog => dialog.accept(term));
  await page.keyboard.press("/");
  console.log("svg", (await page.textContent("#matched")).replace(/[^\d.]/g, ""));
  // Into the widest frame that has siblings, then back to the whole.
  const wide = () => page.evaluate(() => [...document.querySelectorAll("#frames > g")]
    .filter(g => g.style.display !== "none" && +g.querySelector("rect").getAttribute("width") > 1199).length);
  const before = await wide();
  await page.evaluate(() => {
    const frames = [...document.querySelectorAll("#frames > g")], width = g => +g.querySelector("rect").getAttribute("width");
    frames.filter(g => width(g) < 1199).sort((a, b) => width(b) - width(a))[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  const zoomed = await wide();
  await page.keyboard.press("Escape");
  console.log("svg-zoom", zoomed > before && (await wide()) === before ? "works" : `${before} ${zoomed} ${await wide()}`);
}

async function searchHTML() {
  const page = await open(html);
  await page.keyboard.press("/");
  await page.keyboard.insertText(term);
  console.log("html", (await page.textContent("#matched")).replace(/[^\d.]/g, ""));
  await page.focus("#flame");
  for (const key of ["ArrowDown", "ArrowDown", "Enter"])
    await page.keyboard.press(key);
  const zoomed = await page.evaluate(() => root);
  await page.keyboard.press("Escape");
  console.log("html-zoom", zoomed > 0 && (await page.evaluate(() => root)) === 0 ? "works" : zoomed);
  console.log("html-functions", await page.locator("#functions td:first-child").first().textContent());
}

await saveFromSpeedscope();
await searchSVG();
await searchHTML();
await browser.close();
for (const text of [...errors, ...asked.map(url => "asked for " + url)])
  console.log("error", text);
