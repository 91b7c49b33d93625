// What arrived, from whom, and what went wrong: the last requests, windows and warnings, as they come.
import { ask, change, state } from "./state.js";
import { element } from "./views.js";

const ROWS_MAX = 512;

function size(bytes) {
  return bytes >= 1 << 20 ? (bytes / (1 << 20)).toFixed(1) + " MiB" : bytes >= 1024 ? (bytes / 1024).toFixed(1) + " KiB" : bytes + " B";
}

function what(row) {
  if (row.text)
    return row.text;
  const parts = [`${row.samples.toLocaleString()} samples of ${row.resources.toLocaleString()} ${row.resources === 1 ? "resource" : "resources"}`];
  return (row.kind === "window" ? ["this machine", ...parts] : parts).join(": ");
}

export class Logs {
  // choose(from, to): the flame graph of what arrived then.
  constructor(root, choose) {
    Object.assign(this, { root, choose, rows: [], last: 0 });
    this.kind = element("select", { onchange: () => change({ show: this.kind.value }, true) }, element("option", { value: "" }, "everything"),
      element("option", { value: "request" }, "requests"), element("option", { value: "bad" }, "warnings and errors"));
    this.input = element("input", { type: "search", spellcheck: "false", placeholder: "sender, receiver or text",
                                    oninput: () => change({ find: this.input.value }, true) });
    this.count = element("output", { "aria-live": "polite" });
    this.body = element("div", { class: "scroll" });
    root.replaceChildren(element("div", { class: "tools" }, element("label", {}, "Show ", this.kind), element("label", {}, "with ", this.input),
      this.count), this.body);
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
    this.kind.value = state.show;
    if (this.input !== document.activeElement)
      this.input.value = state.find;
    const part = state.find.trim().toLowerCase(), bad = row => row.level === "warn" || row.level === "error";
    const shown = this.rows.filter(row => (this.kind.value === "bad" ? bad(row) : !this.kind.value || row.kind === this.kind.value) &&
      [row.component, row.protocol, row.peer, row.agent, row.text].some(text => text.toLowerCase().includes(part))).reverse();
    const wrong = this.rows.filter(bad).length;
    this.count.textContent = this.rows.length ? `${shown.length} of the last ${this.rows.length}` + (wrong ? `, ${wrong} with something wrong` : "") : "";
    this.body.replaceChildren(shown.length ? element("table", { class: "log" }, element("thead", {}, element("tr", {},
      ...["time", "level", "receiver", "from", "sender"].map(title => element("th", {}, title)), element("th", { class: "number" }, "bytes"),
      element("th", {}, "what"))), element("tbody", {}, ...shown.map(row => this.row(row)))) :
      element("p", { class: "empty" }, this.rows.length ? "Nothing that arrived is like that." :
        "Nothing has arrived yet. Send OTLP profiles to this address (gRPC or HTTP, the same port), or run wick as root so that it profiles this machine."));
  }

  row(row) {
    const time = new Date(row.time * 1000);
    return element("tr", { class: row.level },
      element("td", {}, element("button", { type: "button", title: "the flame graph of that moment", onclick: () => this.choose(row.time - 10, row.time + 1) },
        time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 }))),
      element("td", { class: "level" }, row.level), element("td", {}, row.component),
      element("td", {}, [row.protocol, row.peer].filter(Boolean).join(" ")), element("td", { class: "name", title: row.agent }, row.agent),
      element("td", { class: "number" }, row.bytes ? size(row.bytes) : ""), element("td", { class: "what" }, what(row)));
  }
}
