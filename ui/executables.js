// The files that frames are of, and how many of their functions have names.
import { element } from "./views.js";

const percent = share => (100 * share).toFixed(1) + " %";
const states = { named: "symbolized", partly: "partly", none: "no names" };

// processes: paths that are executables of processes, by which can be filtered.
export function executablesTable({ total, rows }, processes, choose) {
  if (!rows.length)
    return element("p", { class: "empty" }, "Nothing was sampled in this range. Choose a longer range, or remove filters.");
  const count = state => rows.filter(row => row.state === state).length;
  const summary = Object.entries(states).filter(([state]) => count(state)).map(([state, text]) => `${count(state)} ${text}`).join(", ");
  const row = file => element("tr", {}, element("td", {}, element("span", { class: "badge " + file.state }, states[file.state] ?? file.state)),
    element("td", { class: "number" }, `${file.named.toLocaleString()} / ${file.functions.toLocaleString()}`),
    element("td", { class: "number" }, percent(file.self / (total || 1))), element("td", { class: "number" }, percent(file.total / (total || 1))),
    element("td", { class: "name", title: file.path }, processes.has(file.path) ?
      element("button", { type: "button", title: "only processes of it", onclick: () => choose(file.path) }, file.path) : file.path),
    element("td", {}, file.kind), element("td", { class: "id", title: file.build_id }, file.build_id.slice(0, 12)),
    element("td", {}, Object.entries(file.sources ?? {}).filter(([, n]) => n).map(([source, n]) => `${source} ${n}`).join(", ")));
  return element("div", {}, element("p", { class: "note" }, `${rows.length} files: ${summary}`), element("table", {}, element("thead", {}, element("tr", {},
    element("th", {}, "symbols"), ...["named", "self", "total"].map(title => element("th", { class: "number" }, title)),
    ...["file", "kind", "build id", "names from"].map(title => element("th", {}, title)))), element("tbody", {}, ...rows.map(row))));
}
