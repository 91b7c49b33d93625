// Texts for the clipboard, and short words about what was done.
import { element } from "./element.js";

const SHOWN_MS = 2500;
let timer = 0;

export function toast(text) {
  const box = document.getElementById("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => box.hidden = true, SHOWN_MS);
}

// Pages that come by plain http have no clipboard but the old one.
function copyTheOldWay(text) {
  const before = document.activeElement, area = element("textarea", { class: "offscreen", readonly: true, "aria-hidden": "true" }, text);
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus?.();
  return isDone;
}

export async function copy(text, what = "Copied") {
  const isDone = await (navigator.clipboard?.writeText(text).then(() => true, () => false) ?? false) || copyTheOldWay(text);
  toast(isDone ? what : "The browser does not let this page copy.");
}

const quoted = cell => /[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
const ways = { csv: cells => cells.map(quoted).join(","), markdown: cells => `| ${cells.map(cell => cell.replaceAll("|", "\\|")).join(" | ")} |`, text: cells => cells.join("\t") };

// Rows of cells, the first of which says what they are.
export function tableText([heads, ...rows], form) {
  const line = cells => ways[form](cells.map(String)), ruler = form === "markdown" ? [`|${heads.map(() => "---").join("|")}|`] : [];
  return [line(heads), ...ruler, ...rows.map(line)].join("\n") + "\n";
}
