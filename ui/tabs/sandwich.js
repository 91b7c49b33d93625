// One function: who calls it, and whom it calls.
import { ask, change, selection, state } from "../state.js";
import { element } from "../element.js";
import { makeFlame } from "../flameview.js";
import { Tree } from "../tree.js";

const $ = id => document.getElementById(id);
let sides;

async function load() {
  const { rows } = await ask("top", selection({ rows: 200 }), "names");
  $("functions").replaceChildren(...rows.map(row => element("option", { value: row[0] })));
  if (!state.function)
    return void (rows.length && change({ function: rows[0][0] }, true));
  const trees = await Promise.all(["callers", "callees"].map(async name => new Tree(await ask(name, selection({ function: state.function })))));
  sides.callers.show(trees[0]);
  sides.callees.show(trees[1]);
  $("sandwich-share").textContent = trees[1].value[0] ? trees[1].amount(trees[1].value[0]) : "not in this range";
}

export default {
  address: { function: "" },
  start() {
    sides = Object.fromEntries(["callers", "callees"].map(name => [name, makeFlame($(name + "-box"), $("sandwich-share"))]));
  },
  load,
  restyle: () => Object.values(sides).forEach(side => side.restyle()),
  html: `
    <div class="tools"><label><span>Function</span> <input id="function" name="function" list="functions" size="60" spellcheck="false" autocapitalize="off"></label><datalist id="functions"></datalist> <output id="sandwich-share"></output></div>
    <h2>Callers</h2><div class="scroll flame half" id="callers-box"><canvas id="callers" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callers"></canvas></div>
    <h2>Callees</h2><div class="scroll flame half" id="callees-box"><canvas id="callees" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callees"></canvas></div>`,
  css: `@media (max-width: 700px) { .scroll.half { height: 32dvh; } #function { width: 100%; min-width: 0; } }`,
};
