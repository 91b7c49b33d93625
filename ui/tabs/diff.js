// The range beside an earlier one.
import { absolute, ask, change, selection, state } from "../state.js";
import { makeFlame } from "../flameview.js";
import { Tree } from "../tree.js";

const $ = id => document.getElementById(id);
let diff;

const baseRange = { before: (from, to) => [2 * from - to, from], hour: (from, to) => [from - 3600, to - 3600],
                    day: (from, to) => [from - 86400, to - 86400] };

async function load() {
  const isKnown = Object.hasOwn(baseRange, state.base), before = isKnown ? baseRange[state.base] : baseRange.before;
  const [from, to] = before(absolute(state.from), absolute(state.to));
  const tree = new Tree(await ask("diff", selection({ group: state.group, base_from: from.toFixed(3), base_to: to.toFixed(3) })));
  diff.show(tree, state.path, state.base + selection({ group: state.group }));
  $("diff-note").textContent = !tree.base[0] ? "Nothing was sampled then: choose another time, or a shorter range." :
    `${tree.amount(tree.value[0])} now, ${tree.amount(tree.base[0])} then; each is half of the width`;
  $("base").value = isKnown ? state.base : "before";
  return isKnown ? "" : `There is no "${state.base}" to compare with: this is the time just before.`;
}

export default {
  address: { base: "before" },
  start() {
    diff = makeFlame($("diff-box"), $("diff-details"), node => change({ path: diff.tree.path(node) }));
  },
  load,
  changed: changes => Object.keys(changes).length === 1 && "path" in changes && diff.lookAt(state.path),
  restyle: () => diff.restyle(),
  picture: () => diff.canvas,
  html: `
    <div class="tools">
      <label><span>Compare with</span> <select id="base" name="base"><option value="before">the time just before</option><option value="hour">an hour earlier</option><option value="day">a day earlier</option></select></label>
      <span class="legend"><span><i class="swatch more"></i> more than then</span> <span><i class="swatch less"></i> less</span> <span><i class="swatch same"></i> the same</span></span>
      <output id="diff-note"></output>
    </div>
    <div class="scroll flame" id="diff-box"><canvas id="diff" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="difference of two ranges"></canvas></div>
    <p id="diff-details" class="note">&nbsp;</p>`,
  css: `.swatch.more { background: hsl(8 85% 64%); } .swatch.less { background: hsl(208 75% 62%); } .swatch.same { background: #d3d5da; }`,
};
