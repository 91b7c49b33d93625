// What is chosen beside an earlier time, or other filters: as a flame graph, and as a table of what changed.
import { absolute, ask, change, flameSelection, lookAt, selection, state } from "../state.js";
import { makeFlame } from "../flameview.js";
import { fileOf, readFiles, wholeRange } from "../files.js";
import { FunctionTable, columns, home } from "../functions.js";
import { element, update } from "../element.js";
import { exactly } from "../match.js";
import { baseRange, moment } from "../time.js";
import { Tree, percent } from "../tree.js";

const $ = id => document.getElementById(id);
let diff, table, beside, base = [0, 0];

// Files that are looked at can be compared, too.
const baseFile = () => state.base.startsWith("file:") ? state.base.slice(5) : "";
const times = [["before", "the time just before"], ["hour", "an hour earlier"], ["day", "a day earlier"], ["week", "a week earlier"], ["same", "the same time"]];

// ---- How sure a change is

// Of two shares of so many samples each: how many standard deviations they are apart, if they were the same.
export function deviations(now, all, then, allThen) {
  const share = (now + then) / (all + allThen), spread = Math.sqrt(share * (1 - share) * (1 / all + 1 / allThen));
  return all && allThen && spread ? (now / all - then / allThen) / spread : 0;
}

export const sureness = apart => Math.abs(apart) < 2 ? "noise" : Math.abs(apart) < 3 ? "likely" : "sure";

// Values become samples: what is weighed in time, or in bytes, is not known to be of so many.
export function certainty(row, { unit, total, base_total }) {
  return unit === "count" && row[4] / (total || 1) !== row[6] / (base_total || 1) ? sureness(deviations(row[4], total, row[6], base_total)) : "";
}

export const signed = share => (share > 0 ? "+" : share < 0 ? "−" : "") + percent(Math.abs(share));
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

// The other selection: its time or its file, and its filters if it has others.
function against(query) {
  if (baseFile())
    query.set("base_file", baseFile());
  query.set("base_from", base[0].toFixed(3));
  query.set("base_to", base[1].toFixed(3));
  for (const filter of state.versus.split(",").map(text => text.trim()).filter(Boolean))
    query.append("base_where", filter);
  return query;
}

// ---- Side by side: each a flame graph of its own

// The other selection as if it were the one that is looked at.
function otherSelection() {
  const query = flameSelection({ from: base[0].toFixed(3), to: base[1].toFixed(3) }), filters = state.versus.split(",").map(text => text.trim()).filter(Boolean);
  if (baseFile())
    query.set("file", baseFile());
  if (filters.length) {
    query.delete("where");
    filters.forEach(filter => query.append("where", filter));
  }
  return query;
}

// Whatever the hand is at in one is shown in the other.
function makeSide(name, other) {
  const side = makeFlame($(name + "-box"), $("diff-details"), node => change({ path: side.tree.path(node) }), undefined,
    node => beside[other].light(node > 0 ? exactly(side.tree.name(node), side.tree.home(node)) : null));
  return side;
}

async function showSides() {
  const [then, now] = (await Promise.all([ask("flame", otherSelection(), "then"), ask("flame", flameSelection(), "now")])).map(answer => new Tree(answer));
  const file = fileOf(baseFile()), span = (from, to) => `${moment(from, to - from)} – ${moment(to, to - from)}`, told = (tree, text) => `${text}: ${tree.value[0] ? tree.amount(tree.value[0]) : "nothing was sampled"}`;
  beside.then.show(then, state.path, "then" + otherSelection());
  beside.now.show(now, state.path, "now" + flameSelection());
  $("then-title").textContent = told(then, file ? file.name : [span(...base), state.versus].filter(Boolean).join(", "));
  $("now-title").textContent = told(now, fileOf(state.file)?.name ?? [span(absolute(state.from), absolute(state.to)), ...state.where].join(", "));
}

function lookAtPath() {
  if (!state.sides)
    return diff.lookAt(state.path);
  // What is not in one of them is looked at in the other; that one shows all.
  return Object.values(beside).map(side => side.lookAt(state.path) || side.lookAt("")).some(Boolean);
}

// ---- The tab

async function load() {
  const files = await readFiles(), file = fileOf(baseFile()), isKnown = Boolean(file) || Object.hasOwn(baseRange, state.base);
  const before = Object.hasOwn(baseRange, state.base) ? baseRange[state.base] : baseRange.before;
  if (baseFile() && !file)
    throw new Error("The file that this is compared with is gone: drop it again, or compare with another time.");
  base = file ? Object.values(wholeRange(file)).map(Number) : before(absolute(state.from), absolute(state.to));
  update($("base"), ...[...times, ...files.filter(({ id }) => id !== state.file).map(({ id, name }) => ["file:" + id, "file " + name])].map(([value, text]) => element("option", { value }, text)));
  $("base").value = isKnown ? state.base : "before";
  for (const [id, isShown] of [["one-diff", !state.sides], ["two-sides", state.sides], ["diff-legend", !state.sides]])
    $(id).hidden = !isShown;
  if (state.sides) {
    $("diff-note").textContent = "";
    await showSides();
  } else {
    await showDiff();
  }
  if (state.base === "same" && !state.versus)
    return "This is compared with itself: choose other filters, such as service=other, or another time.";
  return isKnown ? "" : `There is no "${state.base}" to compare with: this is the time just before.`;
}

async function showDiff() {
  const [answer] = await Promise.all([ask("diff", against(flameSelection())), table.load()]), tree = new Tree(answer);
  diff.show(tree, state.path, state.base + state.versus + flameSelection());
  $("diff-note").textContent = !tree.base[0] ? "Nothing was sampled then: choose another time, or a shorter range." :
    `${tree.amount(tree.value[0])} now, ${tree.amount(tree.base[0])} then; each is half of the width`;
}

export default {
  address: { base: "before", versus: "", sort: "change", sides: "" },
  start() {
    beside = {};
    beside.then = makeSide("then", "now");
    beside.now = makeSide("now", "then");
    diff = makeFlame($("diff-box"), $("diff-details"), node => change({ path: diff.tree.path(node) }), undefined, node =>
      table.mark(node > 0 ? diff.tree.name(node) + "\n" + diff.tree.home(node) : null));
    table = new FunctionTable($("diff-rows"), "changes", compared, {
      query: (first, rows) => against(selection({ order: state.sort, first, rows })),
      order: sort => change({ sort }), sorted: () => state.sort, choose: row => lookAt(row[0], home(row)),
      point: row => diff.light(row && exactly(row[0], home(row))),
    });
  },
  load,
  changed: changes => Object.keys(changes).length === 1 && ("path" in changes ? lookAtPath() : "sort" in changes && !state.sides && table.load()),
  restyle: () => [diff, beside.then, beside.now].forEach(flame => flame.restyle()),
  picture: () => state.sides ? beside.now.canvas : diff.canvas,
  keys: { d: () => change({ sides: state.sides ? "" : "1" }) },
  help: [["d", "compare as one difference, or side by side"]],
  html: `
    <div class="tools">
      <label><span>Compare with</span> <select id="base" name="base"></select></label>
      <label>where <input id="versus" name="versus" list="suggestions" placeholder="the same, or host=b" spellcheck="false" autocapitalize="off"></label>
      <label class="switch"><input type="checkbox" name="sides"> side by side</label>
      <span class="legend" id="diff-legend"><span><i class="swatch more"></i> more than then</span> <span><i class="swatch less"></i> less</span> <span><i class="swatch same"></i> the same</span></span>
      <output id="diff-note"></output>
    </div>
    <div class="split sides" id="two-sides" hidden>
      <div class="side"><h2 id="then-title"></h2><div class="scroll flame" id="then-box"><canvas id="then" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="what it is compared with; uncheck side by side for a table"></canvas></div></div>
      <div class="side"><h2 id="now-title"></h2><div class="scroll flame" id="now-box"><canvas id="now" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="what is looked at; uncheck side by side for a table"></canvas></div></div></div>
    <div class="split" id="one-diff"><div class="scroll flame" id="diff-box"><canvas id="diff" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="difference of two ranges; the table beside it is its text form"></canvas></div>
      <div class="aside"><div class="scroll" id="diff-rows" tabindex="0" role="region" aria-label="functions, what changed most first"></div>
        <p class="note wrap">Noise: so small a change comes by chance as well. Likely: in one of twenty cases at most. Sure: in one of three hundred.</p></div></div>
    <p id="diff-details" class="note">&nbsp;</p>`,
  css: `
.side { flex: 1; min-width: 0; display: flex; flex-direction: column; } .side h2 { margin: .2rem 0; font-size: .95rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (max-width: 700px) { .side { flex: none; } .side .scroll { height: 40dvh; } }
.swatch.more { background: hsl(8 85% 64%); } .swatch.less { background: hsl(208 75% 62%); } .swatch.same { background: #d3d5da; }
#diff-rows th.sure { width: 4.2rem; } td.is-noise { color: var(--dim); } td.is-sure { font-weight: 600; }`,
};
