// One function: how much it has, in which files, when and whose; who calls it, and whom it calls.
import { addFilter, ask, change, chooseRange, grouping, lookAt, selection, state } from "../state.js";
import { Chart } from "../chart.js";
import { element, update } from "../element.js";
import { makeFlame } from "../flameview.js";
import { home } from "../functions.js";
import { baseName, exactly } from "../match.js";
import { Tree, bytes, percent, seconds, values } from "../tree.js";

const $ = id => document.getElementById(id);
const names = ["callers", "callees"], zooms = { callers: "up", callees: "down" }, LARGEST = 6, BUCKETS = 120, LINES = 8, LISTED = 200, BAR = 64;
let sides, trend;

// Without a file it is every function of that name.
const question = () => selection({ function: state.function, ...(state.in ? { in: state.in } : {}) });

// The stacks that have it, whatever else is asked.
function stacksWith(extra) {
  const query = selection(extra);
  query.append("focus", exactly(state.function, state.in));
  if (values.type && !query.getAll("where").some(filter => filter.startsWith("type=")))
    query.append("where", "type=" + values.type);
  return query;
}

// Another function begins anew.
const isZoom = changes => Object.keys(changes).every(key => key === "up" || key === "down");

// ---- The card

// rows: those of /api/v1/top of this name; of a file, or of all.
function showFacts(rows, total, tree) {
  const own = rows.filter(row => !state.in || home(row) === state.in), sum = column => own.reduce((all, row) => all + row[column], 0);
  const unique = column => [...new Set(own.map(row => row[column]).filter(Boolean))].join(", ");
  // Of several files a stack may have more than one: its share is that of the stacks that have any.
  const share = tree.value[0] / (total || 1), facts = own.length ? [`${percent(share)} total, ${tree.amount(tree.value[0])}`, `${percent(sum(4) / (total || 1))} self`] : ["not in this range"];
  update($("card-facts"), ...[...facts, unique(3), unique(2)].filter(Boolean).map((text, i) => element(i ? "p" : "b", {}, text)));
  update($("card-files"), ...rows.map(row => element("li", { "data-key": home(row) }, element("button", { type: "button", title: home(row), "aria-pressed": String(home(row) === state.in),
    onclick: () => lookAt(row[0], home(row)) }, baseName(home(row)) || "(no file)"), " " + percent(row[5] / (total || 1)))));
}

async function showWhose(by) {
  const labels = [...new Set([by, "host", "thread"])];
  const answers = await Promise.all(labels.map(label => ask("values", stacksWith({ label, max: 100 }), "whose-" + label).catch(() => [])));
  update($("card-whose"), ...labels.flatMap((label, i) => {
    const all = answers[i].reduce((sum, [, value]) => sum + value, 0) || 1;
    return answers[i].slice(0, LARGEST).map(([name, value], n) => element("tr", { "data-key": label + "\n" + name }, element("th", { scope: "row" }, n ? "" : label),
      element("td", {}, element("button", { type: "button", disabled: !name, onclick: () => addFilter(`${label}=${name}`) }, name || "(none)")),
      element("td", { class: "number" }, percent(value / all))));
  }));
}

async function showTrend() {
  const data = await ask("chart", stacksWith({ by: state.group || "process", buckets: BUCKETS, lines: LINES }), "trend");
  // A store that cannot tell of some stacks only would tell of all.
  $("card-trend").hidden = !data.narrowed;
  trend.show({ ...data, narrowed: false }, null);
  await showWhose(data.by ?? "process");
}

// ---- Its lines

const amount = (value, unit) => unit === "nanoseconds" ? seconds(value / 1e9) : unit === "bytes" ? bytes(value) : value.toLocaleString();

function lineRow([file, line, self], all, unit, most) {
  const bar = element("i", { class: "bar", "aria-hidden": "true" });
  bar.style.width = BAR * self / most + "px";
  return element("tr", { "data-key": `${file}:${line}` }, element("td", { class: "number" }, bar, percent(self / all)), element("td", { class: "number" }, amount(self, unit)),
                 element("td", { class: "id", title: `${file}:${line}` }, element("button", { type: "button", onclick: () => change({ view: "source", source: file }) }, `${baseName(file)}:${line}`)));
}

// What is kept of a sample is the line that it was taken at, and not those of its callers.
function linesNote({ rows, unit, self, lined, count }) {
  if (!self)
    return "No sample of this range was taken in the function itself.";
  if (!lined)
    return "No line is known of the samples that were taken in it: its program has no debug information here, or only sums are left of the range.";
  return [lined < self && `${percent(lined / self)} of what it has itself has a line`, count > rows.length && `${rows.length} of ${count} lines`, `${amount(self, unit)} in the function itself, by the line that each sample was taken at`].filter(Boolean).join("; ") + ".";
}

async function showLines() {
  $("card-lines").open = Boolean(state.lines);
  if (!state.lines)
    return;
  const query = stacksWith({ rows: LISTED, function: state.function, ...(state.in ? { in: state.in } : {}) }), answer = await ask("lines", query);
  $("lines-note").textContent = linesNote(answer);
  $("lines-table").hidden = !answer.rows.length;
  update($("lines-rows"), ...answer.rows.map(row => lineRow(row, answer.self, answer.unit, answer.rows[0][2])));
}

async function nameFunctions() {
  const { rows } = await ask("top", selection({ rows: 200 }), "names");
  update($("functions"), ...rows.map(row => element("option", { value: row[0] }, baseName(home(row)))));
  return rows;
}

async function load() {
  if (!state.function) {
    const [row] = await nameFunctions();
    return void (row && change({ function: row[0], in: home(row) }, true));
  }
  const [top, ...trees] = await Promise.all([ask("top", selection({ part: exactly(state.function), rows: 100 }), "named"),
    ...names.map(async name => new Tree(await ask(name, question()))), showTrend(), showLines()]);
  names.forEach((name, i) => sides[name].show(trees[i], state[zooms[name]], String(question())));
  showFacts(top.rows.filter(row => row[0] === state.function), top.total, trees[1]);
  $("sandwich-share").textContent = trees[1].value[0] ? trees[1].amount(trees[1].value[0]) : "not in this range";
  $("sandwich-file").hidden = !state.in;
  $("sandwich-file").title = `${state.in}: click for all functions of this name`;
  $("sandwich-file").textContent = `in ${baseName(state.in)} ×`;
}

export default {
  address: { function: "", in: "", up: "", down: "", lines: "" },
  start() {
    // What is typed or picked is another function, of whatever file.
    $("function").addEventListener("input", () => state.in = "");
    $("function").addEventListener("focus", () => nameFunctions().catch(() => {}));
    $("sandwich-source").addEventListener("click", () => change({ view: "source" }));
    $("sandwich-file").addEventListener("click", () => change({ in: "", up: "", down: "" }));
    $("card-lines").addEventListener("toggle", () => $("card-lines").open === Boolean(state.lines) || change({ lines: $("card-lines").open ? "1" : "" }, true));
    trend = new Chart($("trend"), $("trend-note"), $("trend-legend"), { choose: chooseRange, filter: name => addFilter(`${grouping.by}=${name}`) });
    sides = Object.fromEntries(names.map(name => [name, makeFlame($(name + "-box"), $("sandwich-share"), node =>
      change({ [zooms[name]]: sides[name].tree.path(node) }))]));
  },
  load,
  changed: changes => isZoom(changes) && names.every(name => sides[name].lookAt(state[zooms[name]])),
  restyle() {
    trend.draw();
    Object.values(sides).forEach(side => side.restyle());
  },
  picture: () => sides.callers.canvas,
  html: `
    <div class="tools"><label><span>Function</span> <input id="function" name="function" list="functions" size="60" spellcheck="false" autocapitalize="off"></label><datalist id="functions"></datalist> <button id="sandwich-file" type="button" hidden></button> <button id="sandwich-source" type="button">Source</button> <output id="sandwich-share"></output></div>
    <div id="card">
      <div><div id="card-facts"></div><h2>In</h2><ul id="card-files"></ul></div>
      <div id="card-trend" class="timeline"><canvas id="trend" tabindex="0" role="application" aria-roledescription="chart" aria-describedby="trend-note" aria-label="the function over time: arrow keys move, Enter chooses that moment"></canvas>
        <div class="under"><p id="trend-note" class="note"></p><div id="trend-legend" class="legend" role="group" aria-label="whose it is; click to show only that"></div></div></div>
      <div class="scroll whose"><table aria-label="whose it is"><tbody id="card-whose"></tbody></table></div>
    </div>
    <details id="card-lines"><summary>Lines</summary><p id="lines-note" class="note wrap"></p><div class="scroll lines"><table id="lines-table" aria-label="its lines" hidden><thead><tr><th class="number" scope="col">share</th><th class="number" scope="col">self</th><th scope="col">line</th></tr></thead><tbody id="lines-rows"></tbody></table></div></details>
    <h2>Callers</h2><div class="scroll flame half" id="callers-box"><canvas id="callers" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callers"></canvas></div>
    <h2>Callees</h2><div class="scroll flame half" id="callees-box"><canvas id="callees" tabindex="0" role="application" aria-roledescription="flame graph" aria-label="callees"></canvas></div>`,
  css: `
#card { display: grid; grid-template-columns: minmax(13rem, 1fr) minmax(0, 2.4fr) minmax(14rem, 1.2fr); gap: 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .8rem; max-height: 12.5rem; }
#card > * { min-width: 0; overflow: auto; } #card-facts b { font-size: 1.15rem; } #card-facts p { margin: .1rem 0; color: var(--dim); overflow-wrap: anywhere; }
#card h2 { margin: .3rem 0 0; font-size: .9rem; } #card-files { list-style: none; margin: 0; padding: 0; } #card-files button { border: 0; background: none; padding: 0; min-height: 0; color: var(--accent); overflow-wrap: anywhere; text-align: left; }
#card-files [aria-pressed=true] { color: var(--fg); font-weight: 600; } #card .timeline { padding: 0; } #card .whose { height: auto; } #card table { font-size: 13px; } #card th { position: static; background: none; color: var(--dim); font-weight: 400; }
#card td, #card th { padding: .05rem .4rem; border: 0; }
#card-lines { margin-top: .3rem; } #card-lines summary { cursor: pointer; font-weight: 600; } .scroll.lines { height: auto; max-height: 14rem; flex: none; } .lines th.number { width: 9rem; }
@media (max-width: 900px) { #card { grid-template-columns: 1fr; max-height: none; } }
@media (max-width: 700px) { .scroll.half { height: 32dvh; } #function { width: 100%; min-width: 0; } }`,
};
