// One function: who calls it, and whom it calls.
import { ask, change, selection, state } from "../state.js";
import { element, update } from "../element.js";
import { makeFlame } from "../flameview.js";
import { Tree } from "../tree.js";

const $ = id => document.getElementById(id);
const names = ["callers", "callees"], zooms = { callers: "up", callees: "down" };
let sides;

// Another function begins anew.
const isZoom = changes => Object.keys(changes).every(key => key === "up" || key === "down");

async function load() {
  const { rows } = await ask("top", selection({ rows: 200 }), "names");
  update($("functions"), ...rows.map(row => element("option", { value: row[0] })));
  if (!state.function)
    return void (rows.length && change({ function: rows[0][0] }, true));
  const trees = await Promise.all(names.map(async name => new Tree(await ask(name, selection({ function: state.function })))));
  names.forEach((name, i) => sides[name].show(trees[i], state[zooms[name]], state.function + selection()));
  $("sandwich-share").textContent = trees[1].value[0] ? trees[1].amount(trees[1].value[0]) : "not in this range";
}

export default {
  address: { function: "", up: "", down: "" },
  start() {
    sides = Object.fromEntries(names.map(name => [name, makeFlame($(name + "-box"), $("sandwich-share"), node =>
      change({ [zooms[name]]: sides[name].tree.path(node) }))]));
  },
  load,
  changed: changes => isZoom(changes) && names.every(name => sides[name].lookAt(state[zooms[name]])),
  restyle: () => Object.values(sides).forEach(side => side.restyle()),
  html: `
    <div class="tools"><label><span>Function</span> <input id="function" name="function" list="functions" size="60" spellcheck="false" autocapitalize="off"></label><datalist id="functions"></datalist> <output id="sandwich-share"></output></div>
    <h2>Callers</h2><div class="scroll flame half" id="callers-box"><canvas id="callers" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callers"></canvas></div>
    <h2>Callees</h2><div class="scroll flame half" id="callees-box"><canvas id="callees" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callees"></canvas></div>`,
  css: `@media (max-width: 700px) { .scroll.half { height: 32dvh; } #function { width: 100%; min-width: 0; } }`,
};
