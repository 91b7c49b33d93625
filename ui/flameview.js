// A flame graph with all that belongs to it: what is said of a frame, and what can be done with one.
import { addFilter, change, grouping, hide, narrowTo, narrowWithout, state, tabs } from "./state.js";
import { copy } from "./copy.js";
import { Flame } from "./flame.js";
import { baseName, exactly } from "./match.js";
import { hideTip, isMenuOpen, openMenu, showTip } from "./menu.js";
import { percent } from "./tree.js";
import { RUNNING } from "./waits.js";

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

export function functionItems(name, file) {
  const only = exactly(name, file), base = baseName(file);
  return [["Only stacks with it", () => narrowTo(only)], ["Without stacks that have it", () => narrowWithout(only)],
          ["Hide it", () => hide(only)], ...tabs.filter(tab => tab.dataset.of).map(tab =>
            [tab.dataset.menu, () => change({ view: tab.dataset.view, [tab.dataset.of]: name, in: file || "", up: "", down: "" })]), ["Search for it", () => change({ view: "flame", search: only })],
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
  const label = state.group === "auto" ? grouping.by : state.group, value = ["(none)", RUNNING].includes(name) ? "" : name;
  const items = !node ? [] : tree.kind(node) === "label" ? [[`Only ${label} ${name}`, () => addFilter(`${label}=${value}`)],
    [`Without ${label} ${name}`, () => addFilter(`${label}!=${value}`)], null, ["Copy name", () => copy(name)]] : functionItems(name, tree.home(node));
  openMenu(name, [["Zoom into it", () => flame.zoom(node)], ...items, ["Copy stack", () => copy(stack())], ["Copy link to this view", () => copy(location.href)]], x, y);
}

// A flame with all that belongs to it.
// view(from, to): another part of it is seen; point(node): the hand is at that one, or -1.
export function makeFlame(box, details, zoom, view, point) {
  const flame = new Flame(box, {
    zoom, view,
    hover: (node, x, y) => {
      point?.(node);
      details.textContent = describe(flame.tree, node);
      if (node < 0 || x === undefined || isMenuOpen())
        hideTip();
      else
        showTip(flame.tree.name(node), facts(flame.tree, node), x, y);
    },
    menu: (node, x, y) => frameMenu(flame, node, x, y),
  });
  return flame;
}
