// SPDX-License-Identifier: Apache-2.0
// How long threads wanted a CPU, as it is told and as it is drawn.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
import { length, place, rowEnd, sentence } from "../../ui/queue.js";

test("lengths are in words that people use", () => {
  assert.deepEqual([0.5, 9.94, 20.4, 999, 1000, 25000, 1.5e6].map(length), ["0.5 µs", "9.9 µs", "20 µs", "999 µs", "1.00 ms", "25 ms", "1.50 s"]);
});

test("a mark stands where the row of its length is", () => {
  for (const row of [0, 5, 24])
    assert.ok(Math.abs(place(rowEnd(row), 25) - Math.min(1, (row + 1) / 25)) < 1e-9);
  assert.equal(place(0.001, 25), 0);
  assert.equal(place(1e12, 25), 1);
});

test("what was seen is said", () => {
  assert.match(sentence({ waits: 1200, median: 12, p99: 4000, longest: 90000, sum: 2e6 }), /^1,200 times a thread .* at most 12 µs, 99 of 100 for at most 4\.00 ms, the longest for 90 ms; 2\.00 s in all\.$/);
  assert.equal(sentence({ waits: 0 }), "No thread had to wait for a CPU.");
});
