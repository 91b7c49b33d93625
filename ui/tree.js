// What /api/v1/flame answers (docs/api.md), laid out for drawing: columns of numbers, no object for a node.
import { learnColours } from "./colours.js";
import { baseName, letters, matcher } from "./match.js";
import { isWaiting } from "./waits.js";

const STEP = "\x1f", FILE = "\x1e";

export class Tree {
  constructor(answer) {
    const { nodes } = answer, count = this.count = nodes.frame.length;
    Object.assign(this, { frames: answer.frames, files: answer.files, kinds: answer.kinds, unit: answer.unit, coarse: answer.coarse,
                          period: Number(answer.period) || 0, total: answer.total, whole: answer.root });
    learnColours(answer.kinds, answer.colours);
    this.executables = answer.executables.map(text => text.split("\n"));
    this.self = Float64Array.from(nodes.self);
    this.rest = Float64Array.from(nodes.rest);
    this.base = nodes.base ? Float64Array.from(nodes.base) : null;
    this.value = new Float64Array(count);
    this.frame = new Uint32Array(count);
    this.parent = new Int32Array(count).fill(-1);
    this.level = new Uint16Array(count);
    this.readFrames(nodes.frame);
    this.readShape(nodes.children);
    this.addUp();
    this.place();
  }

  // 0 is the next frame that was not there yet, else how far back from there.
  readFrames(distances) {
    let next = 0;
    for (let i = 0; i < this.count; i++)
      this.frame[i] = distances[i] ? next - distances[i] : next++;
  }

  // first[i] up to first[i + 1]: the places in `kids` of a node's children.
  readShape(children) {
    const open = [], missing = [];
    this.first = new Uint32Array(this.count + 1);
    this.kids = new Uint32Array(Math.max(0, this.count - 1));
    this.depth = 0;
    for (let i = 0, at = 0; i < this.count; i++) {
      this.first[i] = at;
      at += children[i];
      this.first[i + 1] = at;
    }
    const filled = this.first.slice();
    for (let i = 0; i < this.count; i++) {
      const above = open.length - 1;
      if (above >= 0) {
        this.parent[i] = open[above];
        this.level[i] = open.length;
        this.kids[filled[open[above]]++] = i;
        missing[above]--;
      }
      this.depth = Math.max(this.depth, this.level[i]);
      if (children[i]) {
        open.push(i);
        missing.push(children[i]);
      }
      while (open.length && !missing[open.length - 1]) {
        open.pop();
        missing.pop();
      }
    }
  }

  addUp() {
    this.pruned = false;
    for (let i = this.count - 1; i >= 0; i--) {
      this.value[i] += this.self[i] + this.rest[i];
      this.pruned ||= this.rest[i] > 0;
      if (i)
        this.value[this.parent[i]] += this.value[i];
    }
    // Two ranges stand for half of the width each, however long they are.
    this.width = this.value;
    this.compared = Boolean(this.base?.[0]);
    if (this.compared) {
      const now = this.value[0] || 1, then = this.base[0] || 1;
      this.width = this.value.map((value, i) => value / now + this.base[i] / then);
    }
  }

  // Siblings by name, so that a picture looks like the one before it. order: level by level, from the left.
  place() {
    const names = this.frames.name, byName = Array.from(names.keys()).sort((a, b) => names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b);
    const rank = new Uint32Array(names.length);
    byName.forEach((frame, place) => rank[frame] = place);
    this.left = new Float64Array(this.count);
    this.order = new Uint32Array(this.count);
    for (let at = 0, end = 1; at < this.count; at++) {
      const node = this.order[at], from = this.first[node], to = this.first[node + 1];
      if (to - from > 1)
        this.kids.subarray(from, to).sort((a, b) => rank[this.frame[a]] - rank[this.frame[b]] || a - b);
      let left = this.left[node];
      for (let i = from; i < to; i++) {
        const kid = this.kids[i];
        this.left[kid] = left;
        left += this.width[kid];
        this.order[end++] = kid;
      }
    }
    this.starts = this.levelStarts();
  }

  levelStarts() {
    const starts = [0];
    for (let at = 1; at < this.count; at++)
      if (this.level[this.order[at]] !== this.level[this.order[at - 1]])
        starts.push(at);
    starts.push(this.count);
    return starts;
  }

  name(node) { return node > 0 ? this.frames.name[this.frame[node]] : "all"; }
  kind(node) { return this.kinds[this.frames.kind[this.frame[node]]]; }
  executable(node) { return this.executables[this.frames.executable[this.frame[node]]][0]; }
  // The file that it is of: that of its code, or of a script.
  home(node) { return this.executable(node) || this.file(node); }
  buildId(node) { return this.executables[this.frames.executable[this.frame[node]]][1]; }
  file(node) { return this.files[this.frames.file[this.frame[node]]]; }
  line(node) { return this.frames.line[this.frame[node]]; }
  address(node) { return this.frames.address[this.frame[node]]; }
  isInlined(node) { return this.frames.inlined[this.frame[node]] === 1; }
  children(node) { return this.kids.subarray(this.first[node], this.first[node + 1]); }

  // The way to a node, as it stands in the URL: names, with the file where a name alone would not do.
  path(node) {
    const steps = [];
    for (; node > 0; node = this.parent[node]) {
      const name = this.name(node), twins = this.children(this.parent[node]).some(other => other !== node && this.name(other) === name);
      steps.unshift(twins ? name + FILE + this.home(node) : name);
    }
    return steps.join(STEP);
  }

  // -1: there is none.
  find(path) {
    let node = 0;
    for (const step of path ? path.split(STEP) : []) {
      const [name, file] = step.split(FILE);
      let best = -1;
      for (const child of this.children(node))
        if (this.name(child) === name && (file === undefined || this.home(child) === file) &&
            (best < 0 || this.value[child] > this.value[best]))
          best = child;
      if (best < 0)
        return -1;
      node = best;
    }
    return node;
  }

  // The nodes of a subtree follow one another.
  end(node) {
    let end = node + 1;
    while (end < this.count && this.level[end] > this.level[node])
      end++;
    return end;
  }

  isPruned(node) {
    for (let i = node, end = this.end(node); i < end; i++)
      if (this.rest[i] > 0)
        return true;
    return false;
  }

  // The answer with one node replaced by the root of another tree, which has all that is below it.
  graft(node, part) {
    const end = this.end(node), shift = this.frames.name.length;
    const join = (mine, theirs) => [...mine.subarray(0, node), ...theirs, ...mine.subarray(end)];
    const tables = { file: this.files.length, executable: this.executables.length, kind: this.kinds.length };
    const frames = {};
    for (const [key, column] of Object.entries(this.frames))
      frames[key] = column.concat(tables[key] ? part.frames[key].map(number => number + tables[key]) : part.frames[key]);
    const joined = Object.create(Tree.prototype);
    Object.assign(joined, this, { small: undefined, frames, files: this.files.concat(part.files), kinds: this.kinds.concat(part.kinds),
                                  executables: this.executables.concat(part.executables) });
    joined.frame = Uint32Array.from(join(this.frame, part.frame.map((frame, i) => i ? frame + shift : this.frame[node])));
    joined.count = joined.frame.length;
    for (const column of ["self", "rest", ...(this.base ? ["base"] : [])])
      joined[column] = Float64Array.from(join(this[column], part[column]));
    joined.value = new Float64Array(joined.count);
    joined.parent = new Int32Array(joined.count).fill(-1);
    joined.level = new Uint16Array(joined.count);
    const counts = tree => Uint32Array.from(tree.frame, (_, i) => tree.first[i + 1] - tree.first[i]);
    joined.readShape(join(counts(this), counts(part)));
    joined.addUp();
    joined.place();
    return joined;
  }

  amount(value) {
    if (this.period && this.unit === "count")
      return `${seconds(value * this.period / 1e9)} (${value.toLocaleString()} samples)`;
    if (this.unit === "nanoseconds")
      return seconds(value / 1e9);
    if (this.unit === "bytes")
      return bytes(value);
    return `${value.toLocaleString()} ${this.unit === "count" && values.type || this.unit}`;
  }

  // What a search needs, so that its first letter is as fast as the others.
  prepareSearch() {
    this.small ??= this.frames.name.map(letters);
  }

  // Which frames are meant, the nodes that have them, and the share of the outermost of these.
  match(text) {
    const means = matcher(text), { name, kind, executable, file } = this.frames, matched = new Uint8Array(name.length), found = [];
    this.prepareSearch();
    const home = i => this.executables[executable[i]][0] || this.files[file[i]], bases = this.frames.bases ??= name.map((_, i) => baseName(home(i)));
    for (let i = 0; i < name.length; i++)
      matched[i] = name[i] && this.kinds[kind[i]] !== "label" && means(name[i], this.kinds[kind[i]], bases[i], this.small[i], home(i)) ? 1 : 0;
    const below = new Uint8Array(this.count);
    let sum = 0;
    for (let i = 1; i < this.count; i++) {
      const up = below[this.parent[i]], hit = matched[this.frame[i]];
      below[i] = up | hit;
      if (hit)
        found.push(i);
      if (hit && !up)
        sum += this.value[i];
    }
    return { matched, found, share: this.value[0] ? sum / this.value[0] : 0 };
  }
}

export function seconds(value) {
  if (value >= 7200)
    return (value / 3600).toFixed(1) + " h";
  if (value >= 120)
    return (value / 60).toFixed(1) + " min";
  return value >= 1 ? value.toFixed(2) + " s" : (value * 1000).toFixed(value >= 0.01 ? 0 : 2) + " ms";
}

// What is on show, as /api/v1/types tells it: values of one type, since those of two do not add up.
export const values = { type: "", kind: "", sum: "nanoseconds" };

// Of a chart: time by time is CPUs, or threads where those wait. step: of an axis, which needs no more digits than tell its marks apart.
export function rate(value, step = 0) {
  const number = value.toFixed(step >= 1 ? 0 : step >= 0.1 ? 1 : step || value < 10 ? 2 : 1);
  if (values.sum === "nanoseconds" && isWaiting(values.kind))
    return step ? number : number + " thread" + (value === 1 ? "" : "s");
  if (values.sum === "nanoseconds")
    return number + " CPU" + (value === 1 ? "" : "s");
  return (values.sum === "bytes" ? bytes(value) : value.toLocaleString([], { maximumSignificantDigits: 3 })) + "/s";
}

export function bytes(value) {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return (value / 1024 ** power).toFixed(power ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB"][power];
}

export function percent(share) {
  return (100 * share).toFixed(share && share < 0.001 ? 3 : share < 0.1 ? 2 : 1) + " %";
}
