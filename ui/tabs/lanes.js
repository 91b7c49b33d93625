// What threads did over time: on a CPU, wanting one, waiting for what.
import { absolute, addFilter, ask, change, chartRange, chooseRange, chosen, declare, replaceFilters, state } from "../state.js";
import { brush, prepare, ticks } from "../chart.js";
import { element, update } from "../element.js";
import { Lanes, title } from "../lanes.js";
import { Queue } from "../queueview.js";
import { hideTip, isMenuOpen, openMenu, showTip } from "../menu.js";
import { moment, precise, tick } from "../time.js";
import { percent, seconds } from "../tree.js";
import { reasonColour, reasonText, reasonWord } from "../waits.js";

const $ = id => document.getElementById(id);
const HEIGHT = 22, FLOOR = 18, BUCKETS_MIN = 60, BUCKETS_MAX = 400, SHOWN = 50, LONGEST = 900, PX = 3, NEAREST = 4;
const QUEUES = ["process", "cpu", "thread", "service", "container", "pod", "host"];
const rows = new Map();
declare({ queue: "process" });
let queue, lanes, types = [], lit = null, question = "";

const swatch = reason => {
  const made = element("i", { class: "swatch" });
  made.style.background = reasonColour(reason);
  return made;
};

// ---- A thread

class Row {
  constructor() {
    this.canvas = element("canvas", { tabindex: 0, role: "application", "aria-roledescription": "lane of a thread", "aria-describedby": "lanes-details" });
    this.name = element("button", { type: "button", onclick: () => this.lane.tid >= 0 && addFilter("tid=" + this.lane.tid) });
    this.note = element("span", { class: "dim" });
    this.figure = element("figure", { class: "thread-lane" }, element("figcaption", {}, this.name, this.note), this.canvas);
    this.bucket = -1;
    this.listen();
  }

  listen() {
    const { canvas } = this, bucketAt = x => Math.min(lanes.count - 1, Math.max(0, Math.floor(x / canvas.clientWidth * lanes.count)));
    const reasonAt = (bucket, y) => this.stack(bucket).find(([, top, bottom]) => y >= top && y < bottom)?.[0] ?? lanes.main(this.lane, bucket);
    brush(canvas, dragged => this.draw(dragged), (from, to) => choose(from, to), (at, y) => this.open(bucketAt(at * canvas.clientWidth), y));
    canvas.addEventListener("pointermove", event => this.point(bucketAt(event.offsetX), event.clientX, event.clientY));
    canvas.addEventListener("pointerleave", () => this.point(-1));
    canvas.addEventListener("contextmenu", event => {
      event.preventDefault();
      this.menu(bucketAt(event.offsetX), reasonAt(bucketAt(event.offsetX), event.offsetY), event.clientX, event.clientY);
    });
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("blur", () => isMenuOpen() || this.point(-1));
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.reasonAt = reasonAt;
  }

  show(lane) {
    this.lane = lane;
    this.bucket = Math.min(this.bucket, lanes.count - 1);
    this.name.textContent = title(lane, lanes.hosts);
    this.name.title = "show this thread alone";
    const told = lanes.sums([lane]), all = told.reduce((sum, [, one]) => sum + one, 0) || 1;
    this.note.textContent = " " + told.slice(0, 4).map(([reason, one]) => `${reasonWord(reason)} ${percent(one / all)}`).join(", ");
    this.canvas.setAttribute("aria-label", `${title(lane, lanes.hosts)}: ${this.note.textContent.trim()}. Arrow keys move, Enter leads to the flame graph of that moment, m says what can be done`);
    this.draw();
  }

  // ---- What the hand does

  open(bucket, y) {
    hideTip();
    lookInto(this.lane, bucket, y === undefined ? lanes.main(this.lane, bucket) : this.reasonAt(bucket, y));
  }

  menu(bucket, reason, x, y) {
    const word = reason === null ? "" : reasonWord(reason), from = lanes.start(bucket);
    hideTip();
    openMenu(`${title(this.lane, lanes.hosts)}${word && ", " + word}`, [["Flame graph of this moment", () => lookInto(this.lane, bucket, reason)],
      ["Flame graph of all that this thread did", () => lookInto(this.lane, -1, null)], null,
      ["Look at this time", () => chooseRange(from - NEAREST * lanes.seconds, from + (NEAREST + 1) * lanes.seconds, { from: absolute(chartRange().from), to: absolute(chartRange().to) })],
      ...(this.lane.tid >= 0 ? [["Only this thread", () => addFilter("tid=" + this.lane.tid)]] : []), ...(this.lane.pid >= 0 ? [["Only this process", () => addFilter("pid=" + this.lane.pid)]] : [])], x, y);
  }

  point(bucket, x, y) {
    this.bucket = bucket;
    this.draw();
    $("lanes-details").textContent = bucket < 0 ? "\u00a0" : this.describe(bucket);
    if (bucket < 0 || isMenuOpen())
      return hideTip();
    const bounds = this.canvas.getBoundingClientRect(), told = lanes.at(this.lane, bucket).sort((a, b) => b[1] - a[1]), known = told.reduce((sum, [, share]) => sum + share, 0);
    showTip(title(this.lane, lanes.hosts), [["at", `${precise(lanes.start(bucket))}, ${seconds(lanes.seconds)}`],
      ...told.map(([reason, share]) => [element("span", {}, swatch(reason), " " + reasonWord(reason)), `${lanes.exact ? "" : "about "}${percent(share)}: ${reasonText(reason)}`]),
      ...(known < 0.98 ? [["not known", percent(1 - known)]] : [])], x ?? bounds.left + (bucket + 0.5) / lanes.count * bounds.width, y ?? bounds.top + HEIGHT);
  }

  describe(bucket) {
    return `${title(this.lane, lanes.hosts)} · ${precise(lanes.start(bucket))} · ` + (lanes.at(this.lane, bucket).sort((a, b) => b[1] - a[1]).map(([reason, share]) => `${reasonWord(reason)} ${percent(share)}`).join(", ") || "nothing is known");
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9 }[event.key], figures = [...$("thread-lanes").querySelectorAll("canvas")];
    const other = figures[figures.indexOf(this.canvas) + ({ ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0)], bounds = this.canvas.getBoundingClientRect();
    if (by)
      this.point(Math.min(lanes.count - 1, Math.max(0, (this.bucket < 0 ? (by > 0 ? -1 : lanes.count) : this.bucket) + by)));
    else if (/^Arrow(Up|Down)$/.test(event.key) && other && other !== this.canvas) {
      const { bucket } = this, row = [...rows.values()].find(one => one.canvas === other);
      other.focus();
      row.point(Math.max(0, bucket));
    } else if (event.key === "Enter" && this.bucket >= 0)
      this.open(this.bucket);
    else if ((event.key === "m" || event.key === "ContextMenu") && this.bucket >= 0)
      this.menu(this.bucket, lanes.main(this.lane, this.bucket), bounds.left + this.bucket / lanes.count * bounds.width, bounds.top + HEIGHT);
    else if (event.key === "Escape" && this.bucket >= 0)
      this.point(-1);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- Drawing

  // [[reason, top, bottom], ...]: from the floor up, what keeps from work first.
  stack(bucket) {
    let bottom = HEIGHT;
    return lanes.at(this.lane, bucket).map(([reason, share]) => {
      const top = Math.max(0, bottom - share * HEIGHT), one = [reason, top, bottom];
      bottom = top;
      return one;
    });
  }

  draw(dragged = null) {
    if (!this.lane || !this.canvas.clientWidth)
      return;
    const { context, width } = prepare(this.canvas), style = getComputedStyle(document.documentElement), wide = width / lanes.count;
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(0, 0, width, HEIGHT);
    for (let i = 0; i < lanes.count; i++)
      for (const [reason, top, bottom] of this.stack(i)) {
        context.globalAlpha = lit === null || lit === reason ? 1 : 0.15;
        context.fillStyle = reasonColour(reason);
        context.fillRect(Math.round(i * wide), top, Math.max(1, Math.round((i + 1) * wide) - Math.round(i * wide)), bottom - top);
      }
    context.globalAlpha = 1;
    if (this.bucket >= 0) {
      context.strokeStyle = style.getPropertyValue("--fg");
      context.lineWidth = 1.5;
      context.strokeRect(this.bucket * wide, 0.75, Math.max(2, wide), HEIGHT - 1.5);
    }
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(dragged[0] * width, 0, (dragged[1] - dragged[0]) * width, HEIGHT);
    }
  }
}

function drawAxis() {
  const canvas = $("lanes-axis");
  if (!lanes || !canvas.clientWidth)
    return;
  const { context, width } = prepare(canvas), length = lanes.to - lanes.from, marks = ticks(lanes.from, lanes.to, Math.max(2, Math.floor(width / 110)));
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--dim");
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const at of marks) {
    const text = tick(at, marks[1] - marks[0], length), half = context.measureText(text).width / 2, x = (at - lanes.from) / length * width;
    context.fillRect(Math.round(x), 0, 1, 4);
    context.fillText(text, Math.min(width - half, Math.max(half, x)), 11);
  }
}

// ---- All of them

function choose(from, to) {
  const at = share => lanes.from + share * (lanes.to - lanes.from), around = chartRange();
  chooseRange(at(from), at(to), { from: absolute(around.from), to: absolute(around.to) });
}

// The stacks of a thread: of what it did in a bucket, or of all of the range.
function lookInto(lane, bucket, reason) {
  const type = lanes.typesOf(reason).find(name => types.some(one => one.type === name));
  const [from, to] = bucket < 0 ? [lanes.from, Math.max(lanes.to, lane.last)] : lanes.moment(lane, bucket, reason ?? "");
  const where = replaceFilters(...(type ? ["type=" + type] : []), ...(lane.tid >= 0 ? ["tid=" + lane.tid] : lane.pid >= 0 ? ["pid=" + lane.pid] : [])).filter(filter => !/^wait(=|!=|~)/.test(filter));
  const isWait = reason !== null && type && type !== "samples" && type !== "cpu";
  change({ view: "flame", from: from.toFixed(3), to: to.toFixed(3), live: "", path: "", where: isWait ? [...where, "wait=" + reason] : where, group: isWait || bucket < 0 ? "wait" : "auto",
           context: `${absolute(chartRange().from).toFixed(3)}~${absolute(chartRange().to).toFixed(3)}` });
}

function light(reason) {
  lit = reason;
  rows.forEach(row => row.draw());
}

// Which is seen among others when the hand is at it; a click is for those who have none: it stays.
let kept = null;

function showLegend() {
  const all = lanes.sums(), total = all.reduce((sum, [, one]) => sum + one, 0) || 1;
  update($("lanes-legend"), ...all.map(([reason, one]) => element("button", { type: "button", "data-key": "r" + reason, title: reasonText(reason), "aria-pressed": String(kept === reason),
    onclick: () => {
      kept = kept === reason ? null : reason;
      light(kept);
      showLegend();
    }, onpointerenter: () => light(reason), onpointerleave: () => light(kept) }, swatch(reason), ` ${reasonWord(reason)} ${percent(one / total)}`)));
}

// Whoever cannot see the picture has its numbers.
function showTable() {
  const all = lanes.sums().map(([reason]) => reason);
  update($("lanes-head"), element("th", { scope: "col" }, "thread"), ...all.map(reason => element("th", { scope: "col", class: "number" }, reasonWord(reason))));
  update($("lanes-rows"), ...lanes.lanes.map(lane => {
    const sums = new Map(lanes.sums([lane]));
    return element("tr", { "data-key": lane.key }, element("th", { scope: "row" }, title(lane, lanes.hosts)), ...all.map(reason => element("td", { class: "number" }, sums.has(reason) ? seconds(sums.get(reason)) : "")));
  }));
}

function showRows() {
  for (const key of [...rows.keys()])
    if (!lanes.lanes.some(lane => lane.key === key))
      rows.delete(key);
  for (const { key } of lanes.lanes)
    rows.has(key) || rows.set(key, new Row());
  const figures = lanes.lanes.map(({ key }) => rows.get(key).figure), holder = $("thread-lanes");
  if (figures.length !== holder.children.length || figures.some((figure, i) => holder.children[i] !== figure))
    holder.replaceChildren(...figures);
  lanes.lanes.forEach(lane => rows.get(lane.key).show(lane));
}

// What is seen, how exact that is, and what is not.
function noteText() {
  const parts = [`${moment(lanes.from, 1)}, ${seconds(lanes.to - lanes.from)}: ` + (lanes.threads > lanes.lanes.length ?
    `the ${lanes.lanes.length} of ${lanes.threads.toLocaleString()} threads that ran or wanted to run for longest` : `${lanes.threads.toLocaleString()} ${lanes.threads === 1 ? "thread" : "threads"}`)];
  if (absolute(state.to) - absolute(state.from) > LONGEST + 1)
    parts.push("the last 15 minutes of the range");
  parts.push(lanes.exact ? "each switch is known" : lanes.source.length === 1 && lanes.source[0] !== "wall" ?
    "only CPU time is sampled: what threads do when they do not run is not known (kinds: [cpu, off_cpu] of the receiver profiling)" : "times add up, moments are about right: waits are samples");
  return parts.join("; ") + ".";
}

function showProcesses(processes) {
  const pid = state.where.find(filter => filter.startsWith("pid="))?.slice(4) ?? "";
  update($("lanes-process"), element("option", { value: "" }, "all processes"), ...processes.map(([value, name]) => element("option", { value }, `${name} (${value})`)));
  $("lanes-process").value = processes.some(([value]) => value === pid) ? pid : "";
}

// Of the threads that are seen, and the one that was chosen.
function processesOf() {
  return [...new Map(lanes.lanes.filter(({ pid }) => pid >= 0).map(({ pid, process }) => [String(pid), process || "?"]))].sort((a, b) => a[1] < b[1] ? -1 : 1);
}

// Only who knows each switch knows how long a wait was: what a sample weighs is something else.
function showQueue(answer) {
  $("queue-known").hidden = !answer.queue;
  $("queue-unknown").hidden = Boolean(answer.queue) || !lanes.lanes.length;
  $("queue-by").value = state.queue;
  if (answer.queue)
    queue.show(answer.queue, lanes);
}

const isHeld = () => [...rows.values()].some(row => row.bucket >= 0);

async function load() {
  const width = $("thread-lanes").clientWidth || innerWidth, buckets = Math.min(BUCKETS_MAX, Math.max(BUCKETS_MIN, Math.floor(width / PX))), query = chosen({ buckets, max: SHOWN, queue: QUEUES.includes(state.queue) ? state.queue : QUEUES[0] });
  // Under a hand nothing moves.
  if (lanes && question === String(query) && isHeld())
    return;
  const [answer, found] = await Promise.all([ask("lanes", query), ask("types", chosen(), "lanes-types")]);
  if (lanes && question === String(query) && isHeld())
    return;
  question = String(query);
  lanes = new Lanes(answer);
  types = found;
  const isEmpty = !lanes.lanes.length;
  $("lanes-empty").hidden = !isEmpty;
  for (const id of ["queue", "thread-lanes", "lanes-legend", "lanes-axis", "lanes-table", "lanes-details"])
    $(id).hidden = isEmpty;
  $("lanes-note").textContent = isEmpty ? "" : noteText();
  showProcesses(processesOf());
  showLegend();
  showRows();
  showTable();
  showQueue(answer);
  drawAxis();
}

export default {
  start() {
    $("lanes-process").addEventListener("change", () => {
      const pid = $("lanes-process").value, others = state.where.filter(filter => !/^(pid|tid)=/.test(filter));
      change({ where: pid ? [...others, "pid=" + pid] : others, path: "" });
    });
    $("queue-by").append(...QUEUES.map(value => element("option", { value }, value)));
    $("queue-by").addEventListener("change", () => change({ queue: $("queue-by").value }));
    queue = new Queue($("queue-known"), (from, to) => chooseRange(from, to, { from: absolute(chartRange().from), to: absolute(chartRange().to) }), (label, value) => addFilter(`${label}=${value}`));
    new ResizeObserver(drawAxis).observe($("lanes-axis"));
  },
  load,
  restyle() {
    rows.forEach(row => row.draw());
    queue.draw();
    if (lanes)
      drawAxis();
  },
  picture: () => [...rows.values()][0]?.canvas,
  help: [["← → ↑ ↓", "in the lanes of threads: in time, and to another thread; Enter leads to the flame graph of that moment, m says what can be done"]],
  html: `
    <div class="tools"><label><span>Process</span> <select id="lanes-process"></select></label><span class="grow"></span><span id="lanes-legend" class="legend" role="group" aria-label="what threads do; click to see only that"></span></div>
    <p id="lanes-note" class="note wrap"></p>
    <p id="lanes-empty" class="empty" hidden>Nothing is known of threads in this range: what is left of it may be sums. Drag in the chart above to choose a later one.</p>
    <div class="scroll" id="lanes-box"><canvas id="lanes-axis" height="18" aria-hidden="true"></canvas><div id="thread-lanes"></div>
      <details id="lanes-table"><summary>As a table</summary><div class="lanes-wide"><table><thead><tr id="lanes-head"></tr></thead><tbody id="lanes-rows"></tbody></table></div></details>
      <section id="queue"><div class="tools"><h2>Wanting a CPU</h2><label><span>by</span> <select id="queue-by"></select></label></div><p id="queue-unknown" class="note wrap" hidden>How long each wait for a CPU
      was is known where each switch is: <code>kinds: [cpu, lanes]</code> of the receiver profiling, or <code>wick record -e lanes</code>, of chosen processes. Above are shares of the time.</p><div id="queue-known" hidden></div></section></div>
    <p id="lanes-details" class="note" aria-live="polite">&nbsp;</p>`,
  css: `
.thread-lane { margin: 0 0 .3rem; } .thread-lane canvas { width: 100%; height: ${HEIGHT}px; display: block; cursor: crosshair; touch-action: pan-y; outline-offset: -2px; }
.thread-lane figcaption { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .thread-lane figcaption button { border: 0; background: none; padding: 0; min-height: 0; color: var(--accent); font-weight: 600; }
#lanes-axis { width: 100%; height: ${FLOOR}px; display: block; position: sticky; top: 0; background: var(--bg); z-index: 1; } #lanes-process { max-width: min(60vw, 24rem); }
#lanes-legend button[aria-pressed=true] { color: var(--fg); text-decoration: underline; } .lanes-wide { overflow-x: auto; } #queue canvas { width: 100%; height: 200px; display: block; cursor: crosshair; image-rendering: pixelated; touch-action: pan-y; } #queue th button { border: 0; background: none; padding: 0; min-height: 0; color: var(--accent); }
#queue tbody th, #lanes-rows th { font-weight: 400; background: none; position: static; }`,
};
