// A flame graph on a canvas: as large as what is seen of it, drawn again when that moves.
import { INK, differenceColour, frameColours } from "./colours.js";
import { baseName } from "./match.js";

const ROW = 20, TEXT_FROM = 24, CLICK = 4, WIDTH_MIN = 1e-7, NARROW = 1.5, FONT = "12px system-ui, sans-serif";

// How wide letters are: measured once, since measuring each text takes longer than drawing it.
const letters = new Float64Array(128);

export function fitting(context, text, room) {
  if (!letters[32])
    for (let code = 32; code < 128; code++)
      letters[code] = context.measureText(String.fromCharCode(code)).width;
  let width = 0, whole = 0;
  for (let i = 0; i < text.length; i++) {
    width += letters[Math.min(127, text.charCodeAt(i))] || 12;
    if (width > room)
      return whole ? text.slice(0, whole) + "…" : "";
    if (width < room - 11)
      whole = i + 1;
  }
  return text;
}

export class Flame {
  // box: the element that scrolls, with a canvas in it. events: hover(node, x, y), zoom(node), menu(node, x, y), view(from, to)
  constructor(box, events) {
    Object.assign(this, { box, events, canvas: box.querySelector("canvas"), tree: null, root: 0, from: 0, to: 1, hovered: -1, chosen: 0,
                          found: null, colour: "kind", icicle: true });
    this.spacer = box.appendChild(document.createElement("div"));
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.canvas.height = 0;    // it is black until something is drawn
    this.listen();
    // Sizes are kept: to ask for one makes the browser lay out the page, which takes longer than drawing.
    new ResizeObserver(() => {
      this.measure();
      this.draw();
    }).observe(box);
    this.measure();
  }

  measure() {
    Object.assign(this, { boxWidth: this.box.clientWidth, boxHeight: this.box.clientHeight, top: this.box.scrollTop });
  }

  scroll(top) {
    this.box.scrollTop = top;
    this.top = this.box.scrollTop;
  }

  // ---- What is shown

  // question: what the tree answers. Asked again, and answered with new numbers, it leaves everything where the hand is.
  show(tree, path = "", question = null) {
    const isFirst = !this.tree, held = this.tree && question !== null && question === this.question ? this.hold() : null;
    Object.assign(this, { tree, question, fills: null, found: null, lighting: this.lit ? tree.match(this.lit) : null, hovered: -1 });
    this.moveTo(Math.max(0, tree.find(path)));
    this.resume(held);
    this.draw();
    this.events.view?.(this.from, this.to);
    // Flames stand on the ground: that is where one begins to look.
    if (isFirst && !this.icicle)
      this.scroll(this.box.scrollHeight);
  }

  // What is chosen, pointed at and seen, in words that hold in another tree.
  hold() {
    const { tree } = this, path = node => node < 0 ? null : tree.path(node);
    return { chosen: this.chosen === this.root ? null : path(this.chosen), hovered: path(this.hovered), told: this.told && { ...this.told, path: path(this.told.node) },
             window: this.isWindow() ? this.anchor() : null };
  }

  resume(held) {
    const find = path => path === null ? -1 : this.tree.find(path);
    if (!held)
      return;
    const chosen = find(held.chosen), told = held.told ? find(held.told.path) : -1, seen = held.window ? find(held.window.path) : -1;
    if (chosen >= 0)
      this.chosen = chosen;
    this.hovered = find(held.hovered);
    if (seen >= 0) {
      const [left, width] = this.share(seen);
      [this.from, this.to] = [left + held.window.from * width, left + held.window.to * width];
    }
    // What has no samples any more is told of as it was.
    if (told >= 0)
      this.tell(told, held.told.x, held.told.y);
  }

  // Of the whole: where a node begins, and how wide it is.
  share(node) {
    const all = this.tree.width[0] || 1;
    return [this.tree.left[node] / all, this.tree.width[node] / all];
  }

  // Is it a window that no node has?
  isWindow() {
    const [left, width] = this.share(this.root);
    return Math.abs(this.from - left) + Math.abs(this.to - left - width) > 1e-9 && this.to - this.from < 1;
  }

  // The innermost node that holds the whole window, and where in it that is.
  anchor() {
    let node = 0, inner = 0;
    while (inner !== undefined) {
      node = inner;
      inner = this.tree.children(node).find(child => {
        const [left, width] = this.share(child);
        return left <= this.from && left + width >= this.to;
      });
    }
    const [left, width] = this.share(node);
    return { path: this.tree.path(node), from: (this.from - left) / (width || 1), to: (this.to - left) / (width || 1) };
  }

  moveTo(node) {
    const [left, width] = this.share(node);
    this.root = this.chosen = node;
    [this.from, this.to] = width > 0 ? [left, left + width] : [0, 1];
  }

  look(node) {
    this.moveTo(node);
    this.draw();
    this.events.view?.(this.from, this.to);
  }

  // A path of the address, if this tree has it.
  lookAt(path) {
    const node = this.tree ? this.tree.find(path) : -1;
    if (node >= 0 && node !== this.root)
      this.look(node);
    return node >= 0;
  }

  recolour(by) {
    this.colour = by;
    this.fills = null;
    this.draw();
  }

  search(found) {
    this.found = found;
    this.draw();
  }

  // Frames that a text means stand out in place of what was found, for as long as a hand elsewhere is at them. null: no more.
  light(text) {
    this.lit = text;
    this.lighting = text && this.tree ? this.tree.match(text) : null;
    this.draw();
  }

  get marked() {
    return this.lighting ?? this.found;
  }

  // A step inwards or back: the address of the page follows.
  zoom(node) {
    if (node < 0 || !this.tree)
      return;
    this.look(node);
    this.reveal(node);
    this.events.zoom?.(node);
  }

  // A window of the whole width, by wheel, drag, pinch or the small map.
  window(from, to) {
    const width = Math.min(1, Math.max(WIDTH_MIN, to - from));
    this.from = Math.min(1 - width, Math.max(0, from));
    this.to = this.from + width;
    this.drawSoon();
    this.events.view?.(this.from, this.to);
  }

  // Brings a node's row into sight.
  reveal(node) {
    const top = this.row(this.tree.level[node]) * ROW;
    if (top < this.top || top + 2 * ROW > this.top + this.boxHeight)
      this.scroll(Math.max(0, top - this.boxHeight / 2));
  }

  // The next frame that was found, or the one before: made wide enough to be seen.
  next(step) {
    const nodes = this.found?.found;
    if (!nodes?.length)
      return;
    let at = nodes.findIndex(node => node >= this.chosen);
    at = at < 0 ? (step > 0 ? 0 : nodes.length - 1) : nodes[at] === this.chosen ? at + step : step > 0 ? at : at - 1;
    this.choose(nodes[(at + nodes.length) % nodes.length]);
    return (at + nodes.length) % nodes.length;
  }

  choose(node) {
    const tree = this.tree, [x, , width] = this.place(node);
    if (width < 12 || x < 0 || x + width > this.width) {
      let wide = node;
      while (wide && tree.width[wide] < 40 * tree.width[node])
        wide = tree.parent[wide];
      if (width < 12 || x < 0 || x + width > this.width)
        this.look(wide);
    }
    this.chosen = node;
    this.reveal(node);
    this.draw();
    const [left, top, wide] = this.place(node), bounds = this.canvas.getBoundingClientRect();
    this.tell(node, bounds.left + Math.max(0, left) + Math.min(40, wide / 2), bounds.top + top + ROW);
  }

  // Says what a node is, at a place of the page; of none, nothing.
  tell(node, x, y) {
    this.told = node < 0 || x === undefined ? null : { node, x, y };
    this.events.hover?.(node, x, y);
  }

  // ---- Where things are

  row(level) {
    return this.icicle ? level : this.tree.depth + (this.tree.pruned ? 1 : 0) - level;
  }

  // Left, top and width on the canvas.
  place(node) {
    const tree = this.tree, scale = this.width / ((this.to - this.from) * (tree.width[0] || 1));
    return [(tree.left[node] - this.from * tree.width[0]) * scale, this.row(tree.level[node]) * ROW - this.top,
            tree.width[node] * scale];
  }

  // The place in `order` of the first node of a level that ends after x.
  firstAfter(level, x) {
    const tree = this.tree;
    let low = tree.starts[level], high = tree.starts[level + 1];
    while (low < high) {
      const middle = (low + high) >> 1, node = tree.order[middle];
      if (tree.left[node] + tree.width[node] <= x)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // The node under the mouse; of what was left out, the node that it is a part of.
  at(event) {
    const tree = this.tree;
    if (!tree)
      return -1;
    const bounds = this.canvas.getBoundingClientRect(), all = tree.width[0];
    const x = (this.from + (event.clientX - bounds.left) / this.width * (this.to - this.from)) * all;
    const row = Math.floor((event.clientY - bounds.top + this.top) / ROW);
    const level = this.icicle ? row : this.row(0) - row;
    for (let l = level; l >= 0 && l >= level - 1; l--) {
      if (l > tree.depth)
        continue;
      const node = tree.order[this.firstAfter(l, x)];
      const isIn = this.firstAfter(l, x) < tree.starts[l + 1] && tree.left[node] <= x;
      if (l === level && isIn)
        return node;
      if (l < level)
        return isIn && tree.rest[node] > 0 && x < this.restLeft(node) + tree.rest[node] && x >= this.restLeft(node) ? node : -1;
    }
    return -1;
  }

  restLeft(node) {
    const tree = this.tree, last = tree.first[node + 1] - 1, kid = tree.kids[last];
    return last < tree.first[node] ? tree.left[node] : tree.left[kid] + tree.width[kid];
  }

  // ---- Drawing

  drawSoon() {
    this.soon ??= requestAnimationFrame(() => {
      this.soon = undefined;
      this.draw();
    });
  }

  themeColours() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(["bg", "fg", "dim", "line", "found"].map(name => [name, style.getPropertyValue("--" + name)]));
  }

  // Light has become dark.
  restyle() {
    this.colours = null;
    this.draw();
  }

  resize() {
    const ratio = devicePixelRatio || 1, rows = (this.tree.depth + 1 + (this.tree.pruned ? 1 : 0)) * ROW, height = Math.min(this.boxHeight, rows);
    this.width = this.boxWidth;
    this.height = height;
    if (this.rows !== rows - height)
      this.spacer.style.height = Math.max(0, this.rows = rows - height) + "px";
    if (this.canvas.width !== Math.round(this.width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.style.height = height + "px";
      this.canvas.width = Math.round(this.width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  draw() {
    const tree = this.tree;
    if (tree && !this.boxWidth)
      this.measure();
    if (!tree || !this.boxWidth)
      return;
    const context = this.context;
    this.resize();
    this.colours ??= this.themeColours();
    this.fills ??= tree.compared ? null : frameColours(tree, this.colour, i => baseName(tree.executables[tree.frames.executable[i]][0] || tree.files[tree.frames.file[i]]));
    context.fillStyle = this.colours.bg;
    context.fillRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.isFaded = this.painted = null;
    const first = Math.floor(this.top / ROW), last = Math.ceil((this.top + this.height) / ROW);
    for (let row = first; row <= last; row++) {
      const level = this.icicle ? row : this.row(0) - row;
      if (level >= 0 && level <= tree.depth)
        this.drawLevel(level);
    }
    context.globalAlpha = 1;
    for (let level = 0; level <= tree.depth && tree.pruned; level++)
      this.drawRest(level);
    if (!tree.value[0] && !tree.base?.[0]) {
      context.fillStyle = this.colours.dim;
      context.fillText("Nothing of it was sampled in this range.", 4, ROW / 2);
    }
    this.outline(this.chosen, document.activeElement === this.canvas ? 2 : 0);
    this.outline(this.hovered, 1.5);
  }

  drawLevel(level) {
    const tree = this.tree, all = tree.width[0] || 1, end = tree.starts[level + 1], right = this.to * all;
    const scale = this.width / ((this.to - this.from) * all), y = this.row(level) * ROW - this.top, origin = this.from * all;
    const run = { from: 0, to: -1, node: -1, isFound: false };
    for (let at = this.firstAfter(level, origin); at < end; at++) {
      const node = tree.order[at], x = (tree.left[node] - origin) * scale, width = tree.width[node] * scale;
      if (tree.left[node] >= right)
        break;
      if (width < NARROW) {
        this.addToRun(run, node, x, width, y);
      } else {
        this.endRun(run, y);
        this.drawNode(node, x, y, width);
      }
    }
    this.endRun(run, y);
  }

  // Frames that are too narrow to be told apart are drawn as one: they are most of a large picture.
  addToRun(run, node, x, width, y) {
    const isFound = this.isFound(node);
    if (run.node >= 0 && (x - run.to > 0.5 || run.isFound !== isFound))
      this.endRun(run, y);
    if (run.node < 0)
      Object.assign(run, { from: x, node, isFound });
    run.to = x + width;
  }

  endRun(run, y) {
    if (run.node < 0)
      return;
    this.paint(run.isFound ? this.colours.found : this.fill(run.node), Boolean(this.marked) && !run.isFound);
    this.context.fillRect(run.from, y, Math.max(0.7, run.to - run.from), ROW - 1);
    run.node = -1;
  }

  isFound(node) {
    return this.marked !== null && node > 0 && this.marked.matched[this.tree.frame[node]] === 1;
  }

  fill(node) {
    const tree = this.tree;
    if (!node)
      return this.colours.line;
    return tree.compared ? differenceColour(tree.value[node] / (tree.value[0] || 1), tree.base[node] / (tree.base[0] || 1))
      : this.fills[tree.frame[node]];
  }

  drawNode(node, x, y, width) {
    const tree = this.tree, context = this.context, isFound = this.isFound(node);
    const isFaded = (this.marked && !isFound && node > 0) || tree.level[node] < tree.level[this.root];
    const left = Math.max(0, x), shown = Math.min(this.width, x + width) - left;
    this.paint(isFound ? this.colours.found : this.fill(node), isFaded);
    context.fillRect(left, y, Math.max(0.7, shown - (shown > 3 ? 1 : 0)), ROW - 1);
    if (shown >= TEXT_FROM)
      this.drawText(node, left, y, shown, isFaded || !node, isFound);
  }

  // Setting what is set already costs as much as drawing.
  paint(colour, isFaded) {
    if (isFaded !== this.isFaded)
      this.context.globalAlpha = isFaded ? 0.38 : 1;
    if (colour !== this.painted)
      this.context.fillStyle = colour;
    this.isFaded = isFaded;
    this.painted = colour;
  }

  drawText(node, x, y, width, isPlain, isFound) {
    const tree = this.tree, context = this.context, text = (node && tree.isInlined(node) ? "↳ " : "") + tree.name(node);
    this.paint(isPlain && !isFound ? this.colours.fg : INK, false);
    context.fillText(fitting(context, text, width - 7), x + 4, y + ROW / 2);
  }

  // What was left out of a node's children for being small: it is fetched when one zooms in.
  drawRest(level) {
    const tree = this.tree, all = tree.width[0] || 1, scale = this.width / ((this.to - this.from) * all), row = this.row(level + 1);
    const y = row * ROW - this.top, origin = this.from * all, end = tree.starts[level + 1], context = this.context;
    if (y < -ROW || y > this.height)
      return;
    context.fillStyle = this.colours.line;
    for (let at = this.firstAfter(level, origin); at < end; at++) {
      const node = tree.order[at];
      if (tree.left[node] >= this.to * all)
        return;
      if (tree.width[node] * scale < 1) {
        at = Math.max(at, this.firstAfter(level, tree.left[node] + 1 / scale) - 1);
        continue;
      }
      const share = tree.compared ? tree.rest[node] / (tree.value[0] || 1) : tree.rest[node], width = share * scale;
      if (width < 1)
        continue;
      const x = (this.restLeft(node) - origin) * scale;
      context.fillRect(Math.max(0, x), y, Math.min(this.width, x + width) - Math.max(0, x), ROW - 1);
      if (width > 60) {
        context.fillStyle = this.colours.dim;
        context.fillText("(other)", Math.max(0, x) + 4, y + ROW / 2);
        context.fillStyle = this.colours.line;
      }
    }
  }

  outline(node, width) {
    if (node < 0 || !width)
      return;
    const [x, y, wide] = this.place(node), left = Math.max(0, x), context = this.context;
    context.strokeStyle = this.colours.fg;
    context.lineWidth = width;
    context.strokeRect(left + width / 2, y + width / 2, Math.max(1, Math.min(this.width, x + wide) - left - width), ROW - 1 - width);
  }

  // ---- Mouse, fingers, keys

  listen() {
    const canvas = this.canvas, pointers = this.pointers = new Map();
    this.box.addEventListener("scroll", () => {
      this.top = this.box.scrollTop;
      this.drawSoon();
    });
    canvas.addEventListener("pointerdown", event => {
      this.isTouched = event.pointerType === "touch";
      if (event.button === 0) {
        pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
        this.drag = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, top: this.top, moved: false };
      }
    });
    canvas.addEventListener("pointermove", event => this.move(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"])
      canvas.addEventListener(name, event => {
        pointers.delete(event.pointerId);
        if (name === "pointerleave" && event.pointerType !== "touch")
          this.hover(-1);
      });
    canvas.addEventListener("click", event => {
      const node = this.at(event), isNamed = event.pointerType !== "touch" || this.told?.node === node;
      if (this.drag?.moved)
        return;
      // A finger cannot point before it touches: the first tap says what it is, the next one zooms.
      if (isNamed)
        return this.zoom(node);
      this.chosen = Math.max(0, node);
      this.hover(node, event);
    });
    // Two taps of a finger name a frame, then zoom into it.
    canvas.addEventListener("dblclick", () => this.isTouched || this.zoom(0));
    canvas.addEventListener("contextmenu", event => {
      // The key for menus has no place: it is for the frame that is chosen.
      const node = event.button === 2 || event.pointerType === "touch" ? this.at(event) : this.chosen;
      if (node >= 0 && this.tree) {
        event.preventDefault();
        this.events.menu?.(node, event.clientX, event.clientY);
      }
    });
    canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => {
      if (this.told && this.hovered < 0)
        this.tell(-1);
      this.draw();
    });
  }

  hover(node, event) {
    if (node !== this.hovered) {
      this.hovered = node;
      this.drawSoon();
    }
    this.tell(node, event?.clientX, event?.clientY);
  }

  move(event) {
    const held = this.pointers.get(event.pointerId);
    if (!held || !this.drag)
      return void (this.pointers.size || event.pointerType === "touch" || this.hover(this.at(event), event));
    const others = [...this.pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    if (others.length) {
      this.pinch(held, { x: event.clientX }, others[0]);
      Object.assign(held, { x: event.clientX, y: event.clientY });
      return;
    }
    const { drag } = this, dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < CLICK)
      return;
    if (!drag.moved)
      this.canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    const width = drag.to - drag.from, from = drag.from - dx / this.width * width;
    this.window(from, from + width);
    if (event.pointerType === "mouse")
      this.scroll(drag.top - dy);
  }

  pinch(before, now, other) {
    const bounds = this.canvas.getBoundingClientRect(), old = Math.max(10, Math.abs(before.x - other.x));
    const factor = old / Math.max(10, Math.abs(now.x - other.x));
    this.drag.moved = true;
    this.scale(factor, ((now.x + other.x) / 2 - bounds.left) / this.width);
  }

  // at: the share of the canvas that stays where it is.
  scale(factor, at) {
    const width = this.to - this.from, fixed = this.from + at * width, wide = Math.min(1, width * factor);
    this.window(fixed - at * wide, fixed - at * wide + wide);
  }

  wheel(event) {
    if (!this.tree)
      return;
    const width = this.to - this.from;
    if (event.ctrlKey || event.altKey || event.metaKey) {
      this.scale(Math.exp(event.deltaY * 0.004), (event.clientX - this.canvas.getBoundingClientRect().left) / this.width);
    } else if ((event.deltaX || event.shiftKey) && width < 1) {
      const by = (event.deltaX || event.deltaY) / this.width * width;
      this.window(this.from + by, this.to + by);
    } else {
      return;
    }
    event.preventDefault();
  }

  key(event) {
    const tree = this.tree, node = this.chosen;
    if (!tree || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const siblings = node ? tree.children(tree.parent[node]) : Uint32Array.of(0), place = siblings.indexOf(node);
    let widest = -1;
    for (const child of tree.children(node))
      if (widest < 0 || tree.width[child] > tree.width[widest])
        widest = child;
    const inward = this.icicle ? "ArrowDown" : "ArrowUp", outward = this.icicle ? "ArrowUp" : "ArrowDown";
    const moves = { ArrowLeft: siblings[place - 1], ArrowRight: siblings[place + 1], [inward]: widest, [outward]: tree.parent[node],
                    Home: 0 };
    const actions = { Enter: () => this.zoom(node), " ": () => this.zoom(node), Backspace: () => this.zoom(Math.max(0, tree.parent[this.root])),
                      Escape: () => this.zoom(Math.max(0, tree.parent[this.root])), "+": () => this.scale(0.5, 0.5), "-": () => this.scale(2, 0.5) };
    if (actions[event.key])
      actions[event.key]();
    else if (moves[event.key] >= 0)
      this.choose(moves[event.key]);
    else if (!(event.key in moves))
      return;
    event.preventDefault();
    event.stopPropagation();
  }

  menuHere() {
    const [x, y, width] = this.place(this.chosen), bounds = this.canvas.getBoundingClientRect();
    this.events.menu?.(this.chosen, bounds.left + Math.max(0, x) + Math.min(30, width / 2), bounds.top + y + ROW);
  }
}

// The whole of it, small, with the part that is seen; dragging there moves it.
export class SmallMap {
  constructor(canvas, flame) {
    Object.assign(this, { canvas, flame });
    const go = event => {
      if (!event.buttons || !flame.tree)
        return;
      const middle = event.offsetX / canvas.clientWidth, half = (flame.to - flame.from) / 2;
      flame.window(middle - half, middle + half);
    };
    canvas.addEventListener("pointerdown", event => {
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", go);
  }

  draw() {
    const { canvas, flame } = this, tree = flame.tree;
    canvas.hidden = !tree || flame.to - flame.from > 0.999;
    if (canvas.hidden)
      return;
    const width = canvas.width = canvas.clientWidth, height = canvas.height = canvas.clientHeight, context = canvas.getContext("2d");
    if (this.of !== tree || this.picture?.width !== width)
      this.picture = this.silhouette(width, height);
    this.of = tree;
    context.drawImage(this.picture, 0, 0);
    const style = getComputedStyle(document.documentElement), from = flame.from * width, wide = Math.max(3, (flame.to - flame.from) * width);
    context.fillStyle = style.getPropertyValue("--accent");
    context.globalAlpha = 0.25;
    context.fillRect(from, 0, wide, height);
    context.globalAlpha = 1;
    context.strokeStyle = style.getPropertyValue("--accent");
    context.strokeRect(from + 0.5, 0.5, wide - 1, height - 1);
  }

  // How deep it is at each place.
  silhouette(width, height) {
    const { tree } = this.flame, depth = new Uint16Array(width), picture = new OffscreenCanvas(width, height), context = picture.getContext("2d");
    for (let i = 0; i < tree.count; i++) {
      const from = Math.floor(tree.left[i] / tree.width[0] * width), to = Math.ceil((tree.left[i] + tree.width[i]) / tree.width[0] * width);
      for (let x = from; x < Math.min(width, to); x++)
        depth[x] = Math.max(depth[x], tree.level[i]);
    }
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--dim");
    for (let x = 0; x < width; x++) {
      const high = depth[x] / Math.max(1, tree.depth) * (height - 2);
      context.fillRect(x, this.flame.icicle ? 0 : height - high, 1, high);
    }
    return picture;
  }
}
