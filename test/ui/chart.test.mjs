// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
import { exactly, matcher } from "../../ui/match.js";
globalThis.document.getElementById = () => ({ addEventListener() {} });
const { LineColours, OTHER, niceStep, ticks } = await import("../../ui/chart.js");
const { tableText } = await import("../../ui/copy.js");

test("a line keeps its colour, whatever comes and goes", () => {
  const lines = new LineColours(), [a, b] = lines.of(["a", "b"]), [z, b2, a2] = lines.of(["z", "b", "a"]);
  assert.deepEqual([a2, b2], [a, b]);
  assert.equal(new Set([a, b, z]).size, 3);
});

test("no two lines that are shown have one colour", () => {
  const lines = new LineColours(), names = (from, count) => Array.from({ length: count }, (_, i) => "line " + (from + i) * 7);
  for (const [from, count] of [[0, 11], [5, 11], [40, 11], [0, 11], [38, 11]]) {
    const before = new Map(lines.given), was = lines.shown, shown = [...names(from, count), OTHER], colours = lines.of(shown);
    assert.equal(new Set(colours).size, count + 1);
    shown.forEach((name, i) => was.has(name) && assert.equal(colours[i], before.get(name)));
  }
});

for (const [top, count, step] of [[2, 3, 1], [2, 2, 1], [0.9, 3, 0.5], [64, 3, 50], [7, 3, 5]])
  test(`${top} in ${count} steps`, () => assert.ok(Math.abs(niceStep(top, count) - step) < 1e-9, niceStep(top, count)));

test("ticks are round times, and not too many", () => {
  assert.deepEqual(ticks(1000, 1060, 6).map(at => at % 10), [0, 0, 0, 0, 0, 0, 0]);
  for (const length of [0.5, 3, 60, 300, 3600, 86400, 604800, 1e8])
    assert.ok(ticks(1e9 + 0.3, 1e9 + 0.3 + length, 8).length <= 9, String(length));
});

test("a function of a file is not one of another", () => {
  const means = matcher(exactly("main", "/usr/bin/a b"));
  assert.ok(means("main", "", "a b", "main", "/usr/bin/a b"));
  assert.ok(!means("main", "", "a b", "main", "/opt/a b"));
  assert.ok(!means("main2", "", "a b", "main2", "/usr/bin/a b"));
  assert.ok(matcher(exactly("operator/ (a)", "/bin/x"))("operator/ (a)", "", "x", "", "/bin/x"));
  assert.ok(matcher("file=x")("f", "", "x", "f", "/bin/x") && matcher("file=/bin/x")("f", "", "x", "f", "/bin/x") && !matcher("file=/x")("f", "", "x", "f", "/bin/x"));
});

test("tables become text", () => {
  const rows = [["a", "b"], [1, 'say "x, y"'], ["c|d", ""]];
  assert.equal(tableText(rows, "csv"), 'a,b\n1,"say ""x, y"""\nc|d,\n');
  assert.equal(tableText(rows, "markdown"), '| a | b |\n|---|---|\n| 1 | say "x, y" |\n| c\\|d |  |\n');
});
