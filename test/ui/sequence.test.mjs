// SPDX-License-Identifier: Apache-2.0
// How samples in the order of time become boxes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { flameAnswer } from "./page.mjs";
import { Sequence, boxAt, boxesOf, firstAfter, step } from "../../ui/sequence.js";
import { Tree } from "../../ui/tree.js";

// main (1) -> a (2), b (3) -> c (4); other (5)
const answer = () => flameAnswer(["", 0, ["main", 1, ["a", 2], ["b", 3, ["c", 4]]], ["other", 1]]);
const tree = new Tree(answer()), at = (end, node, length = 10) => ({ start: end - length, end, node });
const told = rows => rows.map(row => row.map(({ node, start, end, samples }) => `${tree.name(node)} ${start}-${end} ${samples}`));

test("a function that the next sample still has is one box", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(20, 2), at(30, 4), at(40, 3)], 10)),
                   [["main 0-40 4"], ["a 0-20 2", "b 20-40 2"], ["c 20-30 1"]]);
});

test("what comes again after something else is another box", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(20, 3), at(30, 2)], 10)), [["main 0-30 3"], ["a 0-10 1", "b 10-20 1", "a 20-30 1"]]);
  assert.deepEqual(told(boxesOf(tree, [at(10, 4), at(20, 5), at(30, 4)], 10)), [["main 0-10 1", "other 10-20 1", "main 20-30 1"], ["b 0-10 1", "b 20-30 1"], ["c 0-10 1", "c 20-30 1"]]);
});

test("a gap of more than a period is a gap, a shorter one is not", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(31, 2)], 10)), [["main 0-10 1", "main 21-31 1"], ["a 0-10 1", "a 21-31 1"]]);
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(30, 2)], 10)), [["main 0-30 2"], ["a 0-30 2"]]);
});

test("samples whose times overlap do not", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(15, 3)], 10)), [["main 0-15 2"], ["a 0-10 1", "b 10-15 1"]]);
});

test("samples that nobody knows the length of are there, without one", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2, 0), at(20, 2, 0)], 0)), [["main 10-10 1", "main 20-20 1"], ["a 10-10 1", "a 20-20 1"]]);
});

test("a stack without frames is nowhere, and ends what was there", () => {
  assert.deepEqual(told(boxesOf(tree, [at(10, 2), at(20, 0), at(30, 2)], 10)), [["main 0-10 1", "main 20-30 1"], ["a 0-10 1", "a 20-30 1"]]);
});

test("boxes of a row never overlap, and each is inside the one above it", () => {
  let seed = 7;
  const random = below => (seed = (seed * 1103515245 + 12345) % 2147483648) % below, samples = [];
  for (let i = 0, end = 0; i < 500; i++)
    samples.push(at(end += 1 + random(30), random(6), random(25)));
  const rows = boxesOf(tree, samples, 10);
  rows.forEach((row, level) => row.forEach((box, i) => {
    assert.ok(box.end >= box.start && (!i || row[i - 1].end <= box.start));
    const above = level ? rows[level - 1].find(other => other.start <= box.start && other.end >= box.end && tree.parent[box.node] === other.node) : box;
    assert.ok(above, `${level} ${i}`);
  }));
  const leaves = samples.filter(sample => sample.node).length;
  assert.equal(rows[0].reduce((sum, box) => sum + box.samples, 0), leaves);
});

test("threads come with the most samples first, and with their own", () => {
  const whose = (thread, tid, samples) => ({ host: "h", process: "p", pid: 1, thread, tid, samples });
  const sequence = new Sequence({ from: 100, to: 100.0001, samples: 9, left_out: 6, untimed: 0, threads: [whose("x", 1, 1), whose("y", 2, 2)], thread: [1, 0, 1], end: [10, 15, 20],
                                  length: [10, 10, 10], node: [2, 3, 2], tree: answer() });
  assert.deepEqual(sequence.lanes.map(lane => lane.key), ["h/1/2/y", "h/1/1/x"]);
  assert.deepEqual(sequence.lanes.map(lane => told(sequence.rowsOf(lane))), [[["main 0-20 2"], ["a 0-20 2"]], [["main 5-15 1"], ["b 5-15 1"]]]);
  assert.equal(sequence.period, 10);
  assert.ok(Math.abs(sequence.length - 100) < 1);
});

test("a time finds its box, and keys lead from box to box", () => {
  const rows = boxesOf(tree, [at(10, 2), at(20, 4), at(50, 2)], 10), [[main, late], [a, b]] = rows;
  assert.equal(firstAfter(rows[1], 10), 1);
  assert.deepEqual([boxAt(rows, 1, 5), boxAt(rows, 1, 15), boxAt(rows, 1, 30), boxAt(rows, 9, 5)], [a, b, null, null]);
  assert.deepEqual(["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].map(key => step(rows, a, key)), [b, a, main, a, a, rows[1][2]]);
  assert.equal(step(rows, main, "ArrowDown"), a);
  assert.equal(step(rows, b, "ArrowDown"), rows[2][0]);
  assert.equal(step(rows, late, "ArrowUp"), late);
});
