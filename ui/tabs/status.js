// How wick is: what is wrong and what to do, where profiles come from and go to, what there is.
import { ask } from "../state.js";
import { problems } from "../advice.js";
import { element, update } from "../element.js";
import { bytes, percent, rate, seconds as duration } from "../tree.js";

const moment = seconds => seconds ? new Date(seconds * 1000).toLocaleString() : "nothing yet";

const reaches = { windows: "Every sample, from", "1 m": "Sums by the minute, from", "10 m": "Sums of ten minutes, from", "1 h": "Sums by the hour, from" };

const HOSTS_EACH_MS = 10000, HOUR = 3600, BUCKETS = 600;

const card = (title, value, ...more) => element("div", { class: "card" }, title, element("b", {}, value), ...more);

const localCards = status => [
  card("Store", bytes(status.bytes), `of at most ${bytes(status.bytes_max)}${status.bytes > 0.95 * status.bytes_max ? ": old ranges get coarser, then go" : ""}`,
    status.disk_bytes ? element("p", { class: "small" }, `${bytes(status.disk_free)} of ${bytes(status.disk_bytes)} are free on its disk`) : ""),
  card("Stacks kept", status.nodes.toLocaleString(), `different ways to ${status.frames.toLocaleString()} functions, of ${status.series.toLocaleString()} processes and hosts`),
  ...status.levels.filter((level, i) => !i || level.blocks).map(level => card(reaches[level.name], moment(level.first), `on, in ${bytes(level.bytes)}`))];

// A server has no roll-ups, no late names, and keeps what it keeps for as long as its tables say.
const clickhouseCards = ({ bytes: size, nodes, levels: [samples] }) => [
  card("ClickHouse", size ? bytes(size) : "of unknown size", size ? `in ${samples.blocks.toLocaleString()} parts of samples` :
    "this user may not look at system.parts"),
  card("Samples", samples.rows.toLocaleString(), nodes ? `${nodes.toLocaleString()} rows of stacks, each stack once a day` : ""),
  card("Every sample, from", moment(samples.first), "on, as long as the server keeps it"),
  card("Names that come late", "none", "profiles bring theirs along; uploads are for a store of this machine")];

// How this machine is sampled: what came out whole, and every reason why something did not.
function samplingCards({ sampling: counters = [], left_out: leftOut }) {
  const value = name => counters.find(counter => counter.name === name && !counter.of)?.value ?? 0;
  const sum = test => counters.filter(test).reduce((total, counter) => total + counter.value, 0);
  const sent = value("samples_sent"), whole = value("stack_complete"), cut = sum(counter => counter.text.startsWith("cut:"));
  if (!sent)
    return [];
  const lost = sum(counter => counter.name.startsWith("samples_lost"));
  const used = value("cpu_used_ppm") / 1e6, limit = value("cpu_max_ppm") / 1e6;
  const unread = counters.filter(counter => counter.name === "samples_of_unread_runtimes");
  return [
    card("Whole stacks on this machine", whole + cut ? percent(whole / (whole + cut)) : "none yet",
      `${sent.toLocaleString()} samples, ${lost.toLocaleString()} lost`),
    card("wick itself, of one CPU", percent(used), limit ? `in the last minute, of at most ${percent(limit)}` : "in the last minute, without a limit",
      leftOut ? element("p", { class: "left-out" }, leftOut) : ""),
    ...unread.map(({ of, value: samples }) => card(of, `${percent(samples / sent)} of samples`,
      "are of processes that run it; its own functions are not read, native ones are"))];
}

// Of each cgroup what was sampled beside what the kernel has counted; of each service what came out whole.
function completenessTable(counters) {
  const rows = label => [...new Set(counters.filter(counter => counter.label === label).map(counter => counter.of))].map(of =>
    [of, name => counters.find(counter => counter.name === name && counter.of === of)?.value ?? 0]);
  const cells = (...texts) => element("tr", {}, ...texts.map((text, i) => element("td", i ? { class: "number" } : {}, text)));
  const heads = (...texts) => element("tr", {}, ...texts.map(text => element("th", {}, text)));
  const seconds = ns => `${(ns / 1e9).toFixed(1)} s`;
  const share = (part, all) => all ? percent(part / all) : "";
  const cgroups = rows("cgroup").map(([of, value]) => [of, value("cgroup_cpu_sampled_ns"), value("cgroup_cpu_exact_ns")])
    .sort((a, b) => b[2] - a[2]).map(([of, sampled, exact]) => cells(of, seconds(exact), seconds(sampled), share(sampled, exact)));
  const services = rows("service").map(([of, value]) => [of, value("service_whole_ns"), value("service_cut_ns"), value("service_unnamed_ns")])
    .sort((a, b) => b[1] + b[2] - a[1] - a[2])
    .map(([of, whole, cut, unnamed]) => cells(of, seconds(whole + cut), share(whole, whole + cut), share(cut, whole + cut), share(unnamed, whole + cut)));
  return [...cgroups.length ? [element("details", { class: "card counters cgroups" }, element("summary", {}, "Sampled beside the kernel's own CPU time, by cgroup"),
    element("table", {}, heads("cgroup, with those below it", "the kernel", "samples", ""), ...cgroups))] : [],
  ...services.length ? [element("details", { class: "card counters services" }, element("summary", {}, "How complete the stacks are, by service"),
    element("table", {}, heads("service", "sampled", "whole", "cut", "with frames without a name"), ...services))] : []];
}

function counterTable(counters, open) {
  const rows = counters.filter(counter => counter.kind).map(({ name, of, text, value }) => element("tr", {},
    element("td", { class: "number" }, value.toLocaleString()), element("td", {}, of ? `${of}: ${name}` : name), element("td", {}, text)));
  return rows.length ? [element("details", { class: "card counters lost", open },
    element("summary", {}, "What was cut or lost, and why"), element("table", {}, ...rows))] : [];
}

// ---- Where it comes from and goes to

const NOW_S = 15;
const since = length => length < NOW_S ? "now" : `${duration(Math.round(length))} ago`;
const ago = time => since(Date.now() / 1000 - time);
const count = number => number === undefined ? "" : number.toLocaleString();
const healthCell = ({ health }) => element("td", {}, element("span", { class: `badge ${/error/.test(health) ? "none" : health === "ok" ? "named" : ""}` }, health));

function listing(name, title, heads, rows, empty) {
  const cell = (text, i) => typeof text === "object" ? text : element("td", { class: heads[i].endsWith("#") ? "number" : "", title: text }, text);
  return element("section", { class: `card wide ${name}` }, element("h2", {}, title), rows.length ? element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": title }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map(head => element("th", { scope: "col", class: head.endsWith("#") ? "number" : "" }, head.replace("#", ""))))),
    element("tbody", {}, ...rows.map(([key, ...cells]) => element("tr", { "data-key": key }, ...cells.map(cell)))))) : element("p", { class: "empty" }, empty));
}

function queueCell({ queue, queue_max }) {
  const bar = element("i", { class: "bar" });
  bar.style.width = `${queue_max ? Math.max(queue ? 2 : 0, 64 * queue / queue_max) : 0}px`;
  return element("td", { class: "number" }, bar, queue === undefined ? "none" : `${count(queue)} of ${count(queue_max)}`);
}

const lists = ({ version, components = [], senders = [] }, hosts) => [
  listing("hosts", "Hosts", ["host", "CPUs, last hour#", "last sample#"], hosts.map(([name, silent, used]) => [name, name || "(unknown)", rate(used), since(silent)]),
    "Nothing was sampled in the last hour."),
  listing("senders", "Agents", ["address", "what it says it is", "taken by", "last word#", "requests#", "samples#", "refused#"], [...senders].sort((a, b) => b.last - a.last)
    .map(({ peer, agent, to, last, requests, samples, refused }) => [peer + agent + to, peer || "this machine", agent || (peer ? "it does not say" : `wick ${version}`), to, ago(last), count(requests), count(samples), count(refused)]), "Nobody has sent anything since wick started."),
  listing("exporters", "Exporters and their queues", ["exporter", "is", "queue#", "samples sent#", "refused for good#", "dropped, queue full#", "last error"], components.filter(({ kind }) => kind === "exporter")
    .map(part => [part.id, part.id, healthCell(part), queueCell(part), count(part.sent), count(part.failed), count(part.not_queued), part.error ? `${part.error} (${ago(part.error_time)})` : ""]), "There is none."),
  listing("receivers", "Receivers", ["receiver", "is", "samples taken#", "not taken#", "last error"], components.filter(({ kind }) => kind === "receiver")
    .map(part => [part.id, part.id, healthCell(part), count(part.accepted), count(part.refused), part.error ? `${part.error} (${ago(part.error_time)})` : ""]), "There is none.")];

function attention(found) {
  return element("section", { class: `card wide attention ${found.length ? "bad" : "good"}`, role: "status" }, element("h2", {}, found.length ? "Needs attention" : "All is well"),
    found.length ? element("ul", {}, ...found.map(([what, todo]) => element("li", { "data-key": what }, element("b", {}, what), " ", element("span", { class: "dim" }, todo)))) :
      element("p", { class: "empty" }, "Nothing is lost, refused, full or silent."));
}

const keepOpen = (open, all) => all.map(details => (details.open = open.has(details.classList.item(2)), details));

function statusView(status, hosts, open) {
  const [first, ...rest] = status.backend === "clickhouse" ? clickhouseCards(status) : localCards(status);
  const counters = status.sampling ?? [];
  return element("div", { class: "status" }, attention(problems(status, hosts)), card("wick", status.version, status.started ? `for ${duration(Math.round(Date.now() / 1000 - status.started))}` : ""), first,
    ...samplingCards(status), ...rest, ...lists(status, hosts), ...keepOpen(open, completenessTable(counters)), ...counterTable(counters, open.has("lost")));
}

let panel, known = [], lookedAt = -Infinity;

// [name, seconds since its last sample, CPUs of the last hour on average]; not with each refresh: an hour is a lot to look at.
export function hostRows({ from, to, lines }) {
  return lines.filter(({ name }) => name !== "(other)").map(({ name, values }) => {
    const last = values.findLastIndex(value => value > 0), width = (to - from) / values.length, used = values.filter(value => value > 0);
    return [name, last < 0 ? to - from : (values.length - 1 - last) * width, used.length ? used.reduce((a, b) => a + b, 0) / values.length : 0];
  });
}

async function readHosts() {
  if (performance.now() - lookedAt > HOSTS_EACH_MS) {
    lookedAt = performance.now();
    known = hostRows(await ask("chart", new URLSearchParams({ by: "host", from: `now-${HOUR}s`, to: "now", buckets: BUCKETS, lines: 100 }), "hosts"));
  }
  return known;
}

async function load() {
  const [status, hosts] = await Promise.all([ask("status", ""), readHosts()]);
  // New numbers must not close what somebody reads.
  const open = new Set([...panel.querySelectorAll("details[open]")].map(details => details.classList.item(2)));
  update(panel, statusView(status, hosts, open));
}

export default {
  start: root => panel = root,
  load,
  css: `
#status-view { overflow: auto; }
.status { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .8rem; padding-top: .8rem; overflow: auto; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; }
.card b { display: block; font-size: 1.3rem; }
.card .small { margin: .2rem 0 0; color: var(--dim); } .card.wide { grid-column: 1 / -1; min-width: 0; } .card h2 { margin: 0 0 .3rem; } .card .rows { overflow-x: auto; } .card .empty { padding: 0; margin: 0; }
.card.bad { border-color: #c92a2a; border-left-width: 4px; } .card.good { border-left: 4px solid #2b8a3e; } .attention ul { margin: 0; padding-left: 1.1rem; } .attention li { margin: .25rem 0; } .attention li b { display: inline; font-size: inherit; }
.card.wide table { width: 100%; } .card.wide td { max-width: 30rem; overflow: hidden; text-overflow: ellipsis; } .card .badge { border: 1px solid var(--line); border-radius: 999px; padding: 0 .5rem; } .card .badge.named { border-color: #2b8a3e; } .card .badge.none { border-color: #c92a2a; }
.left-out { margin: .3rem 0 0; font-weight: 700; }
.counters { grid-column: 1 / -1; }
.counters td { padding: .1rem .8rem .1rem 0; }`,
};
