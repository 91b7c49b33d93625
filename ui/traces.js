// Traces and spans that samples were taken in: each leads to its flame graph.
import { ask, selection } from "./state.js";
import { element } from "./views.js";

const clock = seconds => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
const lasting = ({ first, last }) => last - first < 1 ? ((last - first) * 1000).toFixed(1) + " ms" : (last - first).toFixed(2) + " s";

function cells(row, share) {
  const bar = element("span", { class: "bar" });
  bar.style.width = Math.max(1, 100 * share) + "px";
  return [element("td", { class: "number" }, row.samples.toLocaleString()), element("td", {}, bar),
          element("td", {}, row.service || row.process || "(none)"), element("td", {}, row.host),
          element("td", { class: "number" }, clock(row.first)), element("td", { class: "number" }, lasting(row))];
}

// choose(from, to, filters): the flame graph of that trace, in the time that it was seen in.
export class Traces {
  constructor(root, choose) {
    Object.assign(this, { root, choose, answer: null, part: "" });
    this.count = element("output");
    this.input = element("input", { type: "search", spellcheck: "false", placeholder: "id, service, process or host",
                                    oninput: () => { this.part = this.input.value.trim().toLowerCase(); this.draw(); } });
    this.body = element("div", { class: "scroll" });
    root.replaceChildren(element("div", { class: "tools" }, element("label", {}, "Traces with ", this.input), this.count), this.body);
  }

  show(answer) {
    this.answer = answer;
    this.draw();
  }

  draw() {
    const { rows, left_out } = this.answer, most = rows[0]?.value || 1;
    const shown = rows.filter(row => [row.trace, row.service, row.process, row.host].some(text => text.toLowerCase().includes(this.part)));
    this.count.textContent = rows.length ? `${shown.length.toLocaleString()} of ${rows.length.toLocaleString()} traces` +
      (left_out ? `; ${left_out.toLocaleString()} samples of more traces are left out: choose a shorter range` : "") : "";
    this.body.replaceChildren(rows.length ? element("table", {}, element("thead", {}, element("tr", {},
      element("th", {}, "trace"), ...["spans", "samples"].map(title => element("th", { class: "number" }, title)),
      ...["share", "service", "host"].map(title => element("th", {}, title)),
      ...["first seen", "lasted"].map(title => element("th", { class: "number" }, title)))),
      element("tbody", {}, ...shown.slice(0, 1000).map(row => this.row(row, row.value / most)))) :
      element("p", { class: "empty" }, "No sample in this range carries a trace id. Samples get one from senders that link profiles to traces " +
        "(link_index in OTLP profiles); once one does, its traces stand here. Choose a longer range, or remove filters."));
  }

  row(row, share) {
    const more = element("button", { type: "button", "aria-expanded": "false", onclick: () => this.expand(row, more) }, String(row.spans));
    return element("tr", {}, element("td", { class: "id" }, element("button", { type: "button", title: "its flame graph",
      onclick: () => this.choose(row.first - 0.001, row.last + 0.001, ["trace=" + row.trace]) }, row.trace)), element("td", { class: "number" }, more), ...cells(row, share));
  }

  async expand(row, button) {
    const line = button.closest("tr"), open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    while (line.nextSibling?.classList?.contains("span"))
      line.nextSibling.remove();
    if (open)
      return;
    const query = selection({ by: "span", max: 200 });
    query.append("where", "trace=" + row.trace);
    const { rows } = await ask("traces", query, "spans");
    line.after(...rows.map(span => element("tr", { class: "span" }, element("td", { class: "id" }, element("button", { type: "button",
      title: "its flame graph", onclick: () => this.choose(span.first - 0.001, span.last + 0.001, ["trace=" + span.trace, "span=" + span.span]) }, span.span)),
      element("td", { class: "number" }, "span"), ...cells(span, span.value / (row.value || 1)))));
  }
}
