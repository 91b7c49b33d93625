// SPDX-License-Identifier: Apache-2.0
// What tests of the page share: a page in Chromium that notes its errors and what it asks of others, and checks as TAP.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.PLAYWRIGHT + "/")("playwright-core");
let failed = 0;

export function check(name, holds, got = "") {
  console.log(`${holds ? "ok" : "not ok"} - page ${name}${holds ? "" : ": " + JSON.stringify(got)}`);
  failed += !holds;
}

// options: of the browser's context, see playwright. open(): another page.
export async function look(url, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const errors = [], elsewhere = [];
  async function open(more = options) {
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 }, ...more })).newPage();
    page.on("console", message => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", error => errors.push(String(error)));
    page.on("request", request => request.url().startsWith(url) || request.url().startsWith("blob:" + url) || elsewhere.push(request.url()));
    return page;
  }
  const page = await open();
  return { browser, page, open, errors, elsewhere, query: () => new URL(page.url()).searchParams,
           text: selector => page.locator(selector).textContent(),
           drawn: () => page.waitForFunction(() => document.getElementById("legend")?.textContent?.includes("native")) };
}

// How many pixels of a flame graph are of the colour of what was found; in the page.
export function foundPixels(id) {
  const canvas = document.getElementById(id), { width, height } = canvas, { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    count += data[i] === 0xd3 && data[i + 1] === 0xa4 && data[i + 2] === 0xee;
  return count;
}

// After the last check.
export async function end({ browser, errors, elsewhere }) {
  check("has no errors", errors.length === 0, errors);
  check("asks nobody else", elsewhere.length === 0, elsewhere);
  await browser.close();
  process.exit(failed ? 1 : 0);
}
