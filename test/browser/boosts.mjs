// SPDX-License-Identifier: Apache-2.0
// boosts.mjs URL SCREENSHOTS: the button that samples one faster, with what is left of it, and its end by hand; in Chromium. Prints TAP.
import { spawn } from "node:child_process";
import { check, end, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2), service = "boost-me-" + process.pid;
const busy = spawn("/bin/sh", ["-c", "while :; do :; done"], { env: { ...process.env, OTEL_SERVICE_NAME: service }, stdio: "ignore" });
const ask = async question => (await fetch(`${url}/api/v1/${question}`)).json(), rows = async () => (await ask("boosts")).rows;
for (let tries = 0; tries < 300 && !(await ask(`values?label=service&where=service~${service}`)).length; tries++)
  await new Promise(resolve => setTimeout(resolve, 100));

const looking = await look(url), { page, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
await page.goto(`${url}/?from=now-2m`);
await until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
check("offers no boost of everything", await page.locator("#boost").isHidden());
await page.goto(`${url}/?service=${service}&from=now-2m`);
await until(() => !document.getElementById("boost").hidden);
const title = await page.getAttribute("#boost", "title");
check("offers to sample a service faster, and how fast", await text("#boost") === "⚡ Faster" && title.includes(`service=${service}`) && title.includes("970 times a second for 30 s, not 97"), title);
await page.click("#boost");
await until(() => /^⚡ 970\/s: \d+ s$/.test(document.getElementById("boost").textContent));
const first = await text("#boost"), [row] = await rows();
check("has it sampled faster", row.state === "runs" && row.rate === 970 && row.where.service === service, row);
await until(before => /^⚡ 970\/s: \d+ s$/.test(document.getElementById("boost").textContent) && document.getElementById("boost").textContent !== before, first);
check("says how long it lasts", Number(/: (\d+) s/.exec(await text("#boost"))[1]) < Number(/: (\d+) s/.exec(first)[1]) && await page.getAttribute("#boost", "aria-pressed") === "true", await text("#boost"));
await page.screenshot({ path: `${screenshots}/boosts.png` });
await page.click("#boost");
await until(() => document.getElementById("boost").textContent === "⚡ Faster" && !document.getElementById("boost").disabled);
check("stops it", (await rows())[0].state === "ended", await rows());
await page.goto(`${url}/?service=${service}&thread=x&from=now-2m`);
await until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
check("offers none of a thread alone", await page.locator("#boost").isHidden());
busy.kill();
await end(looking);
