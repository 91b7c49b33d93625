// The chart of what was sampled over time, and what charts share: a range is chosen by dragging.
import { rate, values } from "./tree.js";

export const colours = ["#e8590c", "#f2b84b", "#22b8cf", "#69c36d", "#6d9eeb", "#b487c9", "#e5738a", "#7bbfb5", "#b4d455", "#c6a5e0",
                 "#8d99ae", "#b0b5bd"];

export function prepare(canvas) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return { context, width, height };
}

// Calls done(from, to) with shares of the width; a click without a drag calls click(at, y).
export function brush(canvas, redraw, done, click) {
  let start = null;
  const share = event => Math.min(1, Math.max(0, event.offsetX / canvas.clientWidth));
  canvas.addEventListener("pointerdown", event => {
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
  constructor(canvas, note, choose) {
    Object.assign(this, { canvas, note, data: null });
    brush(canvas, chosen => this.draw(chosen), (from, to) => choose(this.time(from), this.time(to)),
          at => choose(this.time(Math.max(0, at - 0.01)), this.time(Math.min(1, at + 0.01))));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  time(share) {
    return this.data.from + share * (this.data.to - this.data.from);
  }

  show(data) {
    this.data = data;
    this.draw();
  }

  draw(chosen = null) {
    if (!this.data || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement);
    const lines = this.data.lines, count = lines[0]?.values.length ?? 0, sums = new Float64Array(count);
    for (const line of lines)
      line.values.forEach((value, i) => sums[i] += value);
    const top = Math.max(values.sum === "nanoseconds" ? 0.05 : 1e-9, ...sums) * 1.1, floor = height - 16;
    const base = new Float64Array(count);
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(0, 0, width, floor);
    lines.forEach((line, n) => {
      context.fillStyle = colours[n % colours.length];
      line.values.forEach((value, i) => {
        if (!value)
          return;
        const x = i * width / count, y = floor - (base[i] + value) / top * floor;
        context.fillRect(x, y, Math.max(1, width / count + 0.3), value / top * floor);
        base[i] += value;
      });
    });
    this.axis(context, width, height, top, style);
    if (chosen) {
      context.fillStyle = "#8886";
      context.fillRect(chosen[0] * width, 0, (chosen[1] - chosen[0]) * width, floor);
    }
    const mean = count ? sums.reduce((a, b) => a + b, 0) / count : 0;
    this.note.textContent = count ? this.noteText(mean, Math.max(...sums)) +
      (lines.length > 1 ? ": " + lines.slice(0, 6).map(line => line.name || "(none)").join(", ") : "") :
      "nothing was sampled in this range";
  }

  noteText(mean, most) {
    return values.sum === "nanoseconds" ? `${mean.toFixed(2)} CPUs on average, ${most.toFixed(2)} at most` :
      `${rate(mean)} on average, ${rate(most)} at most`;
  }

  axis(context, width, height, top, style) {
    context.fillStyle = style.getPropertyValue("--dim");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.fillText(rate(top), 4, 11);
    const steps = Math.max(2, Math.floor(width / 160)), long = this.data.to - this.data.from > 86400;
    for (let i = 0; i <= steps; i++) {
      const time = new Date(this.time(i / steps) * 1000);
      context.textAlign = i === 0 ? "left" : i === steps ? "right" : "center";
      context.fillText(long ? time.toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" })
        : time.toLocaleTimeString(), i / steps * width, height - 3);
    }
  }
}
