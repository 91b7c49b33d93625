// How long threads wanted a CPU, each time: a heat map, and a table by label.
import { element, update } from "./element.js";
import { HeatMap } from "./heatmap.js";
import { length, MARKS, place, sentence } from "./queue.js";
import { seconds } from "./tree.js";

export class Queue {
  // choose(from, to) of what was dragged over; open(label, value) of a row of the table.
  constructor(root, choose, open) {
    Object.assign(this, { root, open });
    this.note = element("p", { class: "note wrap" });
    this.canvas = element("canvas", { role: "img" });
    this.head = element("tr");
    this.rows = element("tbody");
    root.append(this.note, this.canvas, element("div", { class: "lanes-wide" }, element("table", {}, element("thead", {}, this.head), this.rows)));
    this.map = new HeatMap(this.canvas, choose);
  }

  show(queue, { from, to, count }) {
    this.note.textContent = sentence(queue);
    this.canvas.setAttribute("aria-label", "how often threads waited for a CPU, by time and by how long. " + this.note.textContent);
    this.map.show({ from, to, columns: count, rows: queue.rows, cells: queue.cells, marks: MARKS.map(([us, text]) => [place(us, queue.rows), text]) });
    update(this.head, ...[queue.by, "waits", "in all", "half below", "99 % below", "longest"].map((text, i) => element("th", { scope: "col", class: i ? "number" : "" }, text)));
    update(this.rows, ...queue.groups.map(group => element("tr", { "data-key": group.name }, element("th", { scope: "row" },
      element("button", { type: "button", title: "show this alone", onclick: () => this.open(queue.by, group.name) }, group.name || "(none)")),
      ...[group.waits.toLocaleString(), seconds(group.sum / 1e6), length(group.median), length(group.p99), length(group.longest)].map(text => element("td", { class: "number" }, text)))));
  }

  draw() {
    this.map.draw();
  }
}
