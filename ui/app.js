import { absolute, ask, change, chosen, lists, onChange, readURL, selection, state } from "./state.js";
import { Chart, Heat } from "./chart.js";
import { copy, flame, functionItems, hide, isLoaded, legend, loadFlame, lookAt, makeFlame, narrowTo, narrowWithout, nextMatch, search,
         showPath } from "./flameview.js";
import { exactly } from "./match.js";
import { closeMenu, hideTip, openMenu } from "./menu.js";
import { follow } from "./live.js";
import { FunctionTable } from "./table.js";
import { Tree, percent } from "./tree.js";
import { element, emptyHelp, firstHelp, statusView } from "./views.js";

const $ = id => document.getElementById(id);
const views = [...$("tabs").children].map(tab => tab.dataset.view);

function say(text) {
  $("message").textContent = text;
}

// ---- The views

async function showFlame() {
  const tree = await loadFlame();
  const isEmpty = !tree.total;
  $("empty").hidden = !isEmpty;
  $("flame-box").hidden = isEmpty;
  say(tree.coarse ? "Only coarser roll-ups are left of a part of this range; it is shown a little wider." : "");
  if (isEmpty)
    $("empty").replaceChildren(await whyEmpty());
  else if (!tree.unit)
    await chooseType();
}

// Nothing at all, or nothing of what was asked for.
async function whyEmpty() {
  const status = await ask("status", "");
  if (!status.levels.some(level => level.blocks))
    return firstHelp(location.origin);
  const last = Math.max(...status.levels.map(level => level.last)), actions = [];
  if (lists.some(key => state[key].length))
    actions.push(["Remove all filters", () => change(Object.fromEntries(lists.map(key => [key, []])))]);
  if (last && last < absolute(state.from))
    actions.push([`Look at the last data, from ${new Date(last * 1000).toLocaleString()}`, () => chooseRange(last - 60, last + 60)]);
  actions.push(["Last hour", () => change({ from: "now-1h", to: "now" })], ["Last 7 days", () => change({ from: "now-7d", to: "now" })]);
  return emptyHelp("Nothing was sampled in this range with these filters", actions);
}

// Values of two units do not add up: one kind is shown at a time.
async function chooseType() {
  const types = (await ask("values", chosen({ label: "type" }), "types")).map(([text]) => text);
  $("type").replaceChildren(...types.map(type => element("option", {}, type)));
  $("type-label").hidden = types.length < 2;
  if (types.length > 1 && !state.where.some(filter => filter.startsWith("type=")))
    change({ where: [...state.where, "type=" + (types.find(type => /sample|cpu/.test(type)) ?? types[0])] }, true);
}

const sides = Object.fromEntries(["callers", "callees"].map(name => [name, makeFlame($(name + "-box"), $("sandwich-share"))]));
const diff = makeFlame($("diff-box"), $("diff-details"));
const baseRange = { before: (from, to) => [2 * from - to, from], hour: (from, to) => [from - 3600, to - 3600],
                    day: (from, to) => [from - 86400, to - 86400] };

async function loadDiff() {
  const [from, to] = baseRange[state.base](absolute(state.from), absolute(state.to));
  const tree = new Tree(await ask("diff", selection({ group: state.group, base_from: from.toFixed(3), base_to: to.toFixed(3) })));
  diff.show(tree, state.path);
  $("diff-note").textContent = !tree.base[0] ? "Nothing was sampled then: choose another time, or a shorter range." :
    `${tree.amount(tree.value[0])} now, ${tree.amount(tree.base[0])} then; each is half of the width`;
}

const table = new FunctionTable($("top-rows"), {
  order: order => change({ order }),
  choose: ([name]) => lookAt(name),
  menu: ([name, executable], x, y) => openMenu(name, functionItems(name, executable), x, y),
});

async function loadTop() {
  await table.load();
  $("top-count").textContent = `${table.count.toLocaleString()} functions`;
}

async function loadSandwich() {
  const { rows } = await ask("top", selection({ rows: 200 }), "names");
  $("functions").replaceChildren(...rows.map(row => element("option", { value: row[0] })));
  if (!state.function)
    return rows.length && change({ function: rows[0][0] }, true);
  const trees = await Promise.all(["callers", "callees"].map(async name => new Tree(await ask(name, selection({ function: state.function })))));
  sides.callers.show(trees[0]);
  sides.callees.show(trees[1]);
  const total = rows.find(([name]) => name === state.function);
  $("sandwich-share").textContent = trees[1].value[0] ? trees[1].amount(trees[1].value[0]) : "not in this range";
  return total;
}

async function loadExecutables() {
  const [answer, processes, { executablesTable, uploadBox }] = await Promise.all([ask("executables", selection()),
    ask("values", chosen({ label: "executable" })), import("./executables.js")]);
  if (!$("upload").firstChild)
    $("upload").append(uploadBox(loadExecutables));
  $("executable-rows").replaceChildren(executablesTable(answer, new Set(processes.map(([path]) => path)), path => addFilter("executable=" + path)));
}

// From a spike, a trace or a line of the log to its flame graph.
function lookAtMoment(from, to, ...filters) {
  const label = filter => filter.split("=")[0], added = filters.flat().filter(Boolean), replaced = new Set(added.map(label));
  const where = [...state.where.filter(filter => !replaced.has(label(filter))), ...added];
  change({ view: "flame", from: from.toFixed(3), to: to.toFixed(3), live: "", path: "", where });
}

// Made when they are first looked at.
const parts = {}, coming = {};

function part(name, file, root) {
  return coming[name] ??= import(file).then(module => parts[name] = new module[name]($(root), lookAtMoment)).catch(error => {
    delete coming[name];
    throw error;
  });
}

async function loadMetrics() {
  const from = absolute(state.from), to = absolute(state.to);
  const [metrics, series, hosts] = await Promise.all([part("Metrics", "./metrics.js", "metrics"), ask("series", chosen({ rows: 300 })),
    ask("values", new URLSearchParams({ from: state.from, to: state.to, label: "host", max: 100 }), "metric-hosts")]);
  metrics.show(series, from, to, hosts.map(([name]) => name), host =>
    change({ where: [...state.where.filter(filter => !filter.startsWith("host=")), "host=" + host] }));
}

async function loadTraces() {
  const [traces, answer] = await Promise.all([part("Traces", "./traces.js", "traces-view"), ask("traces", chosen())]);
  traces.show(answer);
}

async function loadLogs() {
  await (await part("Logs", "./logs.js", "logs-view")).load();
}

const heat = new Heat($("heat"), (from, to) => chooseRange(from, to));

async function loadHeat() {
  const to = absolute(state.to), start = Math.max(absolute(state.from), to - 900), query = chosen({ rows: 100 });
  query.set("from", start.toFixed(3));
  const [answer] = await Promise.all([ask("heat", query), loadMetrics()]);
  heat.show(answer);
  $("heat-note").textContent = answer.max ? `${new Date(answer.from * 1000).toLocaleTimeString()} to ` +
    `${new Date((answer.from + answer.seconds) * 1000).toLocaleTimeString()}, at most ${answer.max} samples in ${1000 / answer.rows} ms` +
    (to - absolute(state.from) > 901 ? "; the last 15 minutes of the range" : "") : "Nothing with times of its own was sampled in this range.";
}

async function loadStatus() {
  const [status, hosts] = await Promise.all([ask("status", ""), ask("values", chosen({ label: "host" }), "hosts")]);
  $("status-view").replaceChildren(statusView(status, hosts));
}

const loaders = { flame: showFlame, top: loadTop, sandwich: loadSandwich, executables: loadExecutables, heat: loadHeat, diff: loadDiff,
                  traces: loadTraces, logs: loadLogs, status: loadStatus };

const chart = new Chart($("chart"), $("chart-note"), (from, to) => chooseRange(from, to));

async function loadChart() {
  const buckets = Math.min(600, Math.max(60, Math.floor(innerWidth / 3)));
  chart.show(await ask("chart", chosen({ by: state.group || "process", buckets, lines: 12 })));
}

// ---- Everything together

function chooseRange(from, to) {
  change({ from: from.toFixed(3), to: to.toFixed(3), live: "" });
}

function addFilter(text) {
  if (text && !state.where.includes(text))
    change({ where: [...state.where, text], path: "" });
}

const chipTitles = { where: "", focus: "only", ignore: "without", hide: "hidden" };

function showChips() {
  $("chips").replaceChildren(...lists.flatMap(key => state[key].map(text => element("li", { class: "chip" },
    ...(chipTitles[key] ? [element("b", {}, chipTitles[key])] : []), element("span", { title: text }, text),
    element("button", { type: "button", "aria-label": `remove ${chipTitles[key]} ${text}`, onclick: () =>
      change({ [key]: state[key].filter(other => other !== text), path: "" }) }, "×")))));
}

function showControls() {
  for (const view of views)
    $(view + "-view").hidden = state.view !== view;
  for (const tab of $("tabs").children) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === state.view));
    tab.tabIndex = tab.dataset.view === state.view ? 0 : -1;
  }
  $("range").value = state.to === "now" && [...$("range").options].some(option => option.value === state.from) ? state.from : "";
  for (const id of ["live", "icicle", "collapse"])
    $(id).checked = Boolean(state[id]);
  for (const id of ["group", "colour", "base", "search", "part", "function"])
    if ($(id) !== document.activeElement)
      $(id).value = state[id];
  $("type").value = state.where.find(filter => filter.startsWith("type="))?.slice(5) ?? "";
  showChips();
}

let running = 0;

// Until all that was asked for is there, the page is busy.
async function busy(work) {
  document.querySelector("main").setAttribute("aria-busy", String(++running > 0));
  try {
    await work;
  } catch (error) {
    if (error.name !== "AbortError")
      say(error.message);
  }
  document.querySelector("main").setAttribute("aria-busy", String(--running > 0));
}

function load() {
  hideTip();
  return busy(Promise.all([loaders[state.view](), loadChart()]));
}

// What was asked for again needs no new data.
const drawOnly = { search, colour: () => { flame.recolour(state.colour); legend(); },
                   icicle: () => { flame.icicle = Boolean(state.icicle); flame.draw(); }, live: () => {} };
const drawLists = () => [parts.Traces, parts.Logs].forEach(list => list?.draw());

onChange(changes => {
  const keys = Object.keys(changes);
  showControls();
  adjustLive();
  if (keys.every(key => key === "find" || key === "show"))
    drawLists();
  else if (keys.every(key => key in drawOnly) && flame.tree)
    keys.forEach(key => drawOnly[key]());
  else if (state.view === "flame" && "path" in changes && isLoaded())
    busy(showPath().then(search));
  else
    load();
});

const adjustLive = follow(() => Boolean(state.live) && state.to === "now", load);

// What was refused is in the log, not in the store: no event tells of it.
setInterval(() => state.view === "logs" && state.live && !document.hidden && loadLogs().catch(() => {}), 1000);

function listen(id, event, changes) {
  $(id).addEventListener(event, () => change(changes($(id))));
}

listen("range", "change", input => ({ from: input.value, to: "now", live: "1" }));
listen("group", "change", input => ({ group: input.value, path: "" }));
listen("colour", "change", input => ({ colour: input.value }));
for (const id of ["live", "icicle", "collapse"])
  listen(id, "change", input => ({ [id]: input.checked ? "1" : "" }));
listen("base", "change", input => ({ base: input.value }));
listen("function", "change", input => ({ function: input.value }));
listen("type", "change", input => ({ where: [...state.where.filter(filter => !filter.startsWith("type=")), "type=" + input.value], path: "" }));
$("search").addEventListener("input", () => change({ search: $("search").value }, true));
$("search").addEventListener("keydown", event => {
  if (event.key === "Enter")
    nextMatch(event.shiftKey ? -1 : 1);
  else if (event.key === "Escape")
    $("flame").focus();
});
$("part").addEventListener("input", () => change({ part: $("part").value }, true));
$("keep").addEventListener("click", () => narrowTo(state.search));
$("next").addEventListener("click", () => nextMatch(1));
$("previous").addEventListener("click", () => nextMatch(-1));
$("filter").addEventListener("keydown", event => {
  if (event.key === "Enter") {
    addFilter($("filter").value.trim());
    $("filter").value = "";
  }
});
$("filter").addEventListener("focus", async () => {
  const all = await Promise.all(["process", "host", "service"].map(async label =>
    (await ask("values", chosen({ label, max: 50 }), "suggest-" + label)).map(([text]) => label + "=" + text))).catch(() => []);
  $("suggestions").replaceChildren(...all.flat().map(value => element("option", { value })));
});
$("export").addEventListener("change", () => {
  const format = $("export").value;
  $("export").value = "";
  if (format === "png")
    $("flame").toBlob(picture => {
      const link = element("a", { href: URL.createObjectURL(picture), download: "wick.png" });
      link.click();
      URL.revokeObjectURL(link.href);
    });
  else if (format)
    location.href = "/api/v1/export?" + selection({ format, group: state.group });
});
for (const tab of $("tabs").children)
  tab.addEventListener("click", () => change({ view: tab.dataset.view }));
$("tabs").addEventListener("keydown", event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step)
    return;
  change({ view: views[(views.indexOf(state.view) + step + views.length) % views.length] });
  $(state.view + "-tab").focus();
});

// ---- Light and dark

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function redraw() {
  for (const picture of [flame, diff, ...Object.values(sides)])
    picture.restyle();
  chart.draw();
  heat.draw();
  parts.Metrics?.draw();
}

function toggleTheme() {
  const root = document.documentElement, isDark = root.classList.contains("dark") || (!root.classList.contains("light") && prefersDark.matches);
  root.className = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.className);
  redraw();
}

prefersDark.addEventListener("change", redraw);
$("theme").addEventListener("click", toggleTheme);
$("help").addEventListener("click", () => $("keys").showModal());

// ---- Keys

// Who is there already keeps the frame that was chosen: an answer to a question that is not new would begin anew.
const toFlame = () => state.view === "flame" || change({ view: "flame" });

const framed = action => () => {
  const node = flame.hovered > 0 ? flame.hovered : flame.chosen;
  if (state.view === "flame" && node > 0)
    action(flame.tree.name(node));
};
const keys = {
  "/": () => (toFlame(), $("search").focus()), "?": () => $("keys").showModal(), t: toggleTheme, g: () => (toFlame(), $("flame").focus()),
  l: () => change({ live: state.live ? "" : "1" }), r: () => change({ collapse: state.collapse ? "" : "1" }),
  m: () => state.view === "flame" && flame.tree && flame.menuHere(), n: () => nextMatch(1), N: () => nextMatch(-1), c: framed(copy), s: framed(lookAt), f: framed(name => narrowTo(exactly(name))),
  h: framed(name => hide(exactly(name))), i: framed(name => narrowWithout(exactly(name))),
  Escape: () => closeMenu() || (state.view === "flame" && flame.root && flame.zoom(flame.tree.parent[flame.root])),
};
addEventListener("keydown", event => {
  if (event.target.matches("input:not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey || $("keys").open)
    return;
  const action = keys[event.key] ?? (views[event.key - 1] && (() => change({ view: views[event.key - 1] })));
  if (action) {
    event.preventDefault();
    action();
  }
});

document.documentElement.className = localStorage.getItem("theme") ?? "";
readURL();
showControls();
load();
