// What the machine did over time, and the heat map of its samples.
import { absolute, ask, change, chooseRange, chosen, lookAtMoment, replaceFilters, state } from "../state.js";
import { brush, prepare, ticks } from "../chart.js";
import { tick } from "../time.js";
import { Metrics } from "../metrics.js";

const LEFT = 56, FLOOR = 18, ROWS_MIN = 10, ROWS_MAX = 100;

export class Heat {
  constructor(canvas, choose) {
    this.canvas = canvas;
    brush(canvas, dragged => this.draw(dragged), (from, to) => {
      const at = share => this.data.from + share * this.data.seconds;
      choose(at(from), at(to));
    }, null, LEFT);
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  show(data) {
    this.data = data;
    const image = this.image = new OffscreenCanvas(data.seconds, data.rows), context = image.getContext("2d");
    const pixels = context.createImageData(data.seconds, data.rows);
    for (let second = 0; second < data.seconds; second++) {
      for (let row = 0; row < data.rows; row++) {
        const value = data.cells[second * data.rows + row], at = ((data.rows - 1 - row) * data.seconds + second) * 4;
        const strength = data.max ? Math.sqrt(value / data.max) : 0;
        pixels.data.set([232, 89, 12, 255 * strength], at);
      }
    }
    context.putImageData(pixels, 0, 0);
    this.draw();
  }

  draw(dragged = null) {
    if (!this.image || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement);
    const wide = width - LEFT, floor = height - FLOOR;
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(LEFT, 0, wide, floor);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, LEFT, 0, wide, floor);
    this.axes(context, wide, floor, style);
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(LEFT + dragged[0] * wide, 0, (dragged[1] - dragged[0]) * wide, floor);
    }
  }

  // Up: parts of a second. Along: the time.
  axes(context, wide, floor, style) {
    const { from, seconds } = this.data;
    context.fillStyle = style.getPropertyValue("--dim");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const part of [0, 250, 500, 750, 1000])
      context.fillText(part === 1000 ? "1 s" : part + " ms", LEFT - 6, Math.min(floor - 6, Math.max(7, floor * (1 - part / 1000))));
    context.textAlign = "center";
    for (const at of ticks(from, from + seconds, Math.max(2, Math.floor(wide / 110)))) {
      const text = tick(at, seconds < 10 ? 1 : 2, seconds), half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(LEFT + wide - half, Math.max(LEFT + half, LEFT + (at - from) / seconds * wide)), floor + FLOOR - 7);
    }
  }
}

let heat, metrics;

async function loadMetrics() {
  const from = absolute(state.from), to = absolute(state.to);
  const [series, hosts] = await Promise.all([ask("series", chosen({ rows: 300 })),
    ask("values", new URLSearchParams({ from: state.from, to: state.to, label: "host", max: 100 }), "metric-hosts")]);
  metrics.show(series, from, to, hosts.map(([name]) => name), host =>
    change({ where: replaceFilters("host=" + host) }));
}

async function load() {
  const to = absolute(state.to), start = Math.max(absolute(state.from), to - 900);
  // No more rows than there are samples of a CPU in a second: at more most would be empty.
  const [[period] = []] = await ask("values", chosen({ label: "period", max: 1 }), "heat-period");
  const rows = Number(period) ? Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.round(1e9 / period))) : ROWS_MAX, query = chosen({ rows });
  query.set("from", start.toFixed(3));
  const [answer] = await Promise.all([ask("heat", query), loadMetrics()]);
  heat.show(answer);
  document.getElementById("heat-note").textContent = answer.max ? `${new Date(answer.from * 1000).toLocaleTimeString()} to ` +
    `${new Date((answer.from + answer.seconds) * 1000).toLocaleTimeString()}, at most ${answer.max} samples in ${(1000 / answer.rows).toFixed(0)} ms` +
    (to - absolute(state.from) > 901 ? "; the last 15 minutes of the range" : "") : "Nothing with times of its own was sampled in this range.";
}

export default {
  start(root) {
    heat = new Heat(root.querySelector("#heat"), chooseRange);
    metrics = new Metrics(root.querySelector("#metrics"), lookAtMoment);
  },
  load,
  restyle() {
    heat.draw();
    metrics.draw();
  },
  picture: () => heat.canvas,
  html: `
    <div id="metrics"></div>
    <h2>Heat map</h2>
    <p class="note">Each column is a second, each row a part of it; darker: more samples. Drag to look at a moment.</p>
    <canvas id="heat" role="img" aria-label="samples by second and part of it"></canvas>
    <p id="heat-note" class="note"></p>`,
  css: `
#heat-view { overflow: auto; }
#heat { width: 100%; flex: 1; min-height: 200px; display: block; cursor: crosshair; image-rendering: pixelated; touch-action: pan-y; }
.metrics { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: .4rem 1rem; }
.metric { margin: 0; min-width: 0; } .metric figcaption { font-weight: 600; }
.metric canvas { width: 100%; height: 110px; display: block; cursor: crosshair; touch-action: pan-y; }
.metric .legend { margin: 0; gap: .1rem .7rem; } .metric .legend button { border: 0; background: none; padding: 0; color: var(--fg); }
@media (max-width: 700px) { #heat { flex: none; height: 60dvh; } }`,
};
