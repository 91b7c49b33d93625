// The views that are made of tables and text.
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

const percent = share => (100 * share).toFixed(share < 0.001 && share ? 3 : 1) + " %";

export function topTable(answer, choose) {
  const total = answer.total || 1;
  const row = ([name, exe, file, type, self, all]) => element("tr", {},
    element("td", { class: "number" }, percent(self / total)),
    element("td", { class: "number" }, percent(all / total)),
    element("td", { class: "name", title: name }, element("button", { type: "button", onclick: () => choose(name) }, name)),
    element("td", {}, exe.split("/").pop()), element("td", {}, type), element("td", { title: file }, file.split("/").pop()));
  return element("table", {}, element("thead", {}, element("tr", {},
    element("th", { class: "number" }, "self"), element("th", { class: "number" }, "total"), element("th", {}, "function"),
    element("th", {}, "file"), element("th", {}, "kind"), element("th", {}, "source"))),
    element("tbody", {}, ...answer.rows.map(row)));
}

function bytes(value) {
  return value >= 1 << 20 ? (value / (1 << 20)).toFixed(1) + " MiB" : (value / 1024).toFixed(1) + " KiB";
}

const moment = seconds => seconds ? new Date(seconds * 1000).toLocaleString() : "nothing yet";

export function statusView(status, hosts) {
  const card = (title, value, ...more) => element("div", { class: "card" }, title, element("b", {}, value), ...more);
  return element("div", { class: "status" },
    card("wick", status.version),
    card("Store", bytes(status.bytes), `of at most ${bytes(status.bytes_max)}`),
    card("Distinct stacks (trie nodes)", status.nodes.toLocaleString(), `${status.frames.toLocaleString()} functions, ` +
      `${status.series.toLocaleString()} series, ${status.epochs} dictionaries`),
    card("Hosts", String(hosts.length), hosts.slice(0, 20).map(([name]) => name).join(", ")),
    card("Blocks that could not be read", String(status.blocks_broken)),
    card("Samples with an impossible time", String(status.times_wrong), "kept under that of their arrival"),
    ...status.levels.map(level => card(`Reaches back: ${level.name}`, moment(level.first),
      `${level.blocks.toLocaleString()} blocks, ${bytes(level.bytes)}`)));
}
