// The files that frames are of, and how many of their functions have names.
import { addFilter, ask, chosen, selection } from "../state.js";
import { element, update } from "../element.js";

const percent = share => (100 * share).toFixed(1) + " %";
const states = { named: "symbolized", partly: "partly", none: "no names" };

// processes: paths that are executables of processes, by which can be filtered.
function executablesTable({ total, rows }, processes, choose) {
  if (!rows.length)
    return element("p", { class: "empty" }, "Nothing was sampled in this range. Choose a longer range, or remove filters.");
  const count = state => rows.filter(row => row.state === state).length;
  const summary = Object.entries(states).filter(([state]) => count(state)).map(([state, text]) => `${count(state)} ${text}`).join(", ");
  const row = file => element("tr", { "data-key": file.path + "\n" + file.build_id }, element("td", {}, element("span", { class: "badge " + file.state }, states[file.state] ?? file.state)),
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

function told({ has_symbols, executables }) {
  if (!has_symbols)
    return "This file has no symbols itself: send one that is not stripped, or its debug file.";
  const named = executables.reduce((sum, file) => sum + file.named, 0);
  return executables.length ? `${named.toLocaleString()} addresses of ${executables.map(file => file.path).join(", ")} have names now.` :
    "It is kept; nothing that was sampled so far lacks its names.";
}

// A program or its debug file, chosen or dropped, names what came without names.
let send;

function uploadBox(done) {
  const note = element("span", { role: "status" });
  send = async file => {
    if (!file)
      return;
    note.textContent = `${file.name} is being read …`;
    const answer = await fetch("/api/v1/symbols", { method: "POST", body: file }).catch(() => null);
    const body = await answer?.json().catch(() => null);
    note.textContent = answer?.ok && body ? told(body) : body?.error ?? "wick did not take the file. Is it still running?";
    done();
  };
  const input = element("input", { type: "file", onchange: () => send(input.files[0]) });
  return element("div", { class: "upload" },
    element("label", {}, "Symbols for files without names (a program or its debug file): ", input), " ", note,
    element("p", { class: "note" }, "Names that come late apply to old samples too; inlined functions only to new ones."));
}

async function load() {
  const [answer, processes] = await Promise.all([ask("executables", selection()), ask("values", chosen({ label: "executable" }))]);
  update(document.getElementById("executable-rows"),
    executablesTable(answer, new Set(processes.map(([path]) => path)), path => addFilter("executable=" + path)));
}

export default {
  start: root => root.querySelector("#upload").append(uploadBox(load)),
  load,
  take: file => send(file),
  html: `<div id="upload"></div><div class="scroll" id="executable-rows" tabindex="0" role="region" aria-label="executables"></div>`,
  css: `
.upload { padding: .2rem 0; min-width: 0; } .upload label { display: block; } .upload input { box-sizing: border-box; width: 100%; max-width: 30rem; } .upload .note { white-space: normal; }
@media (max-width: 700px) { #executable-rows td:nth-child(2), #executable-rows th:nth-child(2), #executable-rows td:nth-child(n+6), #executable-rows th:nth-child(n+6) { display: none; }
  #executable-rows table { table-layout: fixed; } #executable-rows th:nth-child(1) { width: 6.2rem; } #executable-rows th.number { width: 4rem; } #executable-rows td { overflow: hidden; text-overflow: ellipsis; padding: .15rem .3rem; direction: ltr; } }
.badge { border: 1px solid var(--line); border-radius: 999px; padding: 0 .5rem; } .badge.named { border-color: #2b8a3e; } .badge.none { border-color: #c92a2a; }`,
};
