import { ask, change, onChange, readURL, selection, state } from "./state.js";
import { Flame, Tree, kindColour } from "./flame.js";
import { Chart, Heat } from "./chart.js";
import { element, statusView, topTable } from "./views.js";

const $ = id => document.getElementById(id);
const views = ["flame", "top", "sandwich", "executables", "heat", "diff", "traces", "logs", "status"];
let tree = null, generation = -1;

function say(text) {
  $("message").textContent = text;
}

// ---- The flame graph

function describe(shown, node) {
  if (!shown || node < 0)
    return "\u00a0";
  const [, file, exe, type, line, , id, address] = shown.frames[shown.frame[node]];
  const share = value => (100 * value / (shown.value[0] || 1)).toFixed(2) + " %";
  const parts = [shown.name(node), `${share(shown.value[node])} total, ${share(shown.self[node])} self`,
                 shown.amount(shown.value[node])];
  if (shown.compared)
    parts.push(`then ${(100 * shown.other[node] / (shown.other[0] || 1)).toFixed(2)} %`);
  if (node && shown.isInline(node))
    parts.push("inlined");
  parts.push(type, file && file + (line ? ":" + line : ""), exe, address, id && "build id " + id.slice(0, 12));
  return parts.filter(Boolean).join(" · ");
}

function menu(shown, node, x, y) {
  const name = shown.name(node), item = (text, action) => element("button", { type: "button", role: "menuitem", onclick: () => {
    $("menu").hidden = true;
    action();
  } }, text);
  $("menu").replaceChildren(
    item("Copy name", () => navigator.clipboard.writeText(name)),
    item("Callers and callees", () => change({ view: "sandwich", function: name })),
    item("Search for it", () => change({ view: "flame", search: name })),
    item("Zoom into it", () => flame.zoom(node)),
    item("Copy link", () => navigator.clipboard.writeText(location.href)));
  $("menu").hidden = false;
  $("menu").style.left = Math.min(x, innerWidth - 220) + "px";
  $("menu").style.top = Math.min(y, innerHeight - 180) + "px";
  $("menu").firstChild.focus();
}

const flame = new Flame($("flame"), {
  hover: node => $("details").textContent = describe(tree, node),
  zoom: node => change({ path: tree.path(node).join("\x1f") }),
  menu: (node, x, y) => menu(tree, node, x, y),
});
const sides = Object.fromEntries(["callers", "callees"].map(name => [name, new Flame($(name), {
  hover: node => say(node < 0 ? "" : describe(sides[name].tree, node)),
  menu: (node, x, y) => menu(sides[name].tree, node, x, y),
})]));
const diff = new Flame($("diff"), { hover: node => $("diff-details").textContent = describe(diff.tree, node) });
sides.callers.icicle = sides.callees.icicle = diff.icicle = true;

function tester(text) {
  if (text.length > 2 && text.startsWith("/") && text.endsWith("/"))
    try {
      const expression = new RegExp(text.slice(1, -1), "i");
      return name => expression.test(name);
    } catch {
      return () => false;
    }
  return name => name.toLowerCase().includes(text.toLowerCase());
}

function search() {
  if (!tree)
    return;
  const found = state.search ? tree.match(tester(state.search)) : null;
  $("matched").textContent = found ? `${(100 * found.share).toFixed(2)} % matched` : "";
  flame.search(found?.matched ?? null);
}

function legend() {
  const types = new Set(tree.frames.map(frame => frame[3]).filter(type => type && type !== "other"));
  $("legend").replaceChildren(...(state.colour === "type" ? [...types].map(type => {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = kindColour(type);
    return element("span", {}, swatch, " " + type);
  }) : []));
}

// The whole first; where it was pruned, the part that is zoomed into is asked for in full.
async function loadFlame() {
  const path = state.path ? state.path.split("\x1f") : [];
  let shown = new Tree(await ask("flame", selection({ group: state.group })));
  if (path.length && (shown.find(path) < 0 || shown.hasOther(shown.find(path)))) {
    try {
      const part = new Tree(await ask("flame", selection({ group: state.group, path: state.path }), "part"));
      shown = grafted(shown, part, path);
    } catch { /* gone from this range: the whole is shown */ }
  }
  tree = shown;
  flame.colour = state.colour;
  flame.icicle = Boolean(state.icicle);
  flame.show(tree, tree.find(path) < 0 ? [] : path);
  $("reset").hidden = !state.path;
  legend();
  search();
  say(tree.total ? (tree.coarse ? "Only coarser roll-ups are left of a part of this range; it is shown a little wider." : "")
    : "Nothing was sampled in this range. Is a profiler sending here? Choose a longer range, or remove filters.");
  if (!tree.value[0])
    $("details").textContent = "\u00a0";
}

// The part's answer is a tree of its own: it takes the place of its node.
function grafted(whole, part, path) {
  const node = whole.find(path);
  if (node < 0)
    return part;
  const frames = whole.frames.concat(part.frames), nodes = [];
  const put = (from, at, shift) => {
    if (from === whole && at === node && shift === 0)
      return put(part, 0, whole.frames.length);
    const frame = from === part && at === 0 ? whole.frame[node] : from.frame[at] + shift;
    nodes.push(frame, from.value[at], from.self[at], from.children[at].length);
    from.children[at].forEach(child => put(from, child, shift));
  };
  put(whole, 0, 0);
  return new Tree({ frames, nodes, unit: whole.unit, period: whole.period, total: whole.total, root: whole.whole,
                    coarse: whole.coarse });
}

// ---- The other views

const baseRange = { before: (from, to) => [2 * from - to, from], hour: (from, to) => [from - 3600, to - 3600],
                    day: (from, to) => [from - 86400, to - 86400] };

function absolute(text) {
  const now = Date.now() / 1000, units = { s: 1, m: 60, h: 3600, d: 86400 };
  const match = /^now(?:-(\d+)([smhd]))?$/.exec(text);
  return match ? now - (match[1] ? match[1] * units[match[2]] : 0) : Number(text);
}

async function loadDiff() {
  const [from, to] = baseRange[state.base](absolute(state.from), absolute(state.to));
  const answer = await ask("diff", selection({ group: state.group, base_from: from.toFixed(3), base_to: to.toFixed(3) }));
  diff.show(new Tree(answer, true));
}

async function loadTop() {
  const answer = await ask("top", selection({ part: state.part, rows: 2000 }));
  $("top-count").textContent = `${answer.count.toLocaleString()} functions` + (answer.count > 2000 ? ", the first 2,000" : "");
  $("top-rows").replaceChildren(topTable(answer, name => change({ view: "sandwich", function: name })));
}

async function loadSandwich() {
  if (!state.function) {
    const { rows } = await ask("top", selection({ rows: 200 }), "names");
    $("functions").replaceChildren(...rows.map(row => element("option", { value: row[0] })));
    if (rows.length)
      change({ function: rows[0][0] }, true);
    return;
  }
  for (const name of ["callers", "callees"])
    sides[name].show(new Tree(await ask(name, selection({ function: state.function }))));
}

async function loadExecutables() {
  const [answer, processes, { executablesTable }] = await Promise.all([ask("executables", selection()),
    ask("values", selection({ label: "executable" })), import("./executables.js")]);
  $("executable-rows").replaceChildren(executablesTable(answer, new Set(processes.map(([path]) => path)), path => addFilter("executable=" + path)));
}

const heat = new Heat($("heat"), (from, to) => chooseRange(from, to));

// From a spike, a trace or a line of the log to its flame graph.
function lookAt(from, to, ...filters) {
  const label = filter => filter.split("=")[0], added = filters.flat().filter(Boolean), replaced = new Set(added.map(label));
  const where = [...state.where.filter(filter => !replaced.has(label(filter))), ...added];
  change({ view: "flame", from: from.toFixed(3), to: to.toFixed(3), live: "", path: "", where });
}

// Made when they are first looked at.
const parts = {};

async function part(name, file, root) {
  return parts[name] ??= new (await import(file))[name]($(root), lookAt);
}

async function loadMetrics() {
  const from = absolute(state.from), to = absolute(state.to);
  const [metrics, series] = await Promise.all([part("Metrics", "./metrics.js", "metrics"), ask("series", selection({ rows: 300 }))]);
  metrics.show(series, from, to);
}

async function loadTraces() {
  const [traces, answer] = await Promise.all([part("Traces", "./traces.js", "traces-view"), ask("traces", selection())]);
  traces.show(answer);
}

async function loadLogs() {
  await (await part("Logs", "./logs.js", "logs-view")).load();
}

async function loadHeat() {
  const from = absolute(state.from), to = absolute(state.to), start = Math.max(from, to - 900);
  await loadMetrics();
  heat.show(await ask("heat", (() => {
    const query = selection({ rows: 50 });
    query.set("from", start.toFixed(3));
    return query;
  })()));
}

async function loadStatus() {
  const [status, hosts] = await Promise.all([ask("status", ""), ask("values", selection({ label: "host" }), "hosts")]);
  $("status-view").replaceChildren(statusView(status, hosts));
}

const loaders = { flame: loadFlame, top: loadTop, sandwich: loadSandwich, executables: loadExecutables, heat: loadHeat,
                  diff: loadDiff, traces: loadTraces, logs: loadLogs, status: loadStatus };

const chart = new Chart($("chart"), $("chart-note"), (from, to) => chooseRange(from, to));

async function loadChart() {
  const buckets = Math.min(600, Math.max(60, Math.floor(innerWidth / 3)));
  chart.show(await ask("chart", selection({ by: state.group || "process", buckets, lines: 12 })));
}

// ---- Everything together

function chooseRange(from, to) {
  change({ from: from.toFixed(3), to: to.toFixed(3), live: "" });
}

function addFilter(text) {
  if (text && !state.where.includes(text))
    change({ where: [...state.where, text], path: "" });
}

function showControls() {
  for (const view of views)
    $(view + "-view").hidden = state.view !== view;
  for (const tab of $("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === state.view));
    tab.tabIndex = tab.dataset.view === state.view ? 0 : -1;
  }
  $("range").value = state.to === "now" && [...$("range").options].some(option => option.value === state.from) ? state.from : "";
  $("live").checked = Boolean(state.live);
  $("icicle").checked = Boolean(state.icicle);
  for (const id of ["group", "colour", "base", "search", "part", "function"])
    if ($(id) !== document.activeElement)
      $(id).value = state[id];
  $("chips").replaceChildren(...state.where.map(filter => element("span", { class: "chip", role: "listitem" }, filter,
    element("button", { type: "button", "aria-label": "remove filter " + filter, onclick: () =>
      change({ where: state.where.filter(other => other !== filter), path: "" }) }, "×"))));
}

async function load() {
  try {
    await Promise.all([loaders[state.view](), loadChart()]);
  } catch (error) {
    if (error.name !== "AbortError")
      say(error.message === "Failed to fetch" ? "wick does not answer. Is it still running?" : error.message);
  }
}

// What was asked for again needs no new data.
const drawOnly = { search: search, colour: () => { flame.colour = state.colour; legend(); flame.draw(); },
                   icicle: () => { flame.icicle = Boolean(state.icicle); flame.draw(); }, live: () => {} };

onChange(changes => {
  const keys = Object.keys(changes);
  showControls();
  if (keys.every(key => key in drawOnly) && tree)
    keys.forEach(key => drawOnly[key]());
  else if (keys.length === 1 && keys[0] === "path" && tree && tree.find(state.path ? state.path.split("\x1f") : []) >= 0 &&
           !tree.hasOther(tree.find(state.path ? state.path.split("\x1f") : [])))
    $("reset").hidden = !state.path;
  else
    load();
});

// Live: when something new came, what is shown is asked for again.
async function poll() {
  if (state.live && !document.hidden && state.to === "now") {
    try {
      if (state.view === "logs")
        await loadLogs();
      const now = await ask("generation", "");
      if (now.generation !== generation) {
        generation = now.generation;
        await load();
      }
    } catch { /* said by load() */ }
  }
  setTimeout(poll, 1000);
}

function listen(id, event, changes) {
  $(id).addEventListener(event, () => change(changes($(id))));
}

listen("range", "change", input => ({ from: input.value, to: "now", live: "1" }));
listen("live", "change", input => ({ live: input.checked ? "1" : "" }));
listen("group", "change", input => ({ group: input.value, path: "" }));
listen("colour", "change", input => ({ colour: input.value }));
listen("icicle", "change", input => ({ icicle: input.checked ? "1" : "" }));
listen("base", "change", input => ({ base: input.value }));
listen("function", "change", input => ({ function: input.value }));
$("search").addEventListener("input", () => change({ search: $("search").value }, true));
$("part").addEventListener("input", () => change({ part: $("part").value }, true));
$("reset").addEventListener("click", () => change({ path: "" }) || flame.show(tree));
$("filter").addEventListener("keydown", event => {
  if (event.key === "Enter") {
    addFilter($("filter").value.trim());
    $("filter").value = "";
  }
});
$("filter").addEventListener("focus", async () => {
  const lists = await Promise.all(["process", "host", "service"].map(async label =>
    (await ask("values", selection({ label, max: 50 }), "suggest-" + label)).map(([text]) => label + "=" + text)));
  $("suggestions").replaceChildren(...lists.flat().map(value => element("option", { value })));
});
$("export").addEventListener("change", () => {
  if ($("export").value)
    location.href = "/api/v1/export?" + selection({ format: $("export").value, group: state.group });
  $("export").value = "";
});
for (const tab of $("tabs").children)
  tab.addEventListener("click", () => change({ view: tab.dataset.view }));

function toggleTheme() {
  const dark = document.documentElement.classList.contains("dark") ||
    (!document.documentElement.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.className = dark ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.className);
  flame.draw();
  chart.draw();
  parts.Metrics?.draw();
}

$("theme").addEventListener("click", toggleTheme);
$("help").addEventListener("click", () => $("keys").showModal());
addEventListener("click", event => {
  if (!$("menu").contains(event.target))
    $("menu").hidden = true;
});
addEventListener("keydown", event => {
  if (event.key === "Escape")
    $("menu").hidden = true;
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey)
    return;
  const number = Number(event.key) - 1;
  if (event.key === "/") {
    event.preventDefault();
    $("search").focus();
  } else if (event.key === "?") {
    $("keys").showModal();
  } else if (event.key === "t") {
    toggleTheme();
  } else if (event.key === "l") {
    change({ live: state.live ? "" : "1" });
  } else if (event.key === "c" && tree && flame.hovered >= 0) {
    navigator.clipboard.writeText(tree.name(flame.hovered));
  } else if (event.key === "s" && tree && flame.hovered > 0) {
    change({ view: "sandwich", function: tree.name(flame.hovered) });
  } else if (views[number]) {
    change({ view: views[number] });
  }
});

document.documentElement.className = localStorage.getItem("theme") ?? "";
readURL();
showControls();
load().finally(poll);
