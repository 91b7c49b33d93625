// All functions as a table of which only the rows in sight exist; they are asked for as they come.
import { ask, change, lookAt, selection, state } from "../state.js";
import { copy, tableText } from "../copy.js";
import { functionItems } from "../flameview.js";
import { baseName } from "../match.js";
import { openMenu } from "../menu.js";
import { percent } from "../tree.js";
import { element, update } from "../element.js";

const ROW = 27, PAGE = 500, FIRST = 100, SPARE = 10;
const columns = [["self", "self", "number"], ["total", "total", "number"], ["name", "function", "name"], ["file", "file", ""],
                 ["kind", "kind", ""], ["", "source", ""]];

class FunctionTable {
  // events: order(name), menu(row, x, y), choose(row)
  constructor(box, events) {
    Object.assign(this, { box, events, rows: [], most: [1, 1], count: 0, total: 1, asked: new Set(), turn: 0 });
    this.body = element("tbody");
    this.heads = columns.map(([order, text, look]) => element("th", { class: look, scope: "col" }, order ?
      element("button", { type: "button", onclick: () => events.order(order) }, text) : text));
    this.table = element("table", { class: "functions", "aria-label": "functions" },
                         element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    box.replaceChildren(this.table);
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("contextmenu", event => {
      const row = this.rows[event.target.closest("tr")?.dataset.place];
      if (row) {
        event.preventDefault();
        events.menu(row, event.clientX, event.clientY);
      }
    });
  }

  // The first rows come alone: they are what is looked at.
  async load() {
    const turn = ++this.turn, answer = await ask("top", this.query(0, FIRST), "top");
    if (turn !== this.turn)
      return;
    // What is known of rows further down is shown until they have come anew.
    const question = String(this.query(0, 0)), rows = question === this.question ? this.rows.slice(0, answer.count) : [];
    Object.assign(this, { question, rows, count: answer.count, total: answer.total || 1, asked: new Set() });
    this.put(0, answer.rows);
    for (let page = 0; page * PAGE < this.rows.length; page++)
      if (this.isSeen(page))
        this.fetchPage(page);
    columns.forEach(([order], i) => this.heads[i].setAttribute("aria-sort", order && order === state.order ?
      (order === "self" || order === "total" ? "descending" : "ascending") : "none"));
    this.setCount(answer.count);
    this.draw();
  }

  setCount(count) {
    this.count = count;
    this.table.setAttribute("aria-rowcount", count + 1);
    document.getElementById("top-count").textContent = `${count.toLocaleString()} functions`;
  }

  query(first, rows) {
    return selection({ part: state.part, order: state.order, first, rows });
  }

  put(first, rows) {
    rows.forEach((row, i) => this.rows[first + i] = row);
    if (!first)
      this.most = [4, 5].map(column => rows.reduce((most, row) => Math.max(most, row[column]), 0));
  }

  async fetchPage(page) {
    if (this.asked.has(page))
      return;
    this.asked.add(page);
    const turn = this.turn, answer = await ask("top", this.query(page * PAGE, PAGE), "page" + page).catch(() => null);
    if (turn !== this.turn)
      return;
    if (answer) {
      this.put(page * PAGE, answer.rows);
      this.setCount(answer.count);    // ranges that end now have moved on
    } else
      this.asked.delete(page);
    this.draw();
  }

  // The rows in sight.
  range() {
    const seen = Math.ceil((this.box.clientHeight || 600) / ROW) + 2 * SPARE;
    const from = Math.max(0, Math.min(this.count - seen, Math.floor(this.box.scrollTop / ROW) - SPARE));
    return [from, Math.min(this.count, from + seen)];
  }

  // Beyond the first rows, which have come already.
  isSeen(page) {
    const [from, to] = this.range();
    return to > FIRST && from < (page + 1) * PAGE && to > page * PAGE;
  }

  draw() {
    const [from, to] = this.range(), shown = [];
    for (let place = from; place < to; place++) {
      if (!this.rows[place])
        this.fetchPage(Math.floor(place / PAGE));
      shown.push(this.row(place));
    }
    const space = () => element("tr", { class: "space", "aria-hidden": "true" }, element("td", { colspan: columns.length }));
    const above = space(), below = space();
    above.style.height = from * ROW + "px";
    below.style.height = (this.count - to) * ROW + "px";
    update(this.body, above, ...shown, below);
  }

  row(place) {
    const row = this.rows[place];
    const made = element("tr", { "data-place": place, "data-key": row ? row[0] + "\n" + row[1] : undefined, "aria-rowindex": place + 2 });
    if (!row) {
      made.append(element("td", { colspan: columns.length, class: "dim" }, "…"));
      return made;
    }
    const [name, executable, file, kind, self, total] = row;
    const share = (value, most) => {
      const bar = element("i", { class: "bar", "aria-hidden": "true" });
      bar.style.width = 72 * Math.min(1, value / (most || 1)) + "px";
      return element("td", { class: "number" }, bar, percent(value / this.total));
    };
    made.append(share(self, this.most[0]), share(total, this.most[1]), element("td", { class: "name", title: name },
                                                   element("button", { type: "button", onclick: () => this.events.choose(row) }, name)),
                element("td", { title: executable }, baseName(executable)), element("td", {}, kind),
                element("td", { title: file }, baseName(file)));
    return made;
  }
}

// All functions, as many as are ever copied, in words of a table.
const COPIED_MAX = 10000;

async function copyAs(form) {
  const { rows, total } = await ask("top", selection({ part: state.part, order: state.order, first: 0, rows: COPIED_MAX }), "copied");
  const heads = ["self %", "total %", "self", "total", "function", "file", "kind", "source"];
  const cells = rows.map(([name, file, source, kind, self, all]) => [(100 * self / (total || 1)).toFixed(3), (100 * all / (total || 1)).toFixed(3), self, all, name, file, kind, source]);
  copy(tableText([heads, ...cells], form), `${rows.length.toLocaleString()} rows are copied`);
}

let table;

export default {
  address: { part: "", order: "self" },
  start(root) {
    table = new FunctionTable(root.querySelector("#top-rows"), {
      order: order => change({ order }),
      choose: ([name, executable]) => lookAt(name, executable),
      menu: ([name, executable], x, y) => openMenu(name, functionItems(name, executable), x, y),
    });
    root.querySelector("#copy-as").addEventListener("change", event => {
      copyAs(event.target.value);
      event.target.value = "";
    });
  },
  load: () => table.load(),
  html: `
    <div class="tools"><label><span>Functions with</span> <input id="part" name="part" type="search" placeholder="name or /expression/" spellcheck="false" autocapitalize="off"></label> <output id="top-count"></output><span class="grow"></span>
      <label>Copy as <select id="copy-as"><option value="">…</option><option value="csv">CSV</option><option value="markdown">Markdown</option><option value="text">text</option></select></label></div>
    <div class="scroll" id="top-rows" tabindex="0" role="region" aria-label="functions, most of their own first"></div>`,
  css: `
.functions { table-layout: fixed; } .functions tr:not(.space) { height: 27px; } .functions td, .functions th { overflow: hidden; text-overflow: ellipsis; }
.functions th.number { width: 9.5rem; } .functions th:nth-child(4), .functions th:nth-child(6) { width: 14%; } .functions th:nth-child(5) { width: 6.5rem; }
.space td { padding: 0; border: 0; }
@media (max-width: 700px) { .functions th:nth-child(n+4), .functions td:nth-child(n+4):not([colspan]) { display: none; } .functions th.number { width: 4.5rem; } .functions th.name { width: 56vw; } .functions .bar { display: none; } }`,
};
