// Traces and spans that samples were taken in: each leads to its flame graph.
import { ask, chosen, lookAtMoment, state } from "../state.js";
import { element, update } from "../element.js";
import { precise } from "../time.js";

const ROWS_MAX = 1000, SPANS_MAX = 200, TEMPLATE = "trace link";

// Where a tracing tool shows a trace, by the template that this browser keeps; null without one.
export function linkOut(template, { trace, span, first, last }) {
  const values = { trace, span: span ?? "", from: Math.floor(first * 1000), to: Math.ceil(last * 1000) };
  const address = URL.parse(template.replace(/\{(trace|span|from|to)\}/g, (_, key) => encodeURIComponent(values[key])));
  return /^https?:$/.test(address?.protocol) ? address.href : null;
}

const lasting = ({ first, last }) => last - first < 1 ? ((last - first) * 1000).toFixed(1) + " ms" : (last - first).toFixed(2) + " s";

function cells(row, share) {
  const bar = element("span", { class: "bar" });
  bar.style.width = Math.max(1, 100 * share) + "px";
  return [element("td", { class: "number" }, row.samples.toLocaleString()), element("td", {}, bar),
          element("td", {}, row.service || row.process || "(none)"), element("td", {}, row.host),
          element("td", { class: "number" }, precise(row.first)), element("td", { class: "number" }, lasting(row))];
}

class Traces {
  constructor(root) {
    Object.assign(this, { count: root.querySelector("output"), body: root.querySelector(".scroll"), answer: null, spans: new Map() });
    this.listen(root.querySelector("input.template"));
  }

  show(answer) {
    this.answer = answer;
    this.draw();
  }

  draw() {
    if (!this.answer)
      return;
    const { rows, left_out } = this.answer, most = rows[0]?.value || 1, part = state.find.trim().toLowerCase();
    const shown = rows.filter(row => [row.trace, row.service, row.process, row.host].some(text => text.toLowerCase().includes(part)));
    this.count.textContent = rows.length ? `${shown.length.toLocaleString()} of ${rows.length.toLocaleString()} traces` +
      (left_out ? `; ${left_out.toLocaleString()} samples of more traces are left out: choose a shorter range` : "") : "";
    update(this.body, rows.length ? element("table", {}, element("thead", {}, element("tr", {},
      element("th", {}, "trace"), ...["spans", "samples"].map(title => element("th", { class: "number" }, title)),
      ...["share", "service", "host"].map(title => element("th", {}, title)),
      ...["first seen", "lasted"].map(title => element("th", { class: "number" }, title)))),
      element("tbody", {}, ...shown.slice(0, ROWS_MAX).flatMap(row => [this.row(row, row.value / most),
        ...(this.spans.get(row.trace) ?? []).map(span => this.spanRow(span, span.value / (row.value || 1)))]))) :
      element("p", { class: "empty" }, "No sample in this range carries a trace id. Samples get one from programs that publish OpenTelemetry's thread " +
        "context or set it as labels of goroutines (docs/requests.md), and from senders that link profiles to traces. Choose a longer range, or remove filters."));
  }

  // A button with the id, which leads to the flame graph; the trace in a tracing tool; a file.
  id(text, row, ...filters) {
    const { first, last } = row, away = linkOut(localStorage.getItem(TEMPLATE) ?? "", row);
    const range = new URLSearchParams({ from: (first - 0.001).toFixed(3), to: (last + 0.001).toFixed(3), ...(row.span && { span: row.span }) });
    return element("td", { class: "id" }, element("button", { type: "button", title: "its flame graph",
      onclick: () => lookAtMoment(first - 0.001, last + 0.001, filters) }, text),
      ...(away ? [" ", element("a", { href: away, target: "_blank", rel: "noopener", title: "in the tracing tool", "aria-label": `${text} in the tracing tool` }, "↗")] : []),
      " ", element("a", { href: `api/v1/traces/${row.trace}/profile?${range}`, download: "", title: "its profile as a pprof file", "aria-label": `profile of ${text}` }, "↓"));
  }

  // The template is kept by the browser, and not in the address: that may be given to others.
  listen(input) {
    input.value = localStorage.getItem(TEMPLATE) ?? "";
    input.addEventListener("change", () => {
      localStorage.setItem(TEMPLATE, input.value.trim());
      this.draw();
    });
  }

  row(row, share) {
    return element("tr", { "data-key": row.trace }, this.id(row.trace, row, "trace=" + row.trace), element("td", { class: "number" }, element("button", { type: "button",
      "aria-expanded": String(this.spans.has(row.trace)), "aria-label": `${row.spans} spans of ${row.trace}`,
      onclick: () => this.expand(row) }, String(row.spans))), ...cells(row, share));
  }

  spanRow(span, share) {
    return element("tr", { class: "span", "data-key": span.trace + span.span }, this.id(span.span, span, "trace=" + span.trace, "span=" + span.span),
      element("td", { class: "number" }, "span"), ...cells(span, share));
  }

  async expand(row) {
    if (!this.spans.delete(row.trace)) {
      const query = chosen({ by: "span", max: SPANS_MAX });
      query.append("where", "trace=" + row.trace);
      this.spans.set(row.trace, (await ask("traces", query, "spans")).rows);
    }
    this.draw();
  }
}

let traces;

export default {
  address: { find: "" },
  start: root => traces = new Traces(root),
  load: async () => traces.show(await ask("traces", chosen())),
  changed: changes => "find" in changes && Object.keys(changes).length === 1 && (traces.draw(), true),
  html: `
    <div class="tools"><label>Traces with <input name="find" type="search" spellcheck="false" placeholder="id, service, process or host"></label>
      <label>Link to <input class="template" type="url" spellcheck="false" placeholder="https://tempo.example/{trace}?span={span}"></label> <output></output></div>
    <div class="scroll"></div>`,
  css: `tr.span td:first-child { padding-left: 2rem; }`,
};
