// The source of a function, line by line, with what each line has.
import { ask, change, lookAt, selection, state } from "../state.js";
import { copy, tableText } from "../copy.js";
import { element, update } from "../element.js";
import { home } from "../functions.js";
import { baseName } from "../match.js";
import { bytes, percent, seconds } from "../tree.js";

const $ = id => document.getElementById(id);
const BAR = 48, LISTED = 50;
let answer, rows = [], at = 0, shown = "";

// ---- What the answer says

export const amount = (value, { unit, period }) => unit === "count" && Number(period) ? seconds(value * period / 1e9) :
  unit === "nanoseconds" ? seconds(value / 1e9) : unit === "bytes" ? bytes(value) : value.toLocaleString();

// Lines of text, and those that have something, in their order.
export function rowsOf({ files, text }) {
  const found = new Map((text.lines ?? []).map((line, i) => [text.first + i, { line: text.first + i, self: 0, total: 0, text: line }]));
  for (const [line, self, total] of files.find(({ file }) => file === text.file)?.lines ?? [])
    found.set(line, { text: "", ...found.get(line), line, self, total });
  return [...found.values()].sort((a, b) => a.line - b.line);
}

// null: lines are left out there.
export const withGaps = all => all.flatMap((row, i) => i && row.line !== all[i - 1].line + 1 ? [null, row] : [row]);

export const hotLines = all => all.filter(({ total }) => total).map(({ line }) => line);

export const hottest = all => all.reduce((best, row) => row.total && (!best || row.self > best.self || (row.self === best.self && row.total > best.total)) ? row : best, undefined);

export function notes(told) {
  const { self, total, unknown, left_out: rest, files, text } = told;
  if (!total)
    return ["The function is not in this range."];
  return [`${amount(self, told)} in the function itself, ${amount(total, told)} with what it calls.`,
          unknown.total && `${percent(unknown.total / total)} of that has no line: it is known of the innermost function of a sample only, where its program has debug information${state.hide.length ? " and no frames are hidden" : ""}.`,
          rest.total && `${percent(rest.total / total)} is of lines that are not listed.`, files.length > 1 && "It has lines in other files, too.",
          text.path && `The text is ${text.path}.`, text.changed && "That file was changed after these samples were taken, or while they were: lines may have moved.",
          text.why && `No text${text.file ? " of " + text.file : ""}: ${text.why}.`].filter(Boolean);
}

export function asText(told) {
  const cell = value => value ? amount(value, told) : "";
  return tableText([["line", "self", "total", "source"], ...rowsOf(told).map(({ line, self, total, text }) => [line, cell(self), cell(total), text])], "text");
}

// ---- What is seen of it

function valueCell(value, most) {
  const bar = element("i", { class: "bar", "aria-hidden": "true" });
  bar.style.width = BAR * value / most + "px";
  return element("td", { class: "number" }, ...(value ? [bar, amount(value, answer), element("span", { class: "dim" }, " " + percent(value / answer.total))] : []));
}

function lineRow(row, most) {
  if (!row)
    return element("tr", { class: "gap" }, element("td", { colspan: 4 }, "⋯"));
  const isHot = row.total !== 0;
  return element("tr", { "data-key": String(row.line), class: [isHot && "hot", row.line === at && "at"].filter(Boolean).join(" ") || undefined, tabindex: isHot ? "-1" : undefined },
    element("th", { scope: "row" }, String(row.line)), valueCell(row.self, most.self), valueCell(row.total, most.total), element("td", { class: "code" }, row.text));
}

function draw() {
  const most = { self: Math.max(1, ...rows.map(({ self }) => self)), total: Math.max(1, ...rows.map(({ total }) => total)) };
  update($("source-rows"), ...withGaps(rows).map(row => lineRow(row, most)));
}

const rowAt = line => $("source-rows").querySelector(`[data-key="${line}"]`);

function goTo(line, takesFocus) {
  const box = $("source-box"), row = rowAt(line);
  rowAt(at)?.classList.remove("at");
  at = line;
  row.classList.add("at");
  if (takesFocus)
    row.focus({ preventScroll: true });
  box.scrollTop = row.offsetTop - box.clientHeight / 2;
  row.scrollIntoView({ block: "nearest", inline: "start" });    // where the page itself is longer than what is seen of it
}

function step(by) {
  const lines = hotLines(rows), next = by > 0 ? lines.find(line => line > at) ?? lines[0] : lines.findLast(line => line < at) ?? lines.at(-1);
  if (next !== undefined)
    goTo(next, true);
}

function show() {
  const { files, text } = answer, key = [state.function, state.in, text.file].join("\n"), isOther = key !== shown;
  rows = rowsOf(answer);
  if (isOther)
    at = hottest(rows)?.line ?? 0;
  draw();
  $("source-note").textContent = notes(answer).join(" ");
  $("source-table").hidden = $("source-copy").disabled = !rows.length;
  $("source-files").hidden = files.length < 2;
  update($("source-file"), ...files.map(({ file }) => element("option", { value: file }, baseName(file) || "(unknown)")));
  $("source-file").value = text.file;
  $("source-card").hidden = !answer.total;
  shown = key;
  if (isOther && at)
    goTo(at);
}

// ---- Questions

// Recursion that is collapsed has the same sums, but no lines.
function question(extra = {}) {
  const query = selection({ function: state.function, ...(state.in ? { in: state.in } : {}), ...extra });
  query.delete("collapse");
  return query;
}

async function load() {
  if (!state.function) {
    const all = (await ask("top", selection({ rows: LISTED }), "names")).rows, row = all.find(one => one[2]) ?? all[0];
    return void (row && change({ function: row[0], in: home(row) }, true));
  }
  answer = await ask("source", question());
  // A file is one of the function's, or left over from another.
  if (state.source !== answer.text.file && answer.files.some(({ file }) => file && file === state.source))
    answer = await ask("source", question({ source: state.source }));
  show();
}

export default {
  address: { function: "", in: "", source: "" },
  start() {
    $("source-function").addEventListener("input", () => state.in = "");
    $("source-file").addEventListener("change", () => change({ source: $("source-file").value }));
    $("source-card").addEventListener("click", () => lookAt(state.function, state.in));
    $("source-copy").addEventListener("click", () => copy(asText(answer)));
  },
  load,
  keys: { n: () => step(1), p: () => step(-1) },
  help: [["n p", "in Source: next, previous line that has samples"]],
  html: `
    <div class="tools"><label><span>Function</span> <input id="source-function" name="function" size="50" spellcheck="false" autocapitalize="off"></label> <label id="source-files" hidden><span>File</span> <select id="source-file"></select></label>
      <button id="source-card" type="button" hidden>Callers and callees</button> <button id="source-copy" type="button" disabled>Copy as text</button></div>
    <p id="source-note" class="note wrap"></p>
    <div class="scroll" id="source-box" tabindex="0" role="region" aria-label="source"><table id="source-table" aria-label="lines of the function" hidden><thead><tr><th scope="col">line</th><th class="number" scope="col" title="in the line itself; of what the function has in all">self</th><th class="number" scope="col" title="with what it calls">total</th><th scope="col">source</th></tr></thead><tbody id="source-rows"></tbody></table></div>`,
  css: `
#source-rows :is(td, th) { border: 0; padding: 0 .6rem; } #source-rows th { top: auto; left: 0; z-index: 0; background: var(--bg); color: var(--dim); font-weight: 400; text-align: right; font-variant-numeric: tabular-nums; } #source-rows tr.hot th { color: var(--fg); font-weight: 600; }
#source-rows td.code { width: 100%; white-space: pre; tab-size: 4; font: 13px/1.5 ui-monospace, monospace; } #source-rows .hot td.code { background: var(--panel); } #source-rows .at th { background: var(--panel); box-shadow: inset 0 -2px var(--accent); } #source-rows .gap td { color: var(--dim); text-align: center; } #source-rows tr:focus { outline: 2px solid var(--accent); outline-offset: -2px; }
#source-file { max-width: 18rem; }
@media (max-width: 700px) { #source-rows .bar, #source-rows td.number .dim { display: none; } #source-rows :is(td, th) { padding: 0 .3rem; } #source-function { width: 100%; min-width: 0; } #source-rows td.code { font-size: 12px; } }`,
};
