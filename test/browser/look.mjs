// SPDX-License-Identifier: Apache-2.0
// What tests of the page share: a page in Chromium that notes its errors and what it asks of others, and checks as TAP.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.PLAYWRIGHT + "/")("playwright-core");
let failed = 0;

export function check(name, holds, got = "") {
  console.log(`${holds ? "ok" : "not ok"} - page ${name}${holds ? "" : ": " + JSON.stringify(got)}`);
  failed += !holds;
}

// options: of the browser's context, see playwright; isNew: of somebody who was never here. open(): another page.
export async function look(url, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const errors = [], elsewhere = [];
  async function open({ isNew, ...more } = options) {
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 }, ...more })).newPage();
    if (!isNew)
      await page.addInitScript(() => location.protocol.startsWith("http") && localStorage.setItem("hints", "seen"));
    waitPatiently(page);
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

// What is asked of an element that is not there yet is not true yet.
function waitPatiently(page) {
  const wait = page.waitForFunction.bind(page);
  page.waitForFunction = (condition, argument, options = {}) =>
    // Its text is what is sent, and the page's policy lets no text be run by the page.
    // eslint-disable-next-line no-new-func
    wait(new Function("argument", `try { return (${condition})(argument); } catch { return false; }`), argument, { timeout: 60000, ...options });
}

// Until the store has what was sent: so many hosts whose names begin like that, of the last day.
export async function arrived(url, host, count = 1) {
  for (let tries = 0; tries < 400; tries++) {
    if ((await (await fetch(`${url}/api/v1/values?label=host&from=now-1d&where=host~${host}`)).json()).length >= count)
      return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
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
