// What arrived, from whom, and what went wrong: the last requests, windows and warnings, as they come.
import { ask, lookAtMoment, state } from "../state.js";
import { element, update } from "../element.js";
import { bytes } from "../tree.js";

const ROWS_MAX = 512;

function what(row) {
  if (row.text)
    return row.text;
  const parts = [`${row.samples.toLocaleString()} samples of ${row.resources.toLocaleString()} ${row.resources === 1 ? "resource" : "resources"}`];
  return (row.kind === "window" ? ["this machine", ...parts] : parts).join(": ");
}

class Logs {
  constructor(root) {
    Object.assign(this, { count: root.querySelector("output"), body: root.querySelector(".scroll"), rows: [], last: 0 });
  }

  async load() {
    const answer = await ask("arrivals", new URLSearchParams({ after: this.last }));
    if (answer.last < this.last) {
      // wick began anew, and so did its numbers.
      Object.assign(this, { rows: [], last: 0 });
      return this.load();
    }
    this.rows = [...this.rows, ...answer.rows].slice(-ROWS_MAX);
    if (!answer.rows.length && this.drawn)
      return;
    this.last = answer.last;
    this.drawn = true;
    this.draw();
  }

  draw() {
    const part = state.find.trim().toLowerCase(), bad = row => row.level === "warn" || row.level === "error";
    const shown = this.rows.filter(row => (state.show === "bad" ? bad(row) : !state.show || row.kind === state.show) &&
      [row.component, row.protocol, row.peer, row.agent, row.text].some(text => text.toLowerCase().includes(part))).reverse();
    const wrong = this.rows.filter(bad).length;
    this.count.textContent = this.rows.length ? `${shown.length} of the last ${this.rows.length}` + (wrong ? `, ${wrong} with something wrong` : "") : "";
    update(this.body, shown.length ? element("table", { class: "log" }, element("thead", {}, element("tr", {},
      ...["time", "level", "receiver", "from", "sender"].map(title => element("th", {}, title)), element("th", { class: "number" }, "bytes"),
      element("th", {}, "what"))), element("tbody", {}, ...shown.map(row => this.row(row)))) :
      element("p", { class: "empty" }, this.rows.length ? "Nothing that arrived is like that." :
        "Nothing has arrived yet. Send OTLP profiles to this address (gRPC or HTTP, the same port), or run wick as root so that it profiles this machine."));
  }

  row(row) {
    const time = new Date(row.time * 1000);
    return element("tr", { class: row.level, "data-key": row.number },
      element("td", {}, element("button", { type: "button", title: "the flame graph of that moment", onclick: () => lookAtMoment(row.time - 10, row.time + 1) },
        time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 }))),
      element("td", { class: "level" }, row.level), element("td", {}, row.component),
      element("td", {}, [row.protocol, row.peer].filter(Boolean).join(" ")), element("td", { class: "name", title: row.agent }, row.agent),
      element("td", { class: "number" }, row.bytes ? bytes(row.bytes) : ""), element("td", { class: "what" }, what(row)));
  }
}

let logs;

export default {
  address: { find: "", show: "" },
  start(root) {
    logs = new Logs(root);
    // What was refused is in the log, not in the store: no event tells of it.
    setInterval(() => !root.hidden && state.live && !document.hidden && logs.load().catch(() => {}), 1000);
  },
  load: () => logs.load(),
  changed: changes => Object.keys(changes).every(key => key === "find" || key === "show") && (logs.draw(), true),
  html: `
    <div class="tools">
      <label>Show <select name="show"><option value="">everything</option><option value="request">requests</option><option value="bad">warnings and errors</option></select></label>
      <label>with <input name="find" type="search" spellcheck="false" placeholder="sender, receiver or text"></label> <output aria-live="polite"></output>
    </div>
    <div class="scroll"></div>`,
  css: `
td.what { white-space: normal; min-width: 14rem; }
tr.error td { background: color-mix(in srgb, #c92a2a 14%, transparent); } tr.warn td { background: color-mix(in srgb, #f2b84b 18%, transparent); }
tr.error .level, tr.warn .level { font-weight: 700; }`,
};
