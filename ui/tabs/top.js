// All functions as a table.
import { ask, change, lookAt, selection, state } from "../state.js";
import { copy, tableText } from "../copy.js";
import { FunctionTable, columns, home } from "../functions.js";

// As many as are ever copied, in words of a table.
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
    table = new FunctionTable(root.querySelector("#top-rows"), "top", ["self", "total", "name", "file", "kind", "source"].map(name => columns[name]), {
      query: (first, rows) => selection({ part: state.part, order: state.order, first, rows }),
      order: order => change({ order }),
      sorted: () => state.order,
      choose: row => lookAt(row[0], home(row)),
      told: ({ count }) => root.querySelector("#top-count").textContent = `${count.toLocaleString()} functions`,
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
};
