// What /api/v1/sequence answers (docs/api.md), laid out for drawing: of each thread boxes over time, a row for each level of its stacks.
import { Tree } from "./tree.js";

// The frames of a node from the outermost on, as nodes.
function pathOf(tree, node) {
  const path = [];
  for (; node > 0; node = tree.parent[node])
    path.unshift(node);
  return path;
}

// samples: { start, end, node } in the order of their ends, in microseconds. A function that the next sample still has is one box, unless
// more than `bridge` lies between them: nobody knows what the thread did then. Rows: by level, boxes from the left.
export function boxesOf(tree, samples, bridge) {
  const rows = [], paths = new Map();
  let open = [], end = -Infinity;
  for (const sample of samples) {
    const path = paths.get(sample.node) ?? paths.set(sample.node, pathOf(tree, sample.node)).get(sample.node);
    const isNext = sample.start - end <= bridge, start = isNext ? end : sample.start;
    let same = 0;
    while (isNext && same < open.length && open[same].node === path[same])
      same++;
    open = path.map((node, level) => {
      const box = level < same ? open[level] : { node, level, start, end: start, samples: 0 };
      if (level >= same)
        (rows[level] ??= []).push(box);
      box.end = Math.max(sample.end, box.start);
      box.samples++;
      return box;
    });
    end = Math.max(sample.end, end);
  }
  return rows;
}

// The place of the first box of a row that ends after a time.
export function firstAfter(row, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].end <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

export const laneKey = ({ host, pid, tid, thread }) => [host, pid, tid, thread].join("/");

// Of each thread, the one with the most samples first: whose it is, and its boxes. length: of all, in microseconds.
export class Sequence {
  constructor(answer) {
    const tree = this.tree = new Tree(answer.tree), { thread, end, length, node } = answer;
    Object.assign(this, { from: answer.from, to: answer.to, samples: answer.samples, leftOut: answer.left_out, untimed: answer.untimed,
                          length: Math.max(1, (answer.to - answer.from) * 1e6) });
    const lists = answer.threads.map(() => []);
    for (let i = 0; i < thread.length; i++)
      lists[thread[i]].push({ start: end[i] - length[i], end: end[i], node: node[i] });
    this.period = [...length].sort((a, b) => a - b)[length.length >> 1] ?? 0;
    this.lanes = answer.threads.map((whose, i) => ({ ...whose, key: laneKey(whose), list: lists[i] })).sort((a, b) => b.samples - a.samples || (a.key < b.key ? -1 : 1));
    this.rowsOf = lane => lane.rows ??= boxesOf(tree, lane.list, this.period);
  }
}

// The box at a time, in the row of a level; null if there is none.
export function boxAt(rows, level, time) {
  const row = rows[level] ?? [], box = row[firstAfter(row, time)];
  return box && box.start <= time ? box : null;
}

// Where a key leads from a box: along its row, or to the one above or below it.
export function step(rows, box, key) {
  const row = rows[box.level], at = row.indexOf(box), middle = (box.start + box.end) / 2;
  const below = rows[box.level + 1] ?? [], child = below[firstAfter(below, box.start)];
  const to = { ArrowLeft: row[at - 1], ArrowRight: row[at + 1], Home: row[0], End: row.at(-1), ArrowUp: box.level ? boxAt(rows, box.level - 1, middle) : null,
               ArrowDown: child && child.start < box.end ? child : null }[key];
  return to === undefined || to === null ? box : to;
}
