// The flame graph of all: search, colours, where one is in it.
import { absolute, ask, change, chooseRange, flameSelection, hide, lists, lookAt, narrowTo, narrowWithout, selection, state } from "../state.js";
import { kindColour, textColour } from "../colours.js";
import { element, update } from "../element.js";
import { SmallMap } from "../flame.js";
import { copy } from "../copy.js";
import { makeFlame } from "../flameview.js";
import { baseName, exactly } from "../match.js";
import { Tree, percent } from "../tree.js";

const $ = id => document.getElementById(id);
const LEGEND_MAX = 12, EXACT_AFTER_MS = 150;

let flame, map;

// ---- Search

let exact = 0;

function say(text) {
  $("matched").textContent = text;
}

function search() {
  const { tree } = flame, text = state.search;
  clearTimeout(exact);
  $("keep").hidden = !text;
  if (!tree || !text) {
    say("");
    flame.search(null);
    return;
  }
  let found;
  try {
    found = tree.match(text);
  } catch (error) {
    say(error.message);
    flame.search(null);
    return;
  }
  flame.search(found);
  const drawnCount = found.found.length;
  const report = (share, count) => `${percent(share)} matched, in ${count.toLocaleString()} place${count === 1 ? "" : "s"}` +
    (count > drawnCount ? `, ${drawnCount.toLocaleString()} of them drawn` : "");
  say((tree.pruned ? "≥ " : "") + report(found.share, drawnCount));
  // What was left out of the picture counts as well: the server knows.
  if (tree.pruned)
    exact = setTimeout(async () => {
      const answer = await ask("search", flameSelection({ text })).catch(() => null);
      if (answer && state.search === text)
        say(report(answer.matched / (answer.total || 1), answer.nodes));
    }, EXACT_AFTER_MS);
}

function nextMatch(step) {
  const at = flame.next(step);
  if (at !== undefined)
    say(`${at + 1} of ${flame.found.found.length.toLocaleString()} drawn`);
}

// ---- Colours and crumbs

function legend() {
  const { tree } = flame, sums = new Map(), byFile = state.colour === "file";
  if (!tree || state.colour === "name")
    return update($("legend"), );
  for (let i = 1; i < tree.count; i++) {
    const key = byFile ? baseName(tree.home(i)) : tree.kind(i);
    sums.set(key, (sums.get(key) ?? 0) + tree.self[i]);
  }
  const largest = [...sums].filter(([key]) => key).sort((a, b) => b[1] - a[1]).slice(0, LEGEND_MAX);
  update($("legend"), ...largest.map(([key]) => {
    const swatch = element("i", { class: "swatch" }), text = (byFile ? "file=" : "kind=") + key;
    swatch.style.background = byFile ? textColour(key) : kindColour(key);
    return element("button", { type: "button", title: `show only stacks with it; with Shift: hide it`,
                               onclick: event => key !== "label" && (event.shiftKey ? hide : narrowTo)(text) }, swatch, " " + key);
  }));
}

function crumbs() {
  const { tree } = flame, way = [];
  for (let node = flame.root; node >= 0; node = tree.parent[node])
    way.unshift(node);
  const shown = way.length > 6 ? [way[0], ...way.slice(-4)] : way;
  update($("crumbs"), ...(flame.root ? shown : []).map(node => element("li", {},
    element("button", { type: "button", title: tree.name(node), onclick: () => flame.zoom(node) }, tree.name(node)))));
}

// ---- The table beside it

let table = null;

// Of what is zoomed into; bottom up there is no such part of the stacks.
const besideQuery = (first, rows) => selection({ order: state.by, first, rows, ...(state.path && !state.inverted ? { group: state.group, path: state.path } : {}) });

async function loadBeside() {
  $("beside").hidden = !state.beside;
  if (!state.beside)
    return;
  const { FunctionTable, columns, home } = await import("../functions.js");
  table ??= new FunctionTable($("beside-rows"), "beside", [columns.self, columns.total, columns.named], {
    query: besideQuery, order: by => change({ by }), sorted: () => state.by,
    choose: row => change({ search: exactly(row[0], home(row)) }),
    point: row => flame.light(row && exactly(row[0], home(row))),
  });
  await table.load();
}

function markRow(node) {
  table?.mark(node > 0 ? flame.tree.name(node) + "\n" + flame.tree.home(node) : null);
}

// ---- Loading

let asked = "";

// The whole first; where it was pruned, the part that is zoomed into is asked for in full.
async function loadFlame() {
  const query = flameSelection();
  const tree = new Tree(await ask("flame", query));
  tree.isByReason = query.get("group") === "wait";
  asked = String(query);
  flame.icicle = Boolean(state.icicle);
  flame.colour = state.colour;
  flame.show(tree, state.path, asked);
  performance.mark("flame");
  afterShow();
  await refine();
  return tree;
}

async function refine() {
  const node = flame.tree.find(state.path);
  if (!state.path || (node >= 0 && !flame.tree.isPruned(node)))
    return;
  const path = state.path, part = await ask("flame", flameSelection({ path }), "part").catch(() => null);
  if (!part || path !== state.path)
    return;
  const whole = flame.tree, at = whole.find(path);
  const grafted = at < 0 ? new Tree(part) : whole.graft(at, new Tree(part));
  grafted.isByReason = whole.isByReason;
  flame.show(grafted, at < 0 ? "" : path, asked);
  afterShow();
}

function afterShow() {
  const { tree } = flame;
  (window.requestIdleCallback ?? setTimeout)(() => tree.prepareSearch());
  legend();
  crumbs();
  search();
  map.draw();
}

// Another path in the same tree: drawn at once, refined if there is more to see.
async function showPath() {
  const node = flame.tree.find(state.path);
  if (node >= 0 && node !== flame.root)
    flame.look(node);
  crumbs();
  map.draw();
  // First what is there is to be seen.
  await new Promise(resolve => setTimeout(resolve));
  await refine();
}

function isLoaded() {
  return flame.tree && asked === String(flameSelection());
}

async function load() {
  const [tree] = await Promise.all([loadFlame(), loadBeside()]);
  const isEmpty = !tree.total;
  $("empty").hidden = !isEmpty;
  $("flame-box").hidden = isEmpty;
  if (isEmpty)
    $("empty").replaceChildren(await whyEmpty());
  return tree.coarse && "Only coarser roll-ups are left of a part of this range; it is shown a little wider.";
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

// What a store without anything in it says.
function firstHelp(origin) {
  const port = new URL(origin).host, code = text => element("code", {}, text);
  return element("div", { class: "help" }, element("h2", {}, "Nothing has been sampled yet"),
    element("p", {}, "This page fills itself as soon as profiles come. Ways to have some:"),
    element("ol", {},
      element("li", {}, "This machine: ", code("sudo wick"), " samples all of it, 20 times a second for each CPU, and shows it here."),
      element("li", {}, "Another machine with wick or any OTLP agent: send to ", code(port), " by gRPC, or by HTTP to ",
              code(origin + "/v1development/profiles"), "."),
      element("li", {}, "The OpenTelemetry eBPF profiler: ", code(`ebpf-profiler -collection-agent=${port} -disable-tls`)),
      element("li", {}, "A file: ", code("wick convert cpu.pb.gz cpu.otlp"), ", then ",
              code(`curl -H 'content-type: application/x-protobuf' --data-binary @cpu.otlp ${origin}/v1development/profiles`))),
    element("p", {}, "If wick runs here and nothing comes, ", code("wick doctor"), " says why."));
}

// What a selection without anything in it says. actions: [text, action]
function emptyHelp(text, actions) {
  return element("div", { class: "help" }, element("h2", {}, text), element("p", {}, ...actions.flatMap(([title, onclick]) =>
    [element("button", { type: "button", onclick }, title), " "])));
}

// ---- The tab

function start() {
  flame = makeFlame($("flame-box"), $("details"), node => change({ path: flame.tree.path(node) }), () => map.draw(), markRow);
  map = new SmallMap($("map"), flame);
  $("search").addEventListener("keydown", event => {
    if (event.key === "Enter")
      nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape")
      $("flame").focus();
  });
  $("keep").addEventListener("click", () => narrowTo(state.search));
  $("next").addEventListener("click", () => nextMatch(1));
  $("previous").addEventListener("click", () => nextMatch(-1));
}

// What was asked for again needs no new data.
function changed(changes) {
  const isDrawing = Object.keys(changes).every(key => ["search", "colour", "icicle", "live"].includes(key));
  if (flame.tree && isLoaded() && Object.keys(changes).every(key => key === "beside" || key === "by"))
    return loadBeside();
  if (!flame.tree || !(isDrawing || ("path" in changes && isLoaded())))
    return false;
  if (flame.icicle !== Boolean(state.icicle) || flame.colour !== state.colour) {
    flame.icicle = Boolean(state.icicle);
    flame.recolour(state.colour);
    legend();
  }
  if (isDrawing)
    search();
  return isDrawing || Promise.all([showPath().then(search), loadBeside()]);
}

// Of the frame under the mouse, or the one that was chosen.
const framed = action => () => {
  const node = flame.hovered > 0 ? flame.hovered : flame.chosen;
  if (node > 0)
    action(flame.tree.name(node), flame.tree.home(node));
};

export default {
  address: { colour: "kind", icicle: "1", inverted: "", beside: "", by: "self" },
  start, load, changed,
  restyle: () => flame.restyle(),
  picture: () => $("flame"),
  keys: {
    "/": () => $("search").focus(), g: () => $("flame").focus(), m: () => flame.tree && flame.menuHere(), n: () => nextMatch(1), N: () => nextMatch(-1),
    c: framed(name => copy(name)), s: framed(lookAt), f: framed((name, file) => narrowTo(exactly(name, file))), h: framed((name, file) => hide(exactly(name, file))),
    i: framed((name, file) => narrowWithout(exactly(name, file))), Escape: () => flame.root && flame.zoom(flame.tree.parent[flame.root]),
    b: () => change({ inverted: state.inverted ? "" : "1", path: "" }), v: () => change({ beside: state.beside ? "" : "1" }),
  },
  help: [["/", "search"], ["n N", "next, previous match"], ["g", "go to the flame graph; then:"], ["← → ↑ ↓", "move to another frame"], ["Enter", "zoom into it"],
         ["Esc", "zoom out"], ["+ −", "wider, narrower (Ctrl + wheel, pinch)"], ["m", "menu of the frame"],
         ["f h i", "only stacks with it; hide it; without stacks that have it"], ["c", "copy its name"], ["s", "all of its function"], ["b", "bottom up"], ["v", "the table beside it"]],
  html: `
    <div class="tools">
      <label><span>Search</span> <input id="search" name="search" type="search" placeholder="name or /expression/  (press /)" spellcheck="false" autocapitalize="off"></label>
      <span class="joined" role="group" aria-label="matches"><button id="previous" type="button" title="previous match (N)" aria-label="previous match">↑</button><button id="next" type="button" title="next match (n)" aria-label="next match">↓</button></span>
      <output id="matched"></output>
      <button id="keep" type="button" hidden title="show only stacks with it">Focus</button>
      <span class="grow"></span>
      <label><span>Colour</span> <select id="colour" name="colour"><option value="kind">by kind</option><option value="file">by file</option><option value="name">by name</option></select></label>
      <label class="switch"><input type="checkbox" id="icicle" name="icicle"> icicle</label>
      <label class="switch"><input type="checkbox" id="collapse" name="collapse"> collapse recursion</label>
      <label class="switch" title="from the functions that the time is spent in to their callers (b)"><input type="checkbox" id="inverted" name="inverted" data-clears="path"> bottom up</label>
      <label class="switch" title="functions beside the flame graph (v)"><input type="checkbox" id="beside-on" name="beside"> table</label>
    </div>
    <div class="tools where"><ol id="crumbs" aria-label="zoomed into"></ol><span class="grow"></span><span id="legend" class="legend" role="group" aria-label="colours; click to show only these"></span><canvas id="map" width="220" height="26" aria-hidden="true" hidden></canvas></div>
    <div class="split"><div class="scroll flame" id="flame-box"><canvas id="flame" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="flame graph: arrow keys move, Enter zooms in, Escape zooms out; the tab Top functions is its text form" aria-describedby="details"></canvas></div>
      <div class="aside" id="beside" hidden><div class="scroll" id="beside-rows" tabindex="0" role="region" aria-label="functions of what is shown"></div></div></div>
    <div id="empty" hidden></div>
    <p id="details" class="note" aria-live="polite">&nbsp;</p>`,
  css: `
#search { width: 17rem; }
.tools.where { padding: 0 0 .3rem; min-height: 30px; flex-wrap: nowrap; }
#crumbs { display: flex; margin: 0; padding: 0; list-style: none; overflow: hidden; min-width: 0; }
#crumbs li { display: flex; min-width: 2ch; } #crumbs li + li::before { content: "›"; color: var(--dim); padding: 0 .2rem; }
#crumbs button { border: 0; background: none; padding: 0 .2rem; min-height: 1.5rem; color: var(--accent); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 22ch; }
#crumbs li:last-child button { color: var(--fg); max-width: 50ch; }
#map { width: 220px; height: 26px; border: 1px solid var(--line); border-radius: 4px; cursor: grab; touch-action: none; flex-shrink: 0; }
.help { max-width: 46rem; margin: 2rem auto; line-height: 1.7; } .help h2 { font-size: 1.3rem; }
@media (max-width: 700px) { #search { width: 100%; } .tools.where { flex-wrap: wrap; } #map { width: 90px; } }`,
};
