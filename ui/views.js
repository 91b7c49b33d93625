// The views that are made of tables and text.
import { bytes } from "./tree.js";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on"))
      made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined)
      made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const moment = seconds => seconds ? new Date(seconds * 1000).toLocaleString() : "nothing yet";

const card = (title, value, ...more) => element("div", { class: "card" }, title, element("b", {}, value), ...more);

const localCards = status => [
  card("Store", bytes(status.bytes), `of at most ${bytes(status.bytes_max)}`),
  card("Distinct stacks (trie nodes)", status.nodes.toLocaleString(), `${status.frames.toLocaleString()} functions, ` +
    `${status.series.toLocaleString()} series, ${status.epochs} dictionaries`),
  card("Blocks that could not be read", String(status.blocks_broken)),
  card("Samples with an impossible time", String(status.times_wrong), "kept under that of their arrival"),
  ...status.levels.map(level => card(`Reaches back: ${level.name}`, moment(level.first),
    `${level.blocks.toLocaleString()} blocks, ${bytes(level.bytes)}`))];

// A server has no roll-ups, no late names, and keeps what it keeps for as long as its tables say.
const clickhouseCards = ({ bytes: size, nodes, levels: [samples] }) => [
  card("ClickHouse", size ? bytes(size) : "of unknown size", size ? `in ${samples.blocks.toLocaleString()} parts of samples` :
    "this user may not look at system.parts"),
  card("Samples", samples.rows.toLocaleString(), nodes ? `${nodes.toLocaleString()} rows of stacks, each stack once a day` : ""),
  card("Reaches back", moment(samples.first), "every sample, without roll-ups"),
  card("Names that come late", "none", "profiles bring theirs along; uploads are for a store of this machine")];

export function statusView(status, hosts) {
  const [first, ...rest] = status.backend === "clickhouse" ? clickhouseCards(status) : localCards(status);
  return element("div", { class: "status" }, card("wick", status.version), first,
    card("Hosts", String(hosts.length), hosts.slice(0, 20).map(([name]) => name).join(", ")), ...rest);
}

// What a store without anything in it says.
export function firstHelp(origin) {
  const port = new URL(origin).host, code = text => element("code", {}, text);
  return element("div", { class: "help" }, element("h2", {}, "Nothing has been sampled yet"),
    element("p", {}, "This page fills itself as soon as profiles come. Ways to have some:"),
    element("ol", {},
      element("li", {}, "This machine: ", code("sudo wick"), " samples all of it, 20 times a second for each CPU, and shows it here."),
      element("li", {}, "Another machine with wick or any OTLP agent: send to ", code(port), " by gRPC, or by HTTP to ",
              code(origin + "/v1development/profiles"), "."),
      element("li", {}, "The OpenTelemetry eBPF profiler: ", code(`ebpf-profiler -collection-agent=${port} -disable-tls`)),
      element("li", {}, "A file: ", code("wick convert cpu.pb.gz cpu.otlp"), ", then ",
              code(`curl -H 'content-type: application/x-protobuf' --data-binary @cpu.otlp ${origin}/v1development/profiles`))),
    element("p", {}, "If wick runs here and nothing comes, ", code("wick doctor"), " says why."));
}

// What a selection without anything in it says. actions: [text, action]
export function emptyHelp(text, actions) {
  return element("div", { class: "help" }, element("h2", {}, text), element("p", {}, ...actions.flatMap(([title, onclick]) =>
    [element("button", { type: "button", onclick }, title), " "])));
}
