// What the machine did: charts of CPU, memory, load and the largest processes. A spike leads to its flame graph: a click
// to that moment, a drag to a range, in the charts of processes to that process.
import { LineColours, brush, colours, prepare } from "./chart.js";
import { element, update } from "./element.js";

const number = value => value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
const cpus = value => number(value) + " CPUs";
const gigabytes = value => value >= 1 << 30 ? number(value / (1 << 30)) + " GiB" : number(value / (1 << 20)) + " MiB";

// One chart: layers of values, stacked or as lines, over rows of time.
class Metric {
  constructor(title, format, choose) {
    Object.assign(this, { title, format, choose, layers: [], rows: null, at: -1, colours: new LineColours() });
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": title });
    this.note = element("p", { class: "note", "aria-live": "polite" });
    this.legend = element("p", { class: "legend" });
    this.root = element("figure", { class: "metric" }, element("figcaption", {}, title), this.canvas, this.note, this.legend);
    const place = share => this.from + share * (this.to - this.from);
    brush(this.canvas, chosen => this.draw(chosen), (from, to) => choose(place(from), place(to), null),
          (share, y) => this.open(this.rowAt(place(share)), this.layerAt(this.rowAt(place(share)), y)));
    this.canvas.addEventListener("pointermove", event =>
      this.point(this.rowAt(place(event.offsetX / this.canvas.clientWidth))));
    this.canvas.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // ceiling: a line at what there is of it, or undefined. stacked: layers stand on one another.
  // peaks: the most within each row, where it is of more than one window.
  show(rows, from, to, layers, { ceiling, peaks, stacked = true } = {}) {
    Object.assign(this, { rows, from, to, layers, ceiling, peaks, stacked });
    this.at = Math.min(this.at, rows.start.length - 1);
    // Processes come and go; what else there is has its place.
    this.fills = layers.some(layer => layer.filter) ? this.colours.of(layers.map(layer => layer.name)) : colours;
    const sums = this.sums(), peak = sums.indexOf(Math.max(...sums));
    this.peak = peak;
    this.canvas.setAttribute("aria-label", `${this.title}: at most ${this.format(sums[peak] ?? 0)}` +
      (peak >= 0 ? ` at ${new Date(rows.start[peak] * 1000).toLocaleTimeString()}` : "") +
      "; arrow keys move, Enter shows the flame graph of that moment");
    update(this.legend, ...(layers.length > 1 ? layers.map((layer, n) => this.entry(layer, n)) : []));
    this.point(this.at, false);
    this.draw();
  }

  entry(layer, n) {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = this.fills[n];
    return layer.filter ? element("button", { type: "button", "data-key": layer.name, title: "its flame graph in this range",
      onclick: () => this.choose(this.from, this.to, layer.filter) }, swatch, " " + layer.name) :
      element("span", {}, swatch, " " + layer.name);
  }

  sums() {
    return this.rows.start.map((_, i) => this.stacked ? this.layers.reduce((sum, layer) => sum + layer.values[i], 0) :
      Math.max(0, ...this.layers.map(layer => layer.values[i])));
  }

  rowAt(time) {
    return this.rows ? this.rows.start.findIndex((start, i) => time >= start && time < this.rows.end[i]) : -1;
  }

  // Which layer of a row is at this height; of lines the nearest.
  layerAt(row, y) {
    if (row < 0)
      return -1;
    const value = (this.floor - y) / this.floor * this.top;
    if (!this.stacked)
      return this.layers.reduce((best, layer, n) => best < 0 || Math.abs(layer.values[row] - value) <
        Math.abs(this.layers[best].values[row] - value) ? n : best, -1);
    let base = 0;
    return this.layers.findIndex(layer => (base += layer.values[row]) >= value && value >= 0);
  }

  // A window may be shorter than what the samples need to show something.
  open(row, layer) {
    if (row < 0)
      return;
    const middle = (this.rows.start[row] + this.rows.end[row]) / 2, half = Math.max(2.5, (this.rows.end[row] - this.rows.start[row]) / 2);
    this.choose(middle - half, middle + half, this.layers[layer]?.filter ?? null);
  }

  point(row, redraw = true) {
    this.at = row;
    const shown = row < 0 ? this.peak : row;
    if (!this.rows || !(shown >= 0) || !this.rows.start.length)
      return this.note.replaceChildren("\u00a0");
    const parts = this.layers.map(layer => [layer.name, layer.values[shown]]).filter(([, value]) => value > 0);
    parts.sort((a, b) => b[1] - a[1]);
    this.note.textContent = `${row < 0 ? "peak " : ""}${new Date(this.rows.start[shown] * 1000).toLocaleTimeString()}: ` +
      (parts.length ? parts.slice(0, 4).map(([name, value]) => `${name} ${this.format(value)}`).join(", ") : "nothing");
    if (redraw)
      this.draw();
  }

  key(event) {
    const count = this.rows?.start.length ?? 0, step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && count)
      this.point(this.at < 0 ? this.peak : Math.min(count - 1, Math.max(0, this.at + step)));
    else if (event.key === "Enter")
      this.open(this.at < 0 ? this.peak : this.at, -1);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw(chosen = null) {
    if (!this.rows || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas), style = getComputedStyle(document.documentElement);
    const floor = this.floor = height - 14, sums = this.sums(), ceiling = this.ceiling ? Math.max(0, ...this.ceiling) : 0;
    const top = this.top = Math.max(ceiling, ...sums, ...(this.peaks ?? []), 1e-3) * 1.08;
    const x = time => (time - this.from) / (this.to - this.from) * width, y = value => floor - value / top * floor;
    context.fillStyle = style.getPropertyValue("--empty");
    context.fillRect(0, 0, width, floor);
    const base = new Float64Array(sums.length);
    this.layers.forEach((layer, n) => {
      context.fillStyle = context.strokeStyle = this.fills[n];
      layer.values.forEach((value, i) => {
        const left = x(this.rows.start[i]), wide = Math.max(1, x(this.rows.end[i]) - left + 0.3);
        if (this.stacked)
          context.fillRect(left, y(base[i] + value), wide, value / top * floor);
        else if (value)
          context.fillRect(left, y(value) - 1, wide, 2);
        base[i] += value;
      });
    });
    context.fillStyle = style.getPropertyValue("--fg");
    this.peaks?.forEach((value, i) => value > sums[i] * 1.01 &&
      context.fillRect(x(this.rows.start[i]), y(value), Math.max(1, x(this.rows.end[i]) - x(this.rows.start[i])), 1));
    if (ceiling) {
      context.fillStyle = style.getPropertyValue("--dim");
      for (let i = 0; i < width; i += 8)
        context.fillRect(i, y(ceiling), 4, 1);
    }
    this.axis(context, width, height, top, ceiling && y(ceiling) < 14, style);
    this.marks(context, x, width, floor, chosen, style);
  }

  marks(context, x, width, floor, chosen, style) {
    if (this.at >= 0 && this.rows.start.length) {
      context.strokeStyle = style.getPropertyValue("--fg");
      context.strokeRect(x(this.rows.start[this.at]), 0, Math.max(1, x(this.rows.end[this.at]) - x(this.rows.start[this.at])), floor);
    }
    if (chosen) {
      context.fillStyle = "#8886";
      context.fillRect(chosen[0] * width, 0, (chosen[1] - chosen[0]) * width, floor);
    }
  }

  axis(context, width, height, top, lower, style) {
    const most = this.format(top / 1.08), line = lower ? 21 : 11;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    context.globalAlpha = 0.8;
    context.fillStyle = style.getPropertyValue("--bg");
    context.fillRect(2, line - 10, context.measureText(most).width + 4, 13);
    context.globalAlpha = 1;
    context.fillStyle = style.getPropertyValue("--fg");
    context.fillText(most, 4, line);
    context.fillStyle = style.getPropertyValue("--dim");
    const long = this.to - this.from > 86400;
    [0, 0.5, 1].forEach((share, i) => {
      const time = new Date((this.from + share * (this.to - this.from)) * 1000);
      context.textAlign = ["left", "center", "right"][i];
      context.fillText(long ? time.toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }) :
        time.toLocaleTimeString(), share * width, height - 2);
    });
  }
}

// Rows of the answer that an own chart has; by_cpu of samples has no pid.
const processes = lines => (lines ?? []).map(({ pid, name, values }) =>
  ({ name: pid ? `${name} (${pid})` : name || "(none)", values, filter: pid ? "pid=" + pid : name ? "process=" + name : null }));

// What nobody can be named for: processes that came and went between two looks, or are not among the first.
function others(busy, layers) {
  const values = busy.map((value, i) => Math.max(0, value - layers.reduce((sum, layer) => sum + layer.values[i], 0)));
  return [...layers, { name: "others, and what ended meanwhile", values, filter: null }];
}

export class Metrics {
  // choose(from, to, filter): the selection becomes that range, and that filter if there is one.
  constructor(root, choose) {
    this.root = root;
    this.about = element("p", { class: "note wrap" });
    this.hosts = element("select", { "aria-label": "host" });
    this.pick = element("label", { hidden: true }, "Host ", this.hosts);
    const metric = (title, format) => new Metric(title, format, choose);
    this.charts = { cpu: metric("CPU", cpus), memory: metric("Memory", gigabytes), load: metric("Load, one minute", number),
                    byCPU: metric("CPU by process", cpus), byMemory: metric("Memory by process", gigabytes) };
    root.replaceChildren(element("div", { class: "tools" }, this.pick, this.about), element("div", { class: "metrics" }, ...Object.values(this.charts).map(chart => chart.root)));
  }

  // hosts: all that sent something, of which another one may be picked.
  show(series, from, to, hosts, pick) {
    this.pick.hidden = hosts.length < 2;
    this.hosts.replaceChildren(...(hosts.includes(series.host) ? [] : [element("option", {}, series.host)]),
                               ...hosts.map(host => element("option", {}, host)));
    this.hosts.value = series.host;
    this.hosts.onchange = () => pick(this.hosts.value);
    const { cpu, memory, load, byCPU, byMemory } = this.charts, proc = series.source === "proc";
    const busy = { name: "busy", values: series.busy };
    cpu.show(series, from, to, proc ? [busy, { name: "waiting for disks", values: series.iowait },
                                       { name: "stolen by the hypervisor", values: series.steal }] : [busy], { ceiling: series.cpus, peaks: series.busy_peak });
    byCPU.show(series, from, to, proc ? others(series.busy, processes(series.by_cpu)) : processes(series.by_cpu));
    for (const chart of [memory, load, byMemory])
      chart.root.hidden = !proc;
    if (proc) {
      memory.show(series, from, to, [{ name: "used", values: series.memory_used }], { ceiling: series.memory_total, peaks: series.memory_peak });
      load.show(series, from, to, [{ name: "load", values: series.load }], { ceiling: series.cpus });
      byMemory.show(series, from, to, processes(series.by_memory), { stacked: false });
    }
    const nothing = !series.busy.some(value => value > 0);
    this.about.textContent = nothing ? "Nothing is known of this machine in this range. Choose a longer one, or start wick with the receiver " +
      "profiling: it notes CPU, memory and load with each window." :
      proc ? `What ${series.host} did. Click a spike, or drag over it, to see its flame graph; in the charts of processes, that of the process.` :
      `${series.host || "These hosts"} sent profiles only: the CPU here is that of the samples. Memory and load are not sent; wick -collection-agent sends them, too. ` +
      "Click a spike, or drag over it, to see its flame graph.";
  }

  draw() {
    Object.values(this.charts).forEach(chart => chart.draw());
  }
}
