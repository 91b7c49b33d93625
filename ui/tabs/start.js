// Where one starts: who uses the CPUs, what changed, and what was kept.
import { absolute, ask, change, chosen, lookAt, replaceFilters, selection, state } from "../state.js";
import { home } from "../functions.js";
import { element, update } from "../element.js";
import { readKept } from "../kept.js";
import { OTHER } from "../chart.js";
import { baseName } from "../match.js";
import { baseRange } from "../time.js";
import { percent, rate, seconds } from "../tree.js";
import { certainty, signed } from "./diff.js";

const $ = id => document.getElementById(id);
const ROWS = 10, BUCKETS = 60, LINES = 40, CHANGES = 8, NOISE = 0.02;
const earlier = { before: "just before", hour: "an hour earlier", day: "a day earlier", week: "a week earlier" };

// ---- Sums

// By name what was used on average while somebody looked.
export function averages({ lines, watched }) {
  const buckets = lines[0]?.values.length ?? 0, isWatched = i => watched ? watched[i] : 1, known = Array.from({ length: buckets }, (_, i) => isWatched(i)).reduce((a, b) => a + b, 0);
  return { known: buckets ? known / buckets : 0, by: new Map(lines.map(({ name, values }) => [name, known ? values.reduce((sum, value, i) => sum + (isWatched(i) ? value : 0), 0) / known : 0])) };
}

// [name, now, then], largest first, and what is left of others last; then is null where nobody looked.
export function ranked(now, then) {
  const names = [...new Set([...now.by.keys(), ...(then.known ? then.by.keys() : [])])];
  return names.map(name => [name, now.by.get(name) ?? 0, then.known ? then.by.get(name) ?? 0 : null])
    .sort((a, b) => (a[0] === OTHER) - (b[0] === OTHER) || b[1] - a[1] || (b[2] ?? 0) - (a[2] ?? 0));
}

const sum = averaged => [...averaged.by.values()].reduce((a, b) => a + b, 0);

export function changeText(now, then) {
  if (then === null)
    return "";
  if (!then)
    return now ? "new" : "";
  const share = now / then - 1;
  return !now ? "gone" : Math.abs(share) < NOISE ? "the same" : share >= 1 ? `${(now / then).toFixed(1)} times` : signed(share);
}

// The same as a part of a sentence.
function comparison(now, then, when) {
  const share = now / then - 1;
  if (then === null || !then)
    return "";
  return ", " + (Math.abs(share) < NOISE ? `as much as ${when}` : share >= 1 ? `${(now / then).toFixed(1)} times as much as ${when}` : `${percent(Math.abs(share))} ${share > 0 ? "more" : "less"} than ${when}`);
}

// ---- What is shown

function table(title, label, all, total) {
  const rows = all.filter(([, now]) => now > 0), gone = all.filter(([name, now, then]) => name && !now && then >= total / 100);
  const most = Math.max(1e-12, ...rows.map(([, now, then]) => Math.max(now, then ?? 0))), bar = now => {
    const made = element("i", { class: "bar" });
    made.style.width = `${(100 * now / most).toFixed(1)}%`;
    return made;
  };
  const row = ([name, now, then]) => element("tr", { "data-key": name }, element("td", { class: "who", title: name }, !name || name === OTHER ? name || "(none)" :
    element("button", { type: "button", onclick: () => change({ view: "flame", where: replaceFilters(`${label}=${name}`), path: "" }) }, name)),
  element("td", { class: "amount" }, bar(now)), element("td", { class: "number" }, rate(now)), element("td", { class: "number dim" }, percent(now / (total || 1))),
  element("td", { class: "number change " + (then === null || Math.abs(now / then - 1) < NOISE ? "" : now > then ? "is-more" : "is-less") }, changeText(now, then)));
  return element("section", { class: "card who-uses" }, element("h2", {}, title), rows.length ? element("table", {}, element("tbody", {}, ...rows.slice(0, ROWS).map(row))) :
    element("p", { class: "empty" }, "Nothing was sampled in this range."), ...rows.length > ROWS ? [element("p", { class: "note" }, `and ${rows.length - ROWS} more`)] : [],
    ...gone.length ? [element("p", { class: "note wrap" }, `Gone: ${gone.slice(0, ROWS).map(([name, , then]) => `${name} (${rate(then)})`).join(", ")}`)] : []);
}

function headline(now, then, length) {
  return [element("b", {}, rate(sum(now))), element("span", {}, " on average" + comparison(sum(now), then.known ? sum(then) : null, earlier[state.since] ?? earlier.before)),
    ...then.known ? [] : [element("span", { class: "dim" }, ` · nothing was sampled ${earlier[state.since] ?? earlier.before}`)],
    ...now.known < 0.9 ? [element("span", { class: "dim" }, ` · ${seconds(now.known * length)} of ${seconds(length)} were watched`)] : []];
}

function changed(answer) {
  const rows = answer.rows.filter(row => certainty(row, answer) !== "noise" && Math.abs(share(row, answer)) >= 0.001).slice(0, CHANGES);
  return element("section", { class: "card" }, element("h2", {}, "Functions that changed"), !answer.base_total ? element("p", { class: "empty" }, "There is nothing to compare with: nothing was sampled then.") :
    rows.length ? element("table", {}, element("tbody", {}, ...rows.map(row => element("tr", { "data-key": row[0] + "\n" + home(row) },
      element("td", { class: "number change " + (share(row, answer) > 0 ? "is-more" : "is-less") }, signed(share(row, answer))),
      element("td", { class: "who", title: row[0] }, element("button", { type: "button", onclick: () => lookAt(row[0], home(row)) }, row[0]), element("span", { class: "dim" }, " " + baseName(home(row)))))))) :
      element("p", { class: "empty" }, "None by more than chance."),
    element("p", { class: "note wrap" }, element("a", { href: "/?" + new URLSearchParams({ view: "diff", base: state.since, from: state.from, to: state.to }) }, "All of it, as a flame graph of differences")));
}

const share = (row, { total: all, base_total: then }) => row[4] / (all || 1) - row[6] / (then || 1);

function places(files) {
  const kept = readKept(localStorage);
  return element("section", { class: "card" }, element("h2", {}, "Views and files"),
    ...kept.length ? [element("ul", { class: "plain" }, ...kept.slice(0, ROWS).map(([name, address]) => element("li", { "data-key": "view " + name }, element("a", { href: address }, name))))] : [],
    ...files.length ? [element("ul", { class: "plain" }, ...files.map(file => element("li", { "data-key": file.id }, element("button", { type: "button", class: "link", onclick: () => import("../files.js").then(({ lookInto }) => lookInto(file)) }, file.name),
      element("span", { class: "dim" }, ` ${file.format}, in memory`))))] : [],
    element("p", { class: "note wrap" }, kept.length ? "" : "Views that you keep (☆) are listed here. ", "Drop a profile anywhere on this page to look at it, without keeping it."));
}

// ---- The tab

async function load() {
  const from = absolute(state.from), to = absolute(state.to), base = (baseRange[state.since] ?? baseRange.before)(from, to);
  const at = { base_from: base[0].toFixed(3), base_to: base[1].toFixed(3) };
  const chart = (by, slot, range) => ask("chart", chosen({ by, buckets: BUCKETS, lines: LINES, ...range }), "start-" + slot);
  const then = { from: at.base_from, to: at.base_to };
  const [own, ownThen, hosts, hostsThen, functions, files] = await Promise.all([chart("auto", "own"), chart("auto", "own-then", then), chart("host", "hosts"), chart("host", "hosts-then", then),
    ask("top", selection({ order: "change", rows: 100, ...at }), "start-changes"), ask("files", "", "start-files")]);
  const [now, before, nowHosts, beforeHosts] = [own, ownThen, hosts, hostsThen].map(averages);
  update($("start-headline"), ...headline(now, before, to - from));
  update($("start-cards"), table(own.by === "service" ? "Services" : "Processes", own.by, own.by === ownThen.by || !before.known ? ranked(now, before) : ranked(now, { known: 0, by: new Map() }), sum(now)),
    changed(functions), table("Hosts", "host", ranked(nowHosts, beforeHosts), sum(nowHosts)), places(files));
}

export default {
  address: { since: "before" },
  load,
  html: `
    <div class="tools"><p id="start-headline"></p><span class="grow"></span>
      <label>Compared with <select name="since"><option value="before">the time just before</option><option value="hour">an hour earlier</option><option value="day">a day earlier</option><option value="week">a week earlier</option></select></label></div>
    <div id="start-cards"></div>`,
  css: `
#start-view { overflow: auto; }
#start-headline { margin: .2rem 0; font-size: 1.05rem; } #start-headline b { font-size: 1.5rem; }
#start-cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(32rem, 100%), 1fr)); gap: .8rem; padding-bottom: 1rem; align-items: start; }
#start-cards .card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .3rem .9rem .6rem; min-width: 0; }
#start-cards table { table-layout: fixed; } #start-cards td { padding: .2rem .4rem; overflow: hidden; text-overflow: ellipsis; } #start-cards tr:last-child td { border-bottom: 0; }
#start-cards a, .link { color: var(--accent); } .link { border: 0; background: none; padding: 0; min-height: 0; }
.who-uses td.amount { width: 20%; } .who-uses td.amount .bar { display: block; margin: 0; } .who-uses td.number { width: 6.2rem; } .who-uses td.number.dim { width: 4.6rem; } td.change { width: 5.6rem; }
td.is-more { color: var(--more); } td.is-less { color: var(--less); }
.plain { list-style: none; margin: .3rem 0; padding: 0; } .plain li { padding: .15rem 0; overflow-wrap: anywhere; }
@media (max-width: 700px) { .who-uses td.amount, .who-uses td.number.dim { display: none; } .who-uses td.number { width: 5.4rem; } }`,
};
