// The flame graph's tab: the picture, what is said of it, and what can be done with it.
import { ask, change, selection, state } from "./state.js";
import { Flame, SmallMap } from "./flame.js";
import { kindColour, textColour } from "./colours.js";
import { baseName, exactly } from "./match.js";
import { hideTip, openMenu, showTip } from "./menu.js";
import { Tree, percent } from "./tree.js";
import { element } from "./views.js";

const $ = id => document.getElementById(id);
const LEGEND_MAX = 12, EXACT_AFTER_MS = 150;

// ---- What is said of a frame

function facts(tree, node) {
  const whole = tree.value[0] || 1, file = tree.file(node), line = tree.line(node);
  const rows = [["total", `${percent(tree.value[node] / whole)}, ${tree.amount(tree.value[node])}`],
                ["self", `${percent(tree.self[node] / whole)}, ${tree.amount(tree.self[node])}`]];
  if (tree.compared)
    rows.push(["then", `${percent(tree.base[node] / (tree.base[0] || 1))}, ${tree.amount(tree.base[node])}`]);
  if (tree.rest[node])
    rows.push(["not drawn", `${percent(tree.rest[node] / whole)}: zoom in to see it`]);
  if (!node)
    return rows;
  return rows.concat([["kind", tree.kind(node) + (tree.isInlined(node) ? ", inlined into its caller" : "")], ["source", file && file + (line ? ":" + line : "")],
                      ["file", tree.executable(node)], ["address", tree.address(node) && "0x" + tree.address(node)], ["build id", tree.buildId(node)]]);
}

export function describe(tree, node) {
  if (!tree || node < 0)
    return "\u00a0";
  const whole = tree.value[0] || 1;
  return [tree.name(node), `${percent(tree.value[node] / whole)} total, ${percent(tree.self[node] / whole)} self`, tree.isInlined(node) && node && "inlined",
          tree.file(node) && tree.file(node) + (tree.line(node) ? ":" + tree.line(node) : ""), baseName(tree.executable(node))].filter(Boolean).join(" · ");
}

// ---- What can be done with one

const add = (key, text) => state[key].includes(text) || change({ [key]: [...state[key], text], path: "" });
export const narrowTo = text => add("focus", text);
export const narrowWithout = text => add("ignore", text);
export const hide = text => add("hide", text);
export const lookAt = name => change({ view: "sandwich", function: name });

export async function copy(text) {
  await navigator.clipboard?.writeText(text).catch(() => {});
}

export function functionItems(name, file) {
  const only = exactly(name), base = baseName(file);
  return [["Only stacks with it", () => narrowTo(only)], ["Without stacks that have it", () => narrowWithout(only)],
          ["Hide it", () => hide(only)], ["Callers and callees", () => lookAt(name)], ["Search for it", () => change({ view: "flame", search: only })],
          ...(base ? [null, [`Only stacks with ${base}`, () => narrowTo("file=" + base)], [`Hide ${base}`, () => hide("file=" + base)]] : []),
          null, ["Copy name", () => copy(name)]];
}

function frameMenu(flame, node, x, y) {
  const { tree } = flame, name = tree.name(node);
  hideTip();
  const stack = () => {
    const names = [];
    for (let at = node; at > 0; at = tree.parent[at])
      names.unshift(tree.name(at));
    return names.join(";");
  };
  const items = tree.kind(node) === "label" || !node ? [["Copy name", () => copy(name)]] : functionItems(name, tree.executable(node));
  openMenu(name, [["Zoom into it", () => flame.zoom(node)], ...items, ["Copy stack", () => copy(stack())], ["Copy link to this view", () => copy(location.href)]], x, y);
}

// A flame with all that belongs to it.
export function makeFlame(box, details, zoom, view) {
  const flame = new Flame(box, {
    zoom, view,
    hover: (node, x, y) => {
      details.textContent = describe(flame.tree, node);
      if (node < 0 || x === undefined || !$("menu").hidden)
        hideTip();
      else
        showTip(flame.tree.name(node), facts(flame.tree, node), x, y);
    },
    menu: (node, x, y) => frameMenu(flame, node, x, y),
  });
  return flame;
}

export const flame = makeFlame($("flame-box"), $("details"), node => change({ path: flame.tree.path(node) }), () => map.draw());
const map = new SmallMap($("map"), flame);

// ---- Search

let exact = 0;

function say(text) {
  $("matched").textContent = text;
}

export function search() {
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
  const report = (share, count) => `${percent(share)} matched, ${count.toLocaleString()} frame${count === 1 ? "" : "s"}`;
  say((tree.pruned ? "≥ " : "") + report(found.share, found.found.length));
  // What was left out of the picture counts as well: the server knows.
  if (tree.pruned)
    exact = setTimeout(async () => {
      const answer = await ask("search", selection({ group: state.group, text })).catch(() => null);
      if (answer && state.search === text)
        say(report(answer.matched / (answer.total || 1), answer.nodes));
    }, EXACT_AFTER_MS);
}

export function nextMatch(step) {
  const at = flame.next(step);
  if (at !== undefined)
    say(`${at + 1} of ${flame.found.found.length.toLocaleString()}`);
}

// ---- Colours and crumbs

export function legend() {
  const { tree } = flame, sums = new Map(), byFile = state.colour === "file";
  if (!tree || state.colour === "name")
    return $("legend").replaceChildren();
  for (let i = 1; i < tree.count; i++) {
    const key = byFile ? baseName(tree.executable(i)) : tree.kind(i);
    sums.set(key, (sums.get(key) ?? 0) + tree.self[i]);
  }
  const largest = [...sums].filter(([key]) => key).sort((a, b) => b[1] - a[1]).slice(0, LEGEND_MAX);
  $("legend").replaceChildren(...largest.map(([key]) => {
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
  $("crumbs").replaceChildren(...(flame.root ? shown : []).map(node => element("li", {},
    element("button", { type: "button", title: tree.name(node), onclick: () => flame.zoom(node) }, tree.name(node)))));
}

// ---- Loading

let asked = "";

// The whole first; where it was pruned, the part that is zoomed into is asked for in full.
export async function loadFlame() {
  const query = selection({ group: state.group });
  const tree = new Tree(await ask("flame", query));
  asked = String(query);
  flame.icicle = Boolean(state.icicle);
  flame.colour = state.colour;
  flame.show(tree, state.path);
  performance.mark("flame");
  afterShow();
  await refine();
  return tree;
}

async function refine() {
  const node = flame.tree.find(state.path);
  if (!state.path || (node >= 0 && !flame.tree.isPruned(node)))
    return;
  const path = state.path, part = await ask("flame", selection({ group: state.group, path }), "part").catch(() => null);
  if (!part || path !== state.path)
    return;
  const whole = flame.tree, at = whole.find(path);
  flame.show(at < 0 ? new Tree(part) : whole.graft(at, new Tree(part)), at < 0 ? "" : path);
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
export async function showPath() {
  const node = flame.tree.find(state.path);
  if (node >= 0 && node !== flame.root)
    flame.look(node);
  crumbs();
  map.draw();
  // First what is there is to be seen.
  await new Promise(resolve => setTimeout(resolve));
  await refine();
}

export function isLoaded() {
  return flame.tree && asked === String(selection({ group: state.group }));
}
