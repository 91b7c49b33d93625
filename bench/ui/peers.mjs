// SPDX-License-Identifier: Apache-2.0
// How other viewers are asked to show a profile of generate.mjs, to zoom, and to search.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { lasted, opened, start } from "./chromium.mjs";

const pages = {
  "/blank.html": "<!DOCTYPE html><title>blank</title><p>blank",
  "/d3.html": `<!DOCTYPE html><link rel="stylesheet" href="/peers/d3-flame-graph/dist/d3-flamegraph.css"><div id="chart"></div>
<script src="/peers/d3/dist/d3.min.js"></script><script src="/peers/d3-flame-graph/dist/d3-flamegraph.umd.min.js"></script>
<script>fetch(new URLSearchParams(location.search).get("f")).then(answer => answer.json()).then(data => {
  window.chart = (flamegraph.flamegraph ?? flamegraph.default)().width(1560).minFrameSize(1);
  d3.select("#chart").datum(data).call(chart);
});</script>`,
  "/grafana.html": `<!DOCTYPE html><div id="root"></div><script type="module" src="/grafana.js"></script>`,
};

// Files of the viewers and the data, at one address.
export function files(peers, data) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://x").pathname);
    const file = name.startsWith("/data/") ? data + name.slice(5) : name === "/grafana.js" ? peers + name : peers + "/node_modules" + name.slice(6);
    response.setHeader("content-type", types[path.extname(name)] ?? "application/octet-stream");
    if (pages[name])
      response.end(pages[name]);
    else
      fs.createReadStream(file).on("error", () => response.writeHead(404).end()).pipe(response);
  });
  return new Promise(resolve => server.listen(0, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}`, end: () => server.close() })));
}

async function typed(page, text) {
  for (const letter of text)
    await page.keyboard.type(letter);
}

const viewers = {
  "speedscope 1.25": {
    needs: "node_modules/speedscope/dist/release/index.html",
    address: (at, size) => `${at}/peers/speedscope/dist/release/index.html#profileURL=${encodeURIComponent(`${at}/data/${size}/all.pb.gz`)}`,
    ready: () => document.body.innerText.includes("Left Heavy") && Boolean(document.querySelector("canvas")),
    zoom: page => page.mouse.dblclick(400, 330),
    search: async page => {
      await page.keyboard.press("Control+f");
      await typed(page, "encode");
    },
  },
  "pprof": {
    needs: "bin/pprof",
    serve: (peers, data, size) => {
      const port = 18597, child = spawn(`${peers}/bin/pprof`, ["-no_browser", `-http=127.0.0.1:${port}`, `${data}/${size}/all.pb.gz`], { stdio: "ignore" });
      return { address: `http://127.0.0.1:${port}/flamegraph`, end: () => child.kill() };
    },
    ready: () => document.querySelectorAll(".boxbg").length > 3,
    zoom: page => page.mouse.click(300, 200),
    search: async page => {
      await page.click("#search");
      await typed(page, "encode");
    },
  },
  "d3-flame-graph 5": {
    needs: "node_modules/d3-flame-graph/dist/d3-flamegraph.umd.min.js",
    address: (at, size) => `${at}/d3.html?f=/data/${size}/d3.json`,
    ready: () => document.querySelectorAll("#chart .frame").length > 3,
    zoom: page => page.evaluate(() => [...document.querySelectorAll("#chart .frame")].sort((a, b) => b.getBoundingClientRect().width - a.getBoundingClientRect().width)[3]
      .dispatchEvent(new MouseEvent("click", { bubbles: true }))),
    search: page => page.evaluate(() => window.chart.search("encode")),
  },
  "@grafana/flamegraph 13": {
    needs: "grafana.js",
    address: (at, size) => `${at}/grafana.html?f=/data/${size}/d3.json`,
    ready: () => document.querySelectorAll("canvas").length > 0,
    zoom: async page => {
      await page.mouse.click(870, 158);
      await page.getByText("Focus block").click({ timeout: 3000 });
    },
    search: page => page.getByPlaceholder(/Search/).first().fill("encode"),
  },
};

export const names = Object.keys(viewers);

// { load, zoom, search (ms), memory (MB) } or { missing: why }.
export async function look(name, peers, data, size, at, seconds) {
  const viewer = viewers[name];
  if (!fs.existsSync(`${peers}/${viewer.needs}`))
    return { missing: "cannot be installed here" };
  const served = viewer.serve?.(peers, data, size), browser = await start(peers), found = {};
  try {
    if (served)
      for (const end = Date.now() + seconds * 1000; Date.now() < end && !await fetch(served.address).then(answer => answer.body.cancel() ?? true, () => false);)
        await new Promise(resolve => setTimeout(resolve, 100));
    found.load = await opened(browser.page, served?.address ?? viewer.address(at, size), viewer.ready, seconds * 1000);
    found.memory = browser.use().pss;
    for (const action of ["zoom", "search"])
      found[action] = await lasted(browser.page, () => viewer[action](browser.page)).catch(() => NaN);
  } catch (error) {
    found.missing = `not shown in ${seconds} s` + (/crash/i.test(error) ? ": the renderer crashed" : "");
  }
  served?.end();
  await browser.end();
  return found;
}
