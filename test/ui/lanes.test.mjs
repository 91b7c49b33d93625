// SPDX-License-Identifier: Apache-2.0
// Lanes of threads, as they are told and as they are drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
import { Lanes, title } from "../../ui/lanes.js";

const line = (wait, ...values) => ({ wait, sum: values.reduce((a, b) => a + b, 0), values });
const lane = (tid, lines, more = {}) => ({ host: "h", process: "shop", pid: 70, thread: "shop", tid, last: 104, lines, ...more });
const answer = (...all) => new Lanes({ from: 100, to: 104, buckets: 4, source: ["wall"], exact: false, threads: all.length, left_out: 0, lanes: all });

test("a bucket has shares of its time, what keeps from work first", () => {
  const lanes = answer(lane(1, [line("poll", 0, 250000, 0, 0), line("futex", 0, 500000, 1000000, 0), line("", 1000000, 250000, 0, 0)]));
  assert.deepEqual(lanes.at(lanes.lanes[0], 1), [["", 0.25], ["futex", 0.5], ["poll", 0.25]]);
  assert.deepEqual([0, 1, 2, 3].map(bucket => lanes.main(lanes.lanes[0], bucket)), ["", "futex", "futex", null]);
});

test("sums are of all threads, the longest first", () => {
  const lanes = answer(lane(1, [line("futex", 1e6, 0, 0, 0)]), lane(2, [line("futex", 1e6, 0, 0, 0), line("disk", 0, 1e6, 1e6, 1e6)]));
  assert.deepEqual(lanes.sums(), [["disk", 3], ["futex", 2]]);
  assert.deepEqual(lanes.sums([lanes.lanes[0]]), [["futex", 1]]);
});

test("samples of a wait are asked for up to where it is told of", () => {
  const lanes = answer(lane(1, [line("", 1e6, 0, 0, 0), line("disk", 0, 1e6, 5e5, 0), line("futex", 0, 0, 5e5, 1e6)], { last: 107.5 })), [first] = lanes.lanes;
  assert.deepEqual(lanes.moment(first, 0, ""), [100, 101]);
  assert.deepEqual(lanes.moment(first, 1, "disk"), [101, 104]);
  assert.deepEqual(lanes.moment(first, 2, "futex"), [102, 107.501]);
});

test("threads are told apart", () => {
  assert.equal(title(lane(71, []), 1), "shop · 71");
  assert.equal(title(lane(71, [], { thread: "gc" }), 2), "shop, thread gc · 71 · h");
  assert.equal(title(lane(-1, [], { thread: "", process: "" }), 1), "(unknown) · 70");
  assert.equal(new Set(answer(lane(1, []), lane(2, []), lane(-1, [], { thread: "a" }), lane(-1, [], { thread: "b" })).lanes.map(({ key }) => key)).size, 4);
});

test("what no page knows has a place, too", () => {
  const lanes = answer(lane(1, [line("boredom", 5e5, 0, 0, 0), line("other", 5e5, 0, 0, 0)]));
  assert.deepEqual(lanes.at(lanes.lanes[0], 0), [["other", 0.5], ["boredom", 0.5]]);
});
