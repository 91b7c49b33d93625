// What is chosen beside an earlier time, or other filters: as a flame graph, and as a table of what changed.
import { absolute, ask, change, flameSelection, lookAt, selection, state } from "../state.js";
import { makeFlame } from "../flameview.js";
import { FunctionTable, columns, home } from "../functions.js";
import { element } from "../element.js";
import { exactly } from "../match.js";
import { Tree, percent } from "../tree.js";

const $ = id => document.getElementById(id);
let diff, table, base = [0, 0];

const baseRange = { before: (from, to) => [2 * from - to, from], hour: (from, to) => [from - 3600, to - 3600],
                    day: (from, to) => [from - 86400, to - 86400], same: (from, to) => [from, to] };

// ---- How sure a change is

// Of two shares of so many samples each: how many standard deviations they are apart, if they were the same.
export function deviations(now, all, then, allThen) {
  const share = (now + then) / (all + allThen), spread = Math.sqrt(share * (1 - share) * (1 / all + 1 / allThen));
  return all && allThen && spread ? (now / all - then / allThen) / spread : 0;
}

export const sureness = apart => Math.abs(apart) < 2 ? "noise" : Math.abs(apart) < 3 ? "likely" : "sure";

// Values become samples: what is weighed in time, or in bytes, is not known to be of so many.
function certainty(row, { unit, total, base_total }) {
  return unit === "count" && row[4] / (total || 1) !== row[6] / (base_total || 1) ? sureness(deviations(row[4], total, row[6], base_total)) : "";
}

const signed = share => (share > 0 ? "+" : share < 0 ? "−" : "") + percent(Math.abs(share));
const shares = (row, { total, base_total }) => [row[4] / (total || 1), row[6] / (base_total || 1)];
const number = text => element("td", { class: "number" }, text);

const compared = [
  { order: "change", title: "change", look: "number", cell: (row, { answer }) => {
    const [now, then] = shares(row, answer);
    return number(signed(now - then));
  } },
  { order: "self", title: "now", look: "number", cell: (row, { answer }) => number(percent(shares(row, answer)[0])) },
  { order: "", title: "then", look: "number", cell: (row, { answer }) => number(percent(shares(row, answer)[1])) },
  columns.named,
  { order: "", title: "is it", look: "sure", cell: (row, { answer }) => element("td", { class: "sure is-" + certainty(row, answer) }, certainty(row, answer)) },
];

// The other selection: its time, and its filters if it has others.
function against(query) {
  query.set("base_from", base[0].toFixed(3));
  query.set("base_to", base[1].toFixed(3));
  for (const filter of state.versus.split(",").map(text => text.trim()).filter(Boolean))
    query.append("base_where", filter);
  return query;
}

// ---- The tab

async function load() {
  const isKnown = Object.hasOwn(baseRange, state.base), before = isKnown ? baseRange[state.base] : baseRange.before;
  base = before(absolute(state.from), absolute(state.to));
  const [answer] = await Promise.all([ask("diff", against(flameSelection())), table.load()]), tree = new Tree(answer);
  diff.show(tree, state.path, state.base + state.versus + flameSelection());
  $("diff-note").textContent = !tree.base[0] ? "Nothing was sampled then: choose another time, or a shorter range." :
    `${tree.amount(tree.value[0])} now, ${tree.amount(tree.base[0])} then; each is half of the width`;
  $("base").value = isKnown ? state.base : "before";
  if (state.base === "same" && !state.versus)
    return "This is compared with itself: choose other filters, such as service=other, or another time.";
  return isKnown ? "" : `There is no "${state.base}" to compare with: this is the time just before.`;
}

export default {
  address: { base: "before", versus: "", sort: "change" },
  start() {
    diff = makeFlame($("diff-box"), $("diff-details"), node => change({ path: diff.tree.path(node) }), undefined, node =>
      table.mark(node > 0 ? diff.tree.name(node) + "\n" + diff.tree.home(node) : null));
    table = new FunctionTable($("diff-rows"), "changes", compared, {
      query: (first, rows) => against(selection({ order: state.sort, first, rows })),
      order: sort => change({ sort }), sorted: () => state.sort, choose: row => lookAt(row[0], home(row)),
      point: row => diff.light(row && exactly(row[0], home(row))),
    });
  },
  load,
  changed: changes => Object.keys(changes).length === 1 && ("path" in changes ? diff.lookAt(state.path) : "sort" in changes && table.load()),
  restyle: () => diff.restyle(),
  picture: () => diff.canvas,
  html: `
    <div class="tools">
      <label><span>Compare with</span> <select id="base" name="base"><option value="before">the time just before</option><option value="hour">an hour earlier</option><option value="day">a day earlier</option><option value="same">the same time</option></select></label>
      <label>where <input id="versus" name="versus" list="suggestions" placeholder="the same, or host=b" spellcheck="false" autocapitalize="off"></label>
      <span class="legend"><span><i class="swatch more"></i> more than then</span> <span><i class="swatch less"></i> less</span> <span><i class="swatch same"></i> the same</span></span>
      <output id="diff-note"></output>
    </div>
    <div class="split"><div class="scroll flame" id="diff-box"><canvas id="diff" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="difference of two ranges; the table beside it is its text form"></canvas></div>
      <div class="aside"><div class="scroll" id="diff-rows" tabindex="0" role="region" aria-label="functions, what changed most first"></div>
        <p class="note wrap">Noise: so small a change comes by chance as well. Likely: in one of twenty cases at most. Sure: in one of three hundred.</p></div></div>
    <p id="diff-details" class="note">&nbsp;</p>`,
  css: `
.swatch.more { background: hsl(8 85% 64%); } .swatch.less { background: hsl(208 75% 62%); } .swatch.same { background: #d3d5da; }
#diff-rows th.sure { width: 4.2rem; } td.is-noise { color: var(--dim); } td.is-sure { font-weight: 600; }`,
};
