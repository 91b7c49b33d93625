// One function: who calls it, and whom it calls.
import { ask, change, selection, state } from "../state.js";
import { element, update } from "../element.js";
import { makeFlame } from "../flameview.js";
import { baseName } from "../match.js";
import { Tree } from "../tree.js";

const $ = id => document.getElementById(id);
const names = ["callers", "callees"], zooms = { callers: "up", callees: "down" };
let sides;

// Without a file it is every function of that name.
const question = () => selection({ function: state.function, ...(state.in ? { in: state.in } : {}) });

// Another function begins anew.
const isZoom = changes => Object.keys(changes).every(key => key === "up" || key === "down");

async function load() {
  const { rows } = await ask("top", selection({ rows: 200 }), "names");
  update($("functions"), ...rows.map(row => element("option", { value: row[0] }, baseName(row[1]))));
  if (!state.function)
    return void (rows.length && change({ function: rows[0][0], in: rows[0][1] }, true));
  const trees = await Promise.all(names.map(async name => new Tree(await ask(name, question()))));
  names.forEach((name, i) => sides[name].show(trees[i], state[zooms[name]], String(question())));
  $("sandwich-share").textContent = trees[1].value[0] ? trees[1].amount(trees[1].value[0]) : "not in this range";
  $("sandwich-file").hidden = !state.in;
  $("sandwich-file").title = `${state.in}: click for all functions of this name`;
  $("sandwich-file").textContent = `in ${baseName(state.in)} ×`;
}

export default {
  address: { function: "", in: "", up: "", down: "" },
  start() {
    // What is typed or picked is another function, of whatever file.
    $("function").addEventListener("input", () => state.in = "");
    $("sandwich-file").addEventListener("click", () => change({ in: "", up: "", down: "" }));
    sides = Object.fromEntries(names.map(name => [name, makeFlame($(name + "-box"), $("sandwich-share"), node =>
      change({ [zooms[name]]: sides[name].tree.path(node) }))]));
  },
  load,
  changed: changes => isZoom(changes) && names.every(name => sides[name].lookAt(state[zooms[name]])),
  restyle: () => Object.values(sides).forEach(side => side.restyle()),
  html: `
    <div class="tools"><label><span>Function</span> <input id="function" name="function" list="functions" size="60" spellcheck="false" autocapitalize="off"></label><datalist id="functions"></datalist> <button id="sandwich-file" type="button" hidden></button> <output id="sandwich-share"></output></div>
    <h2>Callers</h2><div class="scroll flame half" id="callers-box"><canvas id="callers" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callers"></canvas></div>
    <h2>Callees</h2><div class="scroll flame half" id="callees-box"><canvas id="callees" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callees"></canvas></div>`,
  css: `@media (max-width: 700px) { .scroll.half { height: 32dvh; } #function { width: 100%; min-width: 0; } }`,
};
