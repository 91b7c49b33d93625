// What the machine did over time, and the heat map of its samples.
import { absolute, ask, change, chooseRange, chosen, lookAtMoment, replaceFilters, state } from "../state.js";
import { HeatMap } from "../heatmap.js";
import { Metrics } from "../metrics.js";

const ROWS_MIN = 10, ROWS_MAX = 100, MARKS = [0, 250, 500, 750, 1000].map(part => [part / 1000, part === 1000 ? "1 s" : part + " ms"]);

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
  heat.show({ ...answer, to: answer.from + answer.seconds, columns: answer.seconds, marks: MARKS });
  document.getElementById("heat-note").textContent = answer.max ? `${new Date(answer.from * 1000).toLocaleTimeString()} to ` +
    `${new Date((answer.from + answer.seconds) * 1000).toLocaleTimeString()}, at most ${answer.max} samples in ${(1000 / answer.rows).toFixed(0)} ms` +
    (to - absolute(state.from) > 901 ? "; the last 15 minutes of the range" : "") : "Nothing with times of its own was sampled in this range.";
}

export default {
  start(root) {
    heat = new HeatMap(root.querySelector("#heat"), chooseRange);
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
