// A flame graph on a canvas. The data is what /api/v1/flame answers; docs/api.md describes it.
const ROW = 19;
const MIN_WIDTH = 0.6;

const kinds = { kernel: "#e8590c", native: "#f2b84b", go: "#22b8cf", jvm: "#69c36d", cpython: "#6d9eeb", v8js: "#b4d455",
                ruby: "#e5738a", php: "#a597e8", perl: "#7bbfb5", dotnet: "#b487c9", label: "#c6a5e0", other: "#b0b5bd" };

export function kindColour(type) {
  return kinds[type] ?? (type ? "#cdb79e" : "#d8cfc0");
}

function hashColour(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return `hsl(${(hash >>> 0) % 360} 55% ${62 + (hash >>> 9) % 14}%)`;
}

// Colour-blind safe: red for more, blue for less, grey for the same.
function differenceColour(share, before) {
  const change = before ? (share - before) / Math.max(share, before) : share ? 1 : 0;
  const strength = Math.min(1, Math.abs(change));
  if (strength < 0.02)
    return "#c9ccd1";
  return change > 0 ? `hsl(4 70% ${85 - 35 * strength}%)` : `hsl(208 70% ${85 - 35 * strength}%)`;
}

export class Tree {
  // nodes: [frame, total, self, children (, total of the other range)] each before its children.
  constructor(answer, compared = false) {
    const step = compared ? 5 : 4, raw = answer.nodes, count = raw.length / step;
    Object.assign(this, { count, frames: answer.frames, unit: answer.unit, period: Number(answer.period) || 0, compared,
                          coarse: answer.coarse, total: answer.total, whole: answer.root });
    this.frame = new Uint32Array(count);
    this.value = new Float64Array(count);
    this.self = new Float64Array(count);
    this.other = compared ? new Float64Array(count) : null;
    this.parent = new Int32Array(count).fill(-1);
    this.level = new Uint16Array(count);
    this.children = Array.from({ length: count }, () => []);
    const open = [];
    for (let i = 0; i < count; i++) {
      const at = i * step;
      this.frame[i] = raw[at];
      this.value[i] = raw[at + 1];
      this.self[i] = raw[at + 2];
      if (compared)
        this.other[i] = raw[at + 4];
      const above = open.at(-1);
      if (above) {
        this.parent[i] = above.node;
        this.level[i] = this.level[above.node] + 1;
        this.children[above.node].push(i);
        above.left--;
      }
      if (raw[at + 3])
        open.push({ node: i, left: raw[at + 3] });
      while (open.length && !open.at(-1).left)
        open.pop();
    }
    this.place();
  }

  width(node) {
    return this.compared ? Math.max(this.value[node], this.other[node]) : this.value[node];
  }

  // Siblings by name, so that a picture looks like the one before it; what was left out comes last.
  place() {
    const rank = node => this.type(node) === "other" ? 1 : 0;
    this.left = new Float64Array(this.count);
    this.depth = 0;
    for (let i = 0; i < this.count; i++) {
      let at = this.left[i];
      this.children[i].sort((a, b) => rank(a) - rank(b) || (this.name(a) < this.name(b) ? -1 : 1));
      for (const child of this.children[i]) {
        this.left[child] = at;
        at += this.width(child);
      }
      this.depth = Math.max(this.depth, this.level[i]);
    }
  }

  name(node) { return node ? this.frames[this.frame[node]][0] : "all"; }
  type(node) { return this.frames[this.frame[node]][3]; }
  exe(node) { return this.frames[this.frame[node]][2]; }
  isInline(node) { return this.frames[this.frame[node]][5]; }

  path(node) {
    const names = [];
    for (; node > 0; node = this.parent[node])
      names.unshift(this.name(node));
    return names;
  }

  find(names) {
    let node = 0;
    for (const name of names) {
      node = this.children[node].find(child => this.name(child) === name);
      if (node === undefined)
        return -1;
    }
    return node;
  }

  hasOther(node) {
    return this.children[node].some(child => this.type(child) === "other" || this.hasOther(child));
  }

  amount(value) {
    if (this.period && this.unit === "count")
      return seconds(value * this.period / 1e9) + ` (${value.toLocaleString()} samples)`;
    return this.unit === "nanoseconds" ? seconds(value / 1e9) : `${value.toLocaleString()} ${this.unit}`;
  }

  // The share that frames with a match have together: what is below a match is not counted again.
  match(test) {
    const matched = new Uint8Array(this.count), below = new Uint8Array(this.count), byFrame = new Map();
    let sum = 0;
    for (let i = 1; i < this.count; i++) {
      if (!byFrame.has(this.frame[i]))
        byFrame.set(this.frame[i], test(this.name(i)));
      matched[i] = byFrame.get(this.frame[i]) ? 1 : 0;
      below[i] = below[this.parent[i]] || matched[this.parent[i]];
      if (matched[i] && !below[i])
        sum += this.value[i];
    }
    return { matched, share: this.value[0] ? sum / this.value[0] : 0 };
  }
}

export function seconds(value) {
  if (value >= 7200)
    return (value / 3600).toFixed(1) + " h";
  if (value >= 120)
    return (value / 60).toFixed(1) + " min";
  return value >= 1 ? value.toFixed(2) + " s" : (value * 1000).toFixed(value >= 0.01 ? 0 : 2) + " ms";
}

export class Flame {
  // events: hover(node), zoom(node), menu(node, x, y)
  constructor(canvas, events) {
    Object.assign(this, { canvas, events, tree: null, root: 0, hovered: -1, chosen: 0, matched: null, colour: "type",
                          icicle: false });
    canvas.addEventListener("mousemove", event => this.hover(this.at(event)));
    canvas.addEventListener("mouseleave", () => this.hover(-1));
    canvas.addEventListener("click", event => this.zoom(this.at(event)));
    canvas.addEventListener("dblclick", () => this.zoom(0));
    canvas.addEventListener("contextmenu", event => {
      const node = this.at(event);
      if (node >= 0) {
        event.preventDefault();
        this.events.menu?.(node, event.clientX, event.clientY);
      }
    });
    canvas.addEventListener("keydown", event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
  }

  show(tree, path = []) {
    this.tree = tree;
    this.root = Math.max(0, tree.find(path));
    this.chosen = this.root;
    this.hovered = -1;
    this.draw();
    // Flames stand on the ground: that is where one begins to look.
    if (!this.icicle)
      this.canvas.parentElement.scrollTop = this.canvas.parentElement.scrollHeight;
  }

  search(matched) {
    this.matched = matched;
    this.draw();
  }

  zoom(node) {
    if (node < 0 || !this.tree || this.tree.type(node) === "other")
      return;
    this.root = this.chosen = node;
    this.draw();
    this.events.zoom?.(node);
  }

  hover(node) {
    if (node === this.hovered)
      return;
    this.hovered = node;
    this.draw();
    this.events.hover?.(node);
  }

  // Ancestors of the root are as wide as the canvas.
  box(node) {
    const tree = this.tree, scale = this.width / Math.max(1, tree.width(this.root));
    const row = this.icicle ? tree.level[node] : this.rows - 1 - tree.level[node];
    if (tree.level[node] < tree.level[this.root])
      return [0, row * ROW, this.width];
    return [(tree.left[node] - tree.left[this.root]) * scale, row * ROW, tree.width(node) * scale];
  }

  isShown(node) {
    const tree = this.tree, root = this.root;
    if (tree.level[node] < tree.level[root]) {
      let above = root;
      while (tree.level[above] > tree.level[node])
        above = tree.parent[above];
      return above === node;
    }
    return tree.left[node] >= tree.left[root] - 1e-9 &&
      tree.left[node] + tree.width(node) <= tree.left[root] + tree.width(root) + 1e-9 && this.isBelow(node);
  }

  isBelow(node) {
    const tree = this.tree;
    if (!this.root)
      return true;
    while (tree.level[node] > tree.level[this.root])
      node = tree.parent[node];
    return node === this.root;
  }

  fill(node) {
    const tree = this.tree;
    if (tree.compared)
      return differenceColour(tree.value[node] / Math.max(1, tree.value[0]), tree.other[node] / Math.max(1, tree.other[0]));
    if (tree.type(node) === "other")
      return kinds.other;
    return this.colour === "exe" ? hashColour(tree.exe(node)) : this.colour === "name" ? hashColour(tree.name(node))
      : kindColour(tree.type(node));
  }

  draw() {
    const tree = this.tree, canvas = this.canvas;
    if (!tree || !canvas.parentElement.clientWidth)
      return;
    const ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    this.width = canvas.parentElement.clientWidth;
    this.rows = tree.depth + 1;
    canvas.style.height = this.rows * ROW + "px";
    canvas.width = this.width * ratio;
    canvas.height = this.rows * ROW * ratio;
    const context = this.context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let i = 0; i < tree.count; i++)
      if (tree.width(i) && this.isShown(i))
        this.drawNode(i, style);
  }

  drawNode(node, style) {
    const context = this.context, tree = this.tree, [x, y, width] = this.box(node);
    if (width < MIN_WIDTH)
      return;
    const faded = (this.matched && !this.matched[node] && node) || tree.level[node] < tree.level[this.root];
    context.globalAlpha = faded ? 0.35 : 1;
    context.fillStyle = node ? this.fill(node) : style.getPropertyValue("--line");
    context.fillRect(x, y, Math.max(1, width - 0.6), ROW - 1);
    context.globalAlpha = 1;
    if (this.matched?.[node] || node === this.hovered || (node === this.chosen && document.activeElement === this.canvas)) {
      context.strokeStyle = this.matched?.[node] && node !== this.hovered ? "#9c36b5" : style.getPropertyValue("--fg");
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.75, y + 0.75, Math.max(0.5, width - 2), ROW - 2.5);
    }
    if (width > 32)
      this.drawText(node, x, y, width, faded, style);
  }

  drawText(node, x, y, width, faded, style) {
    const context = this.context;
    let text = (this.tree.isInline(node) ? "↳ " : "") + this.tree.name(node);
    const fits = Math.floor((width - 8) / 6.2);
    if (text.length > fits)
      text = text.slice(0, Math.max(1, fits - 1)) + "…";
    context.fillStyle = !node || faded ? style.getPropertyValue("--fg") : "#1d1d1f";
    context.save();
    context.beginPath();
    context.rect(x, y, width - 3, ROW);
    context.clip();
    context.fillText(text, Math.max(x, 0) + 4, y + ROW / 2);
    context.restore();
  }

  at(event) {
    const tree = this.tree;
    if (!tree)
      return -1;
    const bounds = this.canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left, row = Math.floor((event.clientY - bounds.top) / ROW);
    const level = this.icicle ? row : this.rows - 1 - row;
    for (let i = 0; i < tree.count; i++) {
      if (tree.level[i] !== level || !this.isShown(i))
        continue;
      const [left, , width] = this.box(i);
      if (x >= left && x < left + Math.max(width, MIN_WIDTH))
        return i;
    }
    return -1;
  }

  key(event) {
    const tree = this.tree, node = this.chosen;
    if (!tree)
      return;
    const siblings = node ? tree.children[tree.parent[node]] : [0], place = siblings.indexOf(node);
    const widest = tree.children[node].reduce((a, b) => a < 0 || tree.width(b) > tree.width(a) ? b : a, -1);
    const inward = this.icicle ? "ArrowDown" : "ArrowUp", outward = this.icicle ? "ArrowUp" : "ArrowDown";
    const moves = { ArrowLeft: siblings[place - 1], ArrowRight: siblings[place + 1], [inward]: widest,
                    [outward]: tree.parent[node] };
    if (event.key === "Enter")
      this.zoom(node);
    else if (event.key === "Escape")
      this.zoom(Math.max(0, tree.parent[this.root]));
    else if (moves[event.key] >= 0)
      this.chosen = moves[event.key];
    else if (!(event.key in moves))
      return;
    event.preventDefault();
    this.draw();
    this.events.hover?.(this.chosen);
  }
}
