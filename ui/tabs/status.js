// How the store is.
import { ask, chosen } from "../state.js";
import { element, update } from "../element.js";
import { bytes, percent } from "../tree.js";

const moment = seconds => seconds ? new Date(seconds * 1000).toLocaleString() : "nothing yet";

const reaches = { windows: "Every sample, from", "1 m": "Sums by the minute, from", "10 m": "Sums of ten minutes, from", "1 h": "Sums by the hour, from" };

const card = (title, value, ...more) => element("div", { class: "card" }, title, element("b", {}, value), ...more);

const localCards = status => [
  card("Store", bytes(status.bytes), `of at most ${bytes(status.bytes_max)}`),
  card("Stacks kept", status.nodes.toLocaleString(), `different ways to ${status.frames.toLocaleString()} functions, of ${status.series.toLocaleString()} processes and hosts`),
  ...(status.blocks_broken ? [card("Parts that cannot be read", String(status.blocks_broken), "what they held is missing here: the log says which files, and whether the disk fails")] : []),
  ...(status.times_wrong ? [card("Samples with an impossible time", status.times_wrong.toLocaleString(), "they stand where they arrived: look at the clock of who sends them")] : []),
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

const keepOpen = (open, all) => all.map(details => (details.open = open.has(details.classList.item(2)), details));

function statusView(status, hosts, open) {
  const [first, ...rest] = status.backend === "clickhouse" ? clickhouseCards(status) : localCards(status);
  const counters = status.sampling ?? [];
  return element("div", { class: "status" }, card("wick", status.version), first,
    card("Hosts", String(hosts.length), hosts.slice(0, 20).map(([name]) => name).join(", ")), ...samplingCards(status), ...rest,
    ...keepOpen(open, completenessTable(counters)), ...counterTable(counters, open.has("lost")));
}

let panel;

async function load() {
  const [status, hosts] = await Promise.all([ask("status", ""), ask("values", chosen({ label: "host" }), "hosts")]);
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
.left-out { margin: .3rem 0 0; font-weight: 700; }
.counters { grid-column: 1 / -1; }
.counters td { padding: .1rem .8rem .1rem 0; }`,
};
