// SPDX-License-Identifier: Apache-2.0
// start.mjs URL SCREENSHOTS: where one starts: who uses the CPUs, what changed since, hints for who is new; in Chromium, of profiles whose every number is
// known. Prints TAP.
import { arrived, check, end, look } from "./look.mjs";

const [url, screenshots] = process.argv.slice(2);
const looking = await look(url, { isNew: true }), { page, query, text } = looking;
const until = (condition, argument) => page.waitForFunction(condition, argument, { timeout: 60000 });
const settled = () => until(() => document.querySelector("main").getAttribute("aria-busy") === "false");
const shoot = (name, from = page) => from.screenshot({ path: `${screenshots}/start-${name}.png` });

// ---- Who is here for the first time

await page.goto(url + "/");
await until(() => !document.getElementById("hint").hidden);
await until(() => /CPUs? on average/.test(document.getElementById("start-headline")?.textContent));
check("starts with who uses the CPUs", await page.locator("#start-view").isVisible() && page.url() === url + "/", page.url());
check("has a hint for who is new", /1 of 3/.test(await text("#hint")) && await page.evaluate(() => document.getElementById("chart").classList.contains("hinted")), await text("#hint"));
await shoot("first");
await page.click("#hint button:has-text('Next')");
check("has a second one", /2 of 3/.test(await text("#hint")));
await page.click("#hint button:has-text('Next')");
check("has a third one", /3 of 3/.test(await text("#hint")) && !await page.locator("#hint button:has-text('Skip')").count());
await page.click("#hint button:has-text('Done')");
await page.reload();
await until(() => /CPUs? on average/.test(document.getElementById("start-headline")?.textContent));
check("tells them once", await page.locator("#hint").isHidden() && !await page.locator(".hinted").count());
await page.keyboard.press("?");
await page.click("#hints");
await until(() => /1 of 3/.test(document.getElementById("hint").textContent));
await page.click("#hint button:has-text('Skip')");
check("tells them again to who asks for help", await page.locator("#hint").isHidden());

// ---- Two minutes whose every sample is known: web doubles, db is new, old is gone

const names = ["", "samples", "count", "cpu", "nanoseconds", "/opt/prog", "main", "work", "query", "idle"], second = Math.floor(Date.now() / 1000) - 70, host = "start-" + second;
const attribute = (key, value) => ({ key, value: { stringValue: value } });
// One sample each so many milliseconds, for a minute; each stands for 10.
const profile = (on, service, stack, from, each) => ({ resource: { attributes: [attribute("host.name", on), attribute("service.name", service), attribute("process.executable.name", service)] },
  scopeProfiles: [{ profiles: [{ sampleType: { typeStrindex: 1, unitStrindex: 2 }, periodType: { typeStrindex: 3, unitStrindex: 4 }, period: "10000000", timeUnixNano: String(BigInt(from) * 1000000000n),
    samples: [{ stackIndex: stack, timestampsUnixNano: Array.from({ length: 60000 / each }, (_, i) => String(BigInt(from) * 1000000000n + BigInt(i * each + 10) * 1000000n)) }] }] }] });
const body = { resourceProfiles: [profile(host, "web", 1, second, 20), profile(host + "-b", "db", 2, second, 40), profile(host, "web", 1, second - 60, 40), profile(host, "old", 3, second - 60, 20)],
  dictionary: { stringTable: names, mappingTable: [{}, { filenameStrindex: 5 }], attributeTable: [{}], linkTable: [{}], locationTable: [{}, ...[6, 7, 8, 9].map(at => ({ mappingIndex: 1, lines: [{ functionIndex: at }] }))],
    functionTable: names.map((_, i) => ({ nameStrindex: i })), stackTable: [{}, ...[2, 3, 4].map(leaf => ({ locationIndices: [leaf, 1] }))] } };
const sent = await fetch(url + "/v1development/profiles", { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
check("takes profiles", sent.status === 200, await sent.text());
await arrived(url, host, 2);
await page.goto(`${url}/?view=start&from=${second}&to=${second + 60}&where=host~${host}&live=`);
await until(() => document.querySelectorAll("#start-cards tr[data-key]").length >= 6);
await settled();
const rows = index => page.locator(`#start-cards .card:nth-child(${index}) tr[data-key]`).evaluateAll(list => list.map(row => [...row.cells].map(cell => cell.textContent.trim()).filter(Boolean).join(" ")));
check("says how much was used, and before", /^0\.75 CPUs on average, as much as just before$/.test((await text("#start-headline")).trim()), await text("#start-headline"));
check("lists services, and how each changed", (await rows(1)).join() === "web 0.50 CPUs 66.7 % 2.0 times,db 0.25 CPUs 33.3 % new", await rows(1));
check("says what is gone", /Gone: old \(0\.50 CPUs\)/.test(await text("#start-cards .card:nth-child(1)")), await text("#start-cards .card:nth-child(1)"));
check("lists functions that changed", (await rows(2)).sort().join() === "+33.3 % query prog,+33.3 % work prog,−66.7 % idle prog", await rows(2));
check("lists hosts", (await rows(3)).join() === `${host} 0.50 CPUs 66.7 % −33.3 %,${host}-b 0.25 CPUs 33.3 % new`, await rows(3));
await shoot("known");
await page.selectOption("select[name=since]", "day");
await until(() => /nothing was sampled a day earlier/.test(document.getElementById("start-headline")?.textContent));
check("says when there is nothing to compare with", query().get("since") === "day" && (await rows(1))[0] === "web 0.50 CPUs 66.7 %", await rows(1));
await page.selectOption("select[name=since]", "before");
await until(() => /as much as just before/.test(document.getElementById("start-headline")?.textContent));
await page.click("#start-cards a:has-text('flame graph of differences')");
await until(() => /view=diff/.test(location.search));
await page.goBack();
await until(() => document.querySelectorAll("#start-cards tr[data-key]").length >= 6);
await page.click("#start-cards td.who button:has-text('web')");
await until(() => document.getElementById("flame")?.height > 40 && /service=web/.test(document.getElementById("chips").textContent));
check("leads to the flame graph of one", query().get("view") === null && query().getAll("where").includes("service=web"), page.url());

// ---- From anywhere, and back

await page.click(".brand");
await until(() => /CPUs? on average/.test(document.getElementById("start-headline")?.textContent));
await page.keyboard.press("1");
await until(() => document.getElementById("flame")?.height > 40);
check("an address for each", new URL(page.url()).search === "?view=flame", page.url());
await page.keyboard.press("0");
await until(() => !document.getElementById("start-view").hidden);
check("goes there by a key", page.url() === url + "/", page.url());
await page.goBack();
await until(() => !document.getElementById("flame-view").hidden);
check("and back", true);

for (const [name, size, colorScheme] of [["phone", { width: 390, height: 844 }, "dark"], ["4k", { width: 3840, height: 2160 }, "light"]]) {
  const other = await looking.open({ viewport: size, colorScheme });
  await other.goto(`${url}/?view=start&from=${second}&to=${second + 60}&where=host~${host}&live=`);
  await other.waitForFunction(() => document.querySelectorAll("#start-cards tr[data-key]").length >= 6);
  check(`fits: ${name}`, await other.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await shoot(name, other);
}

await end(looking);
