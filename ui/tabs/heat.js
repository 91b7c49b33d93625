// What the machine did over time, and the heat map of its samples.
import { absolute, ask, change, chooseRange, chosen, lookAtMoment, replaceFilters, state } from "../state.js";
import { brush, prepare } from "../chart.js";
import { Metrics } from "../metrics.js";

export class Heat {
  constructor(canvas, choose) {
    this.canvas = canvas;
    brush(canvas, dragged => this.draw(dragged), (from, to) => {
      const at = share => this.data.from + share * this.data.seconds;
      choose(at(from), at(to));
    });
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
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(0, 0, width, height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, 0, 0, width, height);
    if (dragged) {
      context.fillStyle = "#8886";
      context.fillRect(dragged[0] * width, 0, (dragged[1] - dragged[0]) * width, height);
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
  const to = absolute(state.to), start = Math.max(absolute(state.from), to - 900), query = chosen({ rows: 100 });
  query.set("from", start.toFixed(3));
  const [answer] = await Promise.all([ask("heat", query), loadMetrics()]);
  heat.show(answer);
  document.getElementById("heat-note").textContent = answer.max ? `${new Date(answer.from * 1000).toLocaleTimeString()} to ` +
    `${new Date((answer.from + answer.seconds) * 1000).toLocaleTimeString()}, at most ${answer.max} samples in ${1000 / answer.rows} ms` +
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
    <canvas id="heat" tabindex="0" role="img" aria-label="samples by second and part of it"></canvas>
    <p id="heat-note" class="note"></p>`,
  css: `
#heat-view { overflow: auto; }
#heat { width: 100%; flex: 1; min-height: 200px; display: block; cursor: crosshair; image-rendering: pixelated; touch-action: pan-y; }
.metrics { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: .4rem 1rem; }
.metric { margin: 0; min-width: 0; } .metric figcaption { font-weight: 600; }
.metric canvas { width: 100%; height: 110px; display: block; cursor: crosshair; touch-action: pan-y; }
.metric .legend { margin: 0; gap: .1rem .7rem; } .metric .legend button { border: 0; background: none; padding: 0; color: var(--fg); }
@media (max-width: 700px) { #heat { flex: none; height: 60dvh; } }
.note.wrap { white-space: normal; }`,
};
