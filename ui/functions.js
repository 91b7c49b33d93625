// A table of functions of which only the rows in sight exist; they are asked for as they come. In the tab of all functions, beside the flame
// graph, and of what changed.
import { ask } from "./state.js";
import { functionItems } from "./flameview.js";
import { baseName } from "./match.js";
import { openMenu } from "./menu.js";
import { percent } from "./tree.js";
import { element, update } from "./element.js";

const ROW = 27, PAGE = 500, FIRST = 100, SPARE = 10, BAR = 64;

// Of a row of /api/v1/top: the file that the function is of, which tells it from others of its name.
export const home = row => row[1] || row[2];
const keyOf = row => row[0] + "\n" + home(row);
const FIRST_NUMBER = 4;

// A column: its order for the server ("" if there is none), its title, its class, and the cell of a row.
export const columns = {
  self: { order: "self", title: "self", look: "number", cell: (row, table) => table.share(row, 0) },
  total: { order: "total", title: "total", look: "number", cell: (row, table) => table.share(row, 1) },
  name: { order: "name", title: "function", look: "name", cell: (row, table) => element("td", { class: "name", title: row[0] },
    element("button", { type: "button", onclick: () => table.events.choose(row) }, row[0])) },
  // Where there is no room for more: with its file, since others may have the same name.
  named: { order: "name", title: "function", look: "name", cell: (row, table) => element("td", { class: "name", title: keyOf(row) },
    element("button", { type: "button", onclick: () => table.events.choose(row) }, row[0]), element("span", { class: "dim" }, " " + baseName(home(row)))) },
  file: { order: "file", title: "file", look: "file", cell: row => element("td", { class: "file", title: row[1] }, baseName(row[1])) },
  kind: { order: "kind", title: "kind", look: "kind", cell: row => element("td", { class: "kind" }, row[3]) },
  source: { order: "", title: "source", look: "source", cell: row => element("td", { class: "source", title: row[2] }, baseName(row[2])) },
};

export class FunctionTable {
  // slot: of its questions. shown: columns. events: query(first, rows), order(name), sorted() the order now, choose(row); if wanted told(answer), point(row or null)
  constructor(box, slot, shown, events) {
    Object.assign(this, { box, slot, shown, events, rows: [], most: [1, 1], count: 0, total: 1, asked: new Set(), turn: 0, at: null });
    this.body = element("tbody");
    this.heads = shown.map(({ order, title, look }) => element("th", { class: look, scope: "col" }, order && events.order ?
      element("button", { type: "button", onclick: () => events.order(order) }, title) : title));
    this.table = element("table", { class: "functions", "aria-label": "functions" }, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    box.replaceChildren(this.table);
    this.listen();
  }

  listen() {
    const { box, events } = this, rowOf = event => this.rows[event.target.closest("tr")?.dataset.place] ?? null;
    box.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("contextmenu", event => {
      const row = rowOf(event);
      if (row) {
        event.preventDefault();
        openMenu(row[0], functionItems(row[0], home(row)), event.clientX, event.clientY);
      }
    });
    box.addEventListener("pointerover", event => events.point?.(rowOf(event)));
    box.addEventListener("pointerleave", () => events.point?.(null));
  }

  // The first rows come alone: they are what is looked at.
  async load() {
    const turn = ++this.turn, answer = await ask("top", this.events.query(0, FIRST), this.slot);
    if (turn !== this.turn)
      return;
    // What is known of rows further down is shown until they have come anew.
    const question = String(this.events.query(0, 0)), rows = question === this.question ? this.rows.slice(0, answer.count) : [];
    Object.assign(this, { question, rows, answer, total: answer.total || 1, asked: new Set() });
    this.put(0, answer.rows);
    for (let page = 0; page * PAGE < this.rows.length; page++)
      if (this.isSeen(page))
        this.fetchPage(page);
    const sorted = this.events.sorted();
    this.shown.forEach(({ order, look }, i) => this.heads[i].setAttribute("aria-sort", order && order === sorted ? (look === "number" ? "descending" : "ascending") : "none"));
    this.setCount(answer);
    this.draw();
  }

  setCount(answer) {
    this.count = answer.count;
    this.table.setAttribute("aria-rowcount", answer.count + 1);
    this.events.told?.(answer);
  }

  put(first, rows) {
    rows.forEach((row, i) => this.rows[first + i] = row);
    if (!first)
      this.most = [0, 1].map(column => rows.reduce((most, row) => Math.max(most, row[FIRST_NUMBER + column]), 0));
  }

  async fetchPage(page) {
    if (this.asked.has(page))
      return;
    this.asked.add(page);
    const turn = this.turn, answer = await ask("top", this.events.query(page * PAGE, PAGE), this.slot + page).catch(() => null);
    if (turn !== this.turn)
      return;
    if (answer) {
      this.put(page * PAGE, answer.rows);
      this.setCount(answer);    // ranges that end now have moved on
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

  // Shows which row is that of a function; null: none.
  mark(key) {
    this.at = key;
    const place = key === null ? -1 : this.rows.findIndex(row => row && keyOf(row) === key), top = place * ROW, { scrollTop, clientHeight } = this.box;
    if (place >= 0 && (top < scrollTop || top + 2 * ROW > scrollTop + clientHeight))
      this.box.scrollTop = Math.max(0, top - clientHeight / 2);
    for (const row of this.body.rows)
      row.classList.toggle("at", key !== null && row.dataset.key === key);
  }

  draw() {
    const [from, to] = this.range(), shown = [];
    for (let place = from; place < to; place++) {
      if (!this.rows[place])
        this.fetchPage(Math.floor(place / PAGE));
      shown.push(this.row(place));
    }
    const space = () => element("tr", { class: "space", "aria-hidden": "true" }, element("td", { colspan: this.shown.length }));
    const above = space(), below = space();
    above.style.height = from * ROW + "px";
    below.style.height = (this.count - to) * ROW + "px";
    update(this.body, above, ...shown, below);
  }

  row(place) {
    const row = this.rows[place], key = row && keyOf(row);
    return element("tr", { "data-place": place, "data-key": key, class: key && key === this.at ? "at" : undefined, "aria-rowindex": place + 2 },
                   ...(row ? this.shown.map(column => column.cell(row, this)) : [element("td", { colspan: this.shown.length, class: "dim" }, "…")]));
  }

  share(row, column) {
    const bar = element("i", { class: "bar", "aria-hidden": "true" }), value = row[FIRST_NUMBER + column];
    bar.style.width = BAR * Math.min(1, value / (this.most[column] || 1)) + "px";
    return element("td", { class: "number" }, bar, percent(value / this.total));
  }
}
