// The chart of what was sampled over time, and what charts share: a range is chosen by dragging.
import { element, update } from "./element.js";
import { hideTip, showTip } from "./menu.js";
import { moment, tick } from "./time.js";
import { rate, seconds, values } from "./tree.js";
import { reasonColour, reasonText, reasonWord } from "./waits.js";

export const colours = ["#e8590c", "#f2b84b", "#22b8cf", "#69c36d", "#6d9eeb", "#b487c9", "#e5738a", "#7bbfb5", "#b4d455", "#c6a5e0", "#c98f5b"];

export const OTHER = "(other)", OTHER_COLOUR = "#9aa0a8", LEFT = 56, FLOOR = 18, TOLD_MAX = 8, STEPS = [1, 2, 5, 10, 15, 30];

const MARK_HEIGHT = 12, NEAR_PX = 7;
const noteColours = { deploy: "#2b8a3e", restart: "#1971c2", oom: "#c92a2a", incident: "#c92a2a", config: "#7048e8" };
export const noteColour = kind => noteColours[kind] ?? "#5c5f66";

// What has a colour keeps it, whatever comes and goes; what is new, or comes back to find its own taken, gets one that nothing else here has.
export class LineColours {
  given = new Map();
  shown = new Set();

  of(names) {
    const taken = new Set();
    for (const name of [...names.filter(one => this.shown.has(one)), ...names.filter(one => !this.shown.has(one))]) {
      this.given.set(name, this.free(name, taken));
      taken.add(this.given.get(name));
    }
    this.shown = new Set(names);
    return names.map(name => this.given.get(name));
  }

  free(name, taken) {
    const own = this.given.get(name), first = [...name].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)) % 9973, 7);
    if (name === OTHER || (own && !taken.has(own)))
      return own ?? OTHER_COLOUR;
    return colours.map((_, i) => colours[(first + i) % colours.length]).find(colour => !taken.has(colour)) ?? colours[first % colours.length];
  }
}

// Round times, not more of them than there is room for.
export function ticks(from, to, most) {
  const scale = [1, 60, 3600, 86400].flatMap(unit => STEPS.filter(step => unit < 3600 || step < 15).map(step => unit * step));
  const length = to - from, step = [0.1, 0.2, 0.5, ...scale].find(width => length / width <= most) ?? Math.ceil(length / most / 86400) * 86400;
  const zone = new Date(from * 1000).getTimezoneOffset() * 60, found = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step)
    found.push(at);
  return found;
}

// One, two or five times a power of ten.
export function niceStep(top, count) {
  const power = 10 ** Math.floor(Math.log10(top / count)), share = top / count / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

export function prepare(canvas) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return { context, width, height };
}

// Calls done(from, to) with shares of the width behind `left`; a click without a drag calls click(at, y).
export function brush(canvas, redraw, done, click, left = 0) {
  let start = null;
  const share = event => Math.min(1, Math.max(0, (event.offsetX - left) / (canvas.clientWidth - left)));
  canvas.addEventListener("pointerdown", event => {
    if (event.button)
      return;
    start = share(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (start !== null)
      redraw([Math.min(start, share(event)), Math.max(start, share(event))]);
  });
  canvas.addEventListener("pointerup", event => {
    if (start === null)
      return;
    const from = Math.min(start, share(event)), to = Math.max(start, share(event));
    start = null;
    redraw(null);
    if (to - from > 0.004)
      done(from, to);
    else
      click?.(to, event.offsetY);
  });
}

export class Chart {
  // events: choose(from, to), filter(name); if wanted menu(time, notes, place): what is said of a moment
  constructor(canvas, note, legend, events) {
    Object.assign(this, { canvas, note, legend, events, data: null, at: -1, pointer: null, lit: null, notes: [], colours: new LineColours() });
    brush(canvas, dragged => this.draw(dragged), (from, to) => events.choose(this.time(from), this.time(to), this.data),
          (at, y) => y < MARK_HEIGHT && this.notesAt(at).length ? this.menu(at) : this.choose(this.bucket(at)), LEFT);
    if (events.menu)
      canvas.addEventListener("contextmenu", event => {
        event.preventDefault();
        this.menu(Math.max(0, (event.offsetX - LEFT) / (canvas.clientWidth - LEFT)));
      });
    canvas.addEventListener("pointermove", event => {
      this.pointer = { x: event.clientX, y: event.clientY };
      this.point(this.bucket((event.offsetX - LEFT) / (canvas.clientWidth - LEFT)));
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.point(-1);
    });
    canvas.addEventListener("blur", () => this.pointer || this.point(-1));
    canvas.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  time(share) {
    return this.data.from + share * (this.data.to - this.data.from);
  }

  get count() {
    return this.data?.lines[0]?.values.length ?? 0;
  }

  bucket(share) {
    return this.count && share >= 0 ? Math.min(this.count - 1, Math.floor(share * this.count)) : -1;
  }

  // Those that a share of the width is at, nearest first.
  notesAt(share) {
    const near = NEAR_PX / Math.max(1, this.canvas.clientWidth - LEFT), place = note => this.share(note.time);
    const far = note => note.end && share >= place(note) && share <= this.share(note.end) ? near / 2 : Math.abs(place(note) - share);
    return this.notes.filter(note => far(note) <= near).sort((a, b) => far(a) - far(b));
  }

  share(time) {
    return (time - this.data.from) / (this.data.to - this.data.from);
  }

  menu(at) {
    const notes = this.notesAt(at), bounds = this.canvas.getBoundingClientRect(), x = this.pointer?.x ?? bounds.left + LEFT + at * (bounds.width - LEFT);
    hideTip();
    this.events.menu?.(notes[0]?.time ?? this.time(at), notes, { x, y: this.pointer?.y ?? bounds.top + 20 });
  }

  // chosen: the range that everything else shows, which may be a part of it. notes: what is said of moments.
  show(data, chosen, notes = []) {
    const isHere = this.at >= 0 && this.data;
    Object.assign(this, { data, chosen, notes, lines: [...data.lines].sort((a, b) => (a.name === OTHER) - (b.name === OTHER) || (a.name < b.name ? -1 : 1)) });
    this.isByReason = data.by === "wait";
    this.fills = this.isByReason ? this.lines.map(line => reasonColour(line.name)) : this.colours.of(this.lines.map(line => line.name));
    this.sums = new Float64Array(this.count);
    for (const line of data.lines)
      line.values.forEach((value, i) => this.sums[i] += value);
    this.showLegend();
    this.note.textContent = this.noteText();
    if (isHere)
      this.point(Math.min(this.at, this.count - 1));
    else
      this.draw();
  }

  // What was used while somebody looked.
  noteText() {
    const watched = this.data.watched ?? Array.from(this.sums, sum => sum > 0 ? 1 : 0), count = watched.reduce((sum, one) => sum + one, 0);
    if (!this.count || !count)
      return "nothing was sampled in this range";
    const mean = this.sums.reduce((a, b) => a + b, 0) / count, most = this.sums.reduce((a, b) => Math.max(a, b), 0), length = this.data.to - this.data.from;
    const known = count / this.count * length;
    return `${rate(mean)} on average, ${rate(most)} at most` + (this.data.narrowed ? ", only stacks that are shown" : "") + (known < 0.9 * length ? `; ${seconds(known)} of ${seconds(length)} were watched` : "") + this.notesText();
  }

  notesText() {
    const count = this.notes.length, titles = this.notes.slice(0, 3).map(note => note.title).join(", ");
    return count ? `; ${count === 1 ? "annotated" : count + " annotations"}: ${titles}${count > 3 ? ", …" : ""}` : "";
  }

  // Largest first, as they come.
  showLegend() {
    const total = this.sums.reduce((a, b) => a + b, 0) || 1, share = line => line.values.reduce((a, b) => a + b, 0) / total;
    update(this.legend, ...this.data.lines.map(line => {
      const swatch = element("i", { class: "swatch" }), name = this.nameOf(line);
      swatch.style.background = this.fills[this.lines.indexOf(line)];
      return element("button", { type: "button", "data-key": name, title: `${this.isByReason ? reasonText(line.name) : name}: ${(100 * share(line)).toFixed(1)} %. Click: only this; with Shift: without it`,
                                 disabled: line.name === OTHER || (!line.name && !this.isByReason), onclick: event => this.events.filter(line.name, event.shiftKey), onpointerenter: () => this.light(line.name), onpointerleave: () => this.light(null) },
                     swatch, element("span", {}, name));
    }));
  }

  nameOf(line) {
    return this.isByReason ? reasonWord(line.name) : line.name || "(none)";
  }

  light(name) {
    this.lit = name;
    this.draw();
  }

  point(at) {
    this.at = at;
    this.draw();
    if (at < 0 || !this.data)
      return hideTip();
    const width = (this.data.to - this.data.from) / this.count, from = this.data.from + at * width, bounds = this.canvas.getBoundingClientRect();
    const rows = this.lines.map((line, i) => [line, this.fills[i]]).filter(([line]) => line.values[at] > 0).sort((a, b) => b[0].values[at] - a[0].values[at]);
    const told = rows.slice(0, TOLD_MAX).map(([line, fill]) => [this.label(this.nameOf(line), fill), rate(line.values[at])]);
    const place = this.pointer ?? { x: bounds.left + LEFT + (at + 0.5) / this.count * (bounds.width - LEFT), y: bounds.top + 20 };
    showTip(`${moment(from, width * 10)} – ${moment(from + width, width * 10)}`,
            [...this.notesRows(at), ["all", rate(this.sums[at])], ...told, ...(rows.length > TOLD_MAX ? [["…", `${rows.length - TOLD_MAX} more`]] : []),
             ...(this.data.watched && !this.data.watched[at] ? [["", "nobody sampled then"]] : [])], place.x, place.y);
  }

  // What is said where the pointer is, or in a bucket.
  notesRows(at) {
    const bounds = this.canvas.getBoundingClientRect(), share = this.pointer ? (this.pointer.x - bounds.left - LEFT) / (bounds.width - LEFT) : (at + 0.5) / this.count;
    const here = this.notesAt(share);
    return [...here.slice(0, 4).flatMap(note => [[this.label(note.kind, noteColour(note.kind)), [note.title, moment(note.time, 60), note.service, note.host].filter(Boolean).join(" · ")], ["", note.text]]),
            ...(here.length > 4 ? [["…", `${here.length - 4} more`]] : [])];
  }

  label(text, fill) {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = fill;
    return element("span", {}, swatch, " " + text);
  }

  choose(at) {
    if (at >= 0)
      this.events.choose(this.time(Math.max(0, at - 2) / this.count), this.time(Math.min(this.count, at + 3) / this.count), this.data);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9 }[event.key];
    if (step && this.count)
      this.point(Math.min(this.count - 1, Math.max(0, (this.at < 0 ? (step > 0 ? -1 : this.count) : this.at) + step)));
    else if (event.key === "Enter" && this.at >= 0)
      this.choose(this.at);
    else if (event.key === "Escape" && this.at >= 0)
      this.point(-1);
    else if (event.key === "a" && this.at >= 0 && this.events.menu)
      this.menu((this.at + 0.5) / this.count);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw(dragged = null) {
    if (!this.data || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement), count = this.count;
    const most = this.sums.reduce((a, b) => Math.max(a, b), values.sum === "nanoseconds" ? 0.05 : 1e-9), floor = height - FLOOR, wide = width - LEFT;
    const top = most * 1.06, y = value => floor - value / top * (floor - 4), x = share => LEFT + share * wide;
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(LEFT, 0, wide, floor);
    this.drawUnwatched(context, x, floor, style);
    this.drawLines(context, x, y, count);
    this.axes(context, { x, y, top: most, width, height, floor }, style);
    this.drawNotes(context, x, floor, style);
    this.drawChosen(context, x, floor, wide, style);
    if (this.at >= 0) {
      context.fillStyle = style.getPropertyValue("--fg");
      context.globalAlpha = 0.25;
      context.fillRect(x(this.at / count), 0, Math.max(1, wide / count), floor);
      context.globalAlpha = 1;
    }
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(x(dragged[0]), 0, (dragged[1] - dragged[0]) * wide, floor);
    }
  }

  drawLines(context, x, y, count) {
    const base = new Float64Array(count), wide = x(1 / (count || 1)) - x(0);
    this.lines.forEach((line, n) => {
      context.fillStyle = this.fills[n];
      context.globalAlpha = this.lit === null || this.lit === line.name ? 1 : 0.25;
      line.values.forEach((value, i) => {
        if (!value)
          return;
        const above = y(base[i] + value);
        context.fillRect(x(i / count), above, Math.max(1, wide + 0.3), y(base[i]) - above);
        base[i] += value;
      });
    });
    context.globalAlpha = 1;
  }

  // A line with a flag each; what lasted is shaded.
  drawNotes(context, x, floor, style) {
    for (const { time, end, kind } of this.notes) {
      const left = Math.round(x(Math.max(0, this.share(time)))), isHere = this.share(time) >= 0;
      context.fillStyle = noteColour(kind);
      if (end) {
        context.globalAlpha = 0.16;
        context.fillRect(left, 0, x(Math.min(1, this.share(end))) - left, floor);
        context.globalAlpha = 1;
      }
      if (!isHere)
        continue;
      context.fillRect(left, 0, 1.5, floor);
      context.beginPath();
      context.moveTo(left, 0);
      context.lineTo(left + 9, 4.5);
      context.lineTo(left, 9);
      context.fill();
      context.strokeStyle = style.getPropertyValue("--bg");
      context.lineWidth = 1;
      context.stroke();
    }
  }

  // Where nobody sampled, nothing is known: hatched.
  drawUnwatched(context, x, floor, style) {
    const watched = this.data.watched ?? [];
    context.fillStyle = style.getPropertyValue("--line");
    context.globalAlpha = 0.35;
    watched.forEach((isWatched, i) => isWatched || context.fillRect(x(i / watched.length), 0, x(1 / watched.length) - x(0) + 0.3, floor));
    context.globalAlpha = 1;
  }

  // What is around the range that is looked at is dimmed.
  drawChosen(context, x, floor, wide, style) {
    const share = time => Math.min(1, Math.max(0, (time - this.data.from) / (this.data.to - this.data.from)));
    const [from, to] = (this.chosen ?? [this.data.from, this.data.to]).map(share);
    if (to - from > 0.995)
      return;
    context.fillStyle = style.getPropertyValue("--bg");
    context.globalAlpha = 0.65;
    context.fillRect(x(0), 0, from * wide, floor);
    context.fillRect(x(to), 0, (1 - to) * wide, floor);
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--accent");
    context.fillRect(x(from) - 1, 0, 2, floor);
    context.fillRect(x(to) - 1, 0, 2, floor);
  }

  axes(context, { x, y, top, width, height, floor }, style) {
    const step = niceStep(top, floor > 70 ? 3 : 2), length = this.data.to - this.data.from;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let value = 0; value <= top * 1.001; value += step) {
      context.fillStyle = style.getPropertyValue("--dim");
      context.textAlign = "right";
      context.fillText(value ? rate(value, step) : "0", LEFT - 6, Math.max(7, y(value)));
      context.fillStyle = style.getPropertyValue("--line");
      if (value)
        context.fillRect(LEFT, Math.round(y(value)), width - LEFT, 1);
    }
    context.fillStyle = style.getPropertyValue("--dim");
    context.textAlign = "center";
    const marks = ticks(this.data.from, this.data.to, Math.max(2, Math.floor(width / 110)));
    for (const at of marks) {
      const left = x((at - this.data.from) / length), text = tick(at, marks[1] - marks[0], length), half = context.measureText(text).width / 2;
      context.fillRect(Math.round(left), floor, 1, 4);
      context.fillText(text, Math.min(width - half, Math.max(LEFT + half, left)), height - 6);
    }
  }
}
