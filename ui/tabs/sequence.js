// A flame chart: the samples of a short range in the order of their times, thread by thread.
import { absolute, ask, change, chartRange, chooseRange, selection, state } from "../state.js";
import { brush, niceStep, prepare } from "../chart.js";
import { INK, frameColours } from "../colours.js";
import { element, update } from "../element.js";
import { fitting } from "../flame.js";
import { functionItems } from "../flameview.js";
import { baseName } from "../match.js";
import { hideTip, isMenuOpen, openMenu, showTip } from "../menu.js";
import { Sequence, firstAfter, step } from "../sequence.js";
import { moment, precise } from "../time.js";
import { seconds } from "../tree.js";

const $ = id => document.getElementById(id);
const ROW = 17, FLOOR = 18, TEXT_FROM = 24, NEAR_PX = 2, LANES = 6, LISTED = 300, LONGEST = 10, SHORTEST = 0.002;
const lanes = new Map();
let sequence, fills, question;

const title = ({ host, process, pid, thread, tid }) => [process === thread || tid === pid ? thread : `${process}, thread ${thread}`, tid >= 0 ? tid : pid, sequence.hosts > 1 && host].filter(part => part !== false && part !== -1).join(" · ");
const lasting = microseconds => seconds(microseconds / 1e6);

// ---- A thread

class Lane {
  constructor() {
    this.canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "flame chart" });
    this.name = element("button", { type: "button", onclick: () => change({ lane: state.lane ? "" : this.lane.key }) });
    this.note = element("span", { class: "dim" });
    this.figure = element("figure", { class: "lane" }, element("figcaption", {}, this.name, this.note), this.canvas);
    Object.assign(this, { chosen: null, hovered: null });
    this.listen();
  }

  listen() {
    const { canvas } = this;
    brush(canvas, dragged => this.draw(dragged), (from, to) => this.zoom(from * sequence.length, to * sequence.length), (at, y) => this.zoomTo(this.boxAt(at * canvas.clientWidth, y)));
    canvas.addEventListener("pointermove", event => this.point(this.boxAt(event.offsetX, event.offsetY), event.clientX, event.clientY));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("contextmenu", event => {
      const box = this.boxAt(event.offsetX, event.offsetY);
      event.preventDefault();
      if (box)
        this.menu(box, event.clientX, event.clientY);
    });
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("blur", () => isMenuOpen() || this.choose(null));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  show(lane) {
    const rows = sequence.rowsOf(lane);
    Object.assign(this, { lane, rows, chosen: null, hovered: null });
    this.name.textContent = title(lane);
    this.name.setAttribute("aria-pressed", String(state.lane === lane.key));
    this.name.title = state.lane ? "show the other threads, too" : "show this thread alone";
    this.note.textContent = ` ${lane.samples.toLocaleString()} ${lane.samples === 1 ? "sample" : "samples"}`;
    this.canvas.style.height = rows.length * ROW + FLOOR + "px";
    this.canvas.setAttribute("aria-label", `${title(lane)} over time: arrow keys move, Enter looks at that time`);
    this.draw();
  }

  get scale() {
    return this.canvas.clientWidth / sequence.length;
  }

  boxAt(x, y) {
    const row = this.rows[Math.floor(y / ROW)] ?? [], slack = NEAR_PX / this.scale, box = row[firstAfter(row, x / this.scale - slack)];
    return box && box.start <= x / this.scale + slack ? box : null;
  }

  // ---- What the hand does

  zoom(from, to) {
    const half = Math.max(to - from, SHORTEST * 1e6) / 2e6, middle = sequence.from + (from + to) / 2e6, around = chartRange();
    chooseRange(middle - half, middle + half, { from: absolute(around.from), to: absolute(around.to) });
  }

  zoomTo(box) {
    hideTip();
    if (box)
      this.zoom(Math.max(0, box.start), Math.min(sequence.length, box.end));
  }

  point(box, x, y) {
    if (box !== this.hovered) {
      this.hovered = box;
      this.draw();
    }
    this.tell(box, x, y);
  }

  tell(box, x, y) {
    const { tree } = sequence;
    $("sequence-details").textContent = box ? this.describe(box) : "\u00a0";
    if (!box || isMenuOpen())
      return hideTip();
    const file = tree.file(box.node), line = tree.line(box.node);
    showTip(tree.name(box.node), [["at", this.when(box)], ["for", this.howLong(box)], ["kind", tree.kind(box.node)], ["source", file && file + (line ? ":" + line : "")],
                                  ["file", tree.executable(box.node)], ["thread", title(this.lane)]], x, y);
  }

  when(box) {
    return `${precise(sequence.from + Math.max(0, box.start) / 1e6)}, ${lasting(Math.max(0, box.start))} after the start`;
  }

  howLong(box) {
    return (box.end > box.start ? `about ${lasting(box.end - box.start)}, ` : "") + `${box.samples} ${box.samples === 1 ? "sample" : "samples"}`;
  }

  describe(box) {
    return [sequence.tree.name(box.node), this.howLong(box), `${lasting(Math.max(0, box.start))} after the start`, baseName(sequence.tree.home(box.node))].filter(Boolean).join(" · ");
  }

  menu(box, x, y) {
    const { tree } = sequence;
    hideTip();
    openMenu(tree.name(box.node), [["Look at this time", () => this.zoomTo(box)], ["Flame graph of this time", () => this.flameOf(box)], null, ...functionItems(tree.name(box.node), tree.home(box.node))], x, y);
  }

  flameOf(box) {
    const at = time => (sequence.from + time / 1e6).toFixed(3);
    change({ view: "flame", from: at(Math.max(0, box.start)), to: at(Math.max(box.end, box.start + SHORTEST * 1e6)), live: "", context: "", path: "",
             where: [...state.where.filter(filter => !/^(tid|pid)=/.test(filter)), ...(this.lane.tid >= 0 ? ["tid=" + this.lane.tid] : this.lane.pid >= 0 ? ["pid=" + this.lane.pid] : [])] });
  }

  choose(box) {
    this.chosen = box;
    this.draw();
    if (!box)
      return this.tell(null);
    const bounds = this.canvas.getBoundingClientRect();
    this.tell(box, bounds.left + Math.max(0, box.start * this.scale), bounds.top + box.level * ROW + ROW);
  }

  key(event) {
    const first = this.rows[0]?.[0];
    if (/^(Arrow|Home|End)/.test(event.key) && first)
      this.choose(this.chosen ? step(this.rows, this.chosen, event.key) : first);
    else if (event.key === "Enter" && this.chosen)
      this.zoomTo(this.chosen);
    else if ((event.key === "ContextMenu" || event.key === "m") && this.chosen)
      this.menu(this.chosen, this.canvas.getBoundingClientRect().left + Math.max(0, this.chosen.start * this.scale), this.canvas.getBoundingClientRect().top + this.chosen.level * ROW);
    else if (event.key === "Escape" && this.chosen)
      this.choose(null);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- Drawing

  draw(dragged = null) {
    if (!this.lane || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(0, 0, width, height - FLOOR);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.rows.forEach((row, level) => this.drawRow(context, row, level * ROW, width));
    this.axis(context, width, height, style);
    context.strokeStyle = style.getPropertyValue("--fg");
    for (const [box, line] of [[this.hovered, 1.5], [this.chosen, 2]]) {
      context.lineWidth = line;
      if (box)
        context.strokeRect(Math.max(0, box.start * this.scale) + 0.5, box.level * ROW + 0.5, Math.max(1, box.end * this.scale - Math.max(0, box.start * this.scale) - 1), ROW - 2);
    }
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(dragged[0] * width, 0, (dragged[1] - dragged[0]) * width, height - FLOOR);
    }
  }

  drawRow(context, row, y, width) {
    const { tree } = sequence;
    let drawn = -1;
    for (const box of row) {
      const left = Math.max(0, box.start * this.scale), right = Math.min(width, box.end * this.scale);
      // Of what is narrower than a pixel the first is seen.
      if (right < drawn || left > width)
        continue;
      context.fillStyle = fills[tree.frame[box.node]];
      context.fillRect(left, y, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), ROW - 1);
      drawn = Math.max(left + 1, right);
      if (right - left >= TEXT_FROM) {
        context.fillStyle = INK;
        context.fillText(fitting(context, tree.name(box.node), right - left - 7), left + 4, y + ROW / 2);
      }
    }
  }

  axis(context, width, height, style) {
    const every = niceStep(sequence.length, Math.max(2, Math.floor(width / 110))), floor = height - FLOOR;
    context.fillStyle = style.getPropertyValue("--dim");
    context.font = "11px system-ui, sans-serif";
    for (let at = 0; at <= sequence.length; at += every) {
      const text = at ? lasting(at) : "0", x = at * this.scale, half = context.measureText(text).width / 2;
      context.fillRect(Math.round(x), floor, 1, 4);
      context.textAlign = "center";
      context.fillText(text, Math.min(width - half, Math.max(half, x)), floor + 11);
    }
    context.textAlign = "left";
  }
}

// ---- All of them

// Under a hand nothing moves.
const isHeld = () => [...lanes.values()].some(lane => lane.hovered || lane.chosen);

function showLanes() {
  const chosen = sequence.lanes.filter(lane => lane.key === state.lane), shown = chosen.length ? chosen : sequence.lanes.slice(0, LANES);
  for (const key of [...lanes.keys()])
    if (!shown.some(lane => lane.key === key))
      lanes.delete(key);
  for (const lane of shown)
    lanes.has(lane.key) || lanes.set(lane.key, new Lane());
  const figures = shown.map(lane => lanes.get(lane.key).figure);
  if (figures.some((figure, i) => $("lanes").children[i] !== figure) || figures.length !== $("lanes").children.length)
    $("lanes").replaceChildren(...figures);
  shown.forEach(lane => lanes.get(lane.key).show(lane));
  update($("lane"), element("option", { value: "" }, `the ${Math.min(LANES, sequence.lanes.length)} with the most samples`),
         ...sequence.lanes.slice(0, LISTED).map(lane => element("option", { value: lane.key }, `${title(lane)} (${lane.samples})`)));
  $("lane").value = chosen.length ? state.lane : "";
}

// What is seen, how exact that is, and what is not.
function noteText() {
  const { lanes: all, from, to, length, leftOut, period } = sequence, range = Number(state.to) - Number(state.from);
  const parts = [`${moment(from, 1)}, ${lasting(length)}: ${(sequence.samples - leftOut).toLocaleString()} samples of ${all.length.toLocaleString()} ${all.length === 1 ? "thread" : "threads"}`];
  if (!(range <= LONGEST + 0.001))
    parts.push(`the last ${Math.round(to - from)} s of the range: drag in the chart above for others`);
  if (leftOut)
    parts.push(`${leftOut.toLocaleString()} earlier samples are left out: choose a shorter range`);
  parts.push(period ? `a sample stands for the ${lasting(period)} before it, and what happens in between is not seen` : "how long a sample stands for is not known");
  return parts.join("; ") + ".";
}

function showEmpty() {
  const isEmpty = !sequence.lanes.length;
  $("sequence-empty").hidden = !isEmpty;
  $("sequence-empty").textContent = !isEmpty ? "" : sequence.untimed ?
    "What is left of this range are sums, which do not say when each sample was taken. Choose a later range, or one with fewer samples." :
    "Nothing was sampled in the last minute of this range. Drag in the chart above to choose a moment with samples.";
  for (const id of ["lanes", "sequence-tools", "sequence-details"])
    $(id).hidden = isEmpty;
  $("sequence-note").textContent = isEmpty ? "" : noteText();
}

async function load() {
  const query = selection({ seconds: LONGEST });
  if (sequence && question === String(query) && isHeld())
    return;
  const answer = await ask("sequence", query);
  if (sequence && question === String(query) && isHeld())
    return;
  question = String(query);
  sequence = new Sequence(answer);
  sequence.hosts = new Set(sequence.lanes.map(lane => lane.host)).size;
  const { tree } = sequence;
  fills = frameColours(tree, "kind", i => baseName(tree.executables[tree.frames.executable[i]][0] || tree.files[tree.frames.file[i]]));
  showEmpty();
  showLanes();
}

export default {
  address: { lane: "" },
  load,
  changed: changes => Object.keys(changes).every(key => key === "lane") && sequence && (showLanes(), true),
  restyle: () => lanes.forEach(lane => lane.draw()),
  picture: () => [...lanes.values()][0]?.canvas,
  help: [["← → ↑ ↓", "in the flame chart: from box to box; Enter looks at that time, m says what can be done"]],
  html: `
    <div class="tools" id="sequence-tools"><label><span>Threads</span> <select id="lane" name="lane"></select></label></div>
    <p id="sequence-note" class="note wrap"></p>
    <p id="sequence-empty" class="empty" hidden></p>
    <div class="scroll" id="lanes"></div>
    <p id="sequence-details" class="note"></p>`,
  css: `
.lane { margin: 0 0 .5rem; } .lane canvas { width: 100%; display: block; cursor: crosshair; touch-action: pan-y; outline-offset: -2px; }
.lane figcaption { position: sticky; top: 0; background: var(--bg); z-index: 1; } .lane figcaption button { border: 0; background: none; padding: 0; min-height: 0; color: var(--accent); font-weight: 600; max-width: 80%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
#lane { max-width: min(60vw, 30rem); }`,
};
