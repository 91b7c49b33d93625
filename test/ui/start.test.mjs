// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
globalThis.document.getElementById = () => ({ addEventListener() {} });
const { averages, changeText, ranked } = await import("../../ui/tabs/start.js");
const { baseRange, tick } = await import("../../ui/time.js");
const { wholeRange } = await import("../../ui/files.js");

test("an average is of the time that was watched", () => {
  const { known, by } = averages({ watched: [1, 0, 1, 0], lines: [{ name: "a", values: [1, 0, 3, 0] }, { name: "b", values: [0, 0, 1, 0] }] });
  assert.equal(known, 0.5);
  assert.deepEqual([...by], [["a", 2], ["b", 0.5]]);
  assert.equal(averages({ lines: [] }).known, 0);
  assert.equal(averages({ watched: [0, 0], lines: [{ name: "a", values: [0, 0] }] }).by.get("a"), 0);
});

test("the largest come first, what is left of others last, and what is gone is there", () => {
  const of = (known, ...pairs) => ({ known, by: new Map(pairs) });
  assert.deepEqual(ranked(of(1, ["(other)", 9], ["a", 1], ["b", 2]), of(1, ["a", 3], ["c", 4])), [["b", 2, 0], ["a", 1, 3], ["c", 0, 4], ["(other)", 9, 0]]);
  assert.deepEqual(ranked(of(1, ["a", 1]), of(0, ["c", 4])), [["a", 1, null]]);
});

for (const [now, then, text] of [[1, null, ""], [1, 0, "new"], [0, 1, "gone"], [1, 1.001, "the same"], [1.5, 1, "+50.0 %"], [1, 2, "−50.0 %"], [7, 2, "3.5 times"], [0, 0, ""]])
  test(`${now} after ${then} is "${text}"`, () => assert.equal(changeText(now, then), text));

test("a range is compared with one of its length", () => {
  for (const before of Object.values(baseRange)) {
    const [from, to] = before(1e9, 1e9 + 60);
    assert.equal(to - from, 60);
  }
});

test("an axis has no two equal ticks", () => {
  for (const [step, length] of [[0.5, 6], [0.1, 1], [1, 8], [60, 600], [3600, 86400], [86400, 604800]]) {
    const texts = Array.from({ length: 6 }, (_, i) => tick(1700000000 + i * step, step, length));
    assert.equal(new Set(texts).size, 6, texts.join());
  }
});

test("a file's range holds all of it", () => {
  const { from, to } = wholeRange({ from: 1700000000.123456, to: 1700000001.987654, timed: true });
  assert.ok(Number(from) < 1700000000.123456 && Number(to) > 1700000001.987654 && to - from < 2);
  assert.ok(wholeRange({ from: 5, to: 5, timed: false }).to > 5);
});
