// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
import { forget, keep, readKept } from "../../ui/kept.js";
globalThis.document.getElementById = () => ({ addEventListener() {} });
const { deviations, sureness } = await import("../../ui/tabs/diff.js");

const storage = (given = {}) => ({ getItem: key => given[key] ?? null, setItem: (key, text) => given[key] = text });

test("views are kept by name, the last one first", () => {
  const place = storage();
  keep(place, "a", "/?view=top");
  keep(place, "b", "/");
  keep(place, "a", "/?view=diff");
  assert.deepEqual(readKept(place), [["a", "/?view=diff"], ["b", "/"]]);
  forget(place, "a");
  assert.deepEqual(readKept(place), [["b", "/"]]);
});

for (const [what, text] of [["what is no JSON", "{"], ["no list", "{}"], ["no pairs", "[1, null]"], ["links that lead elsewhere", '[["x", "javascript:alert(1)"], ["y", "//evil.example"], ["z", "https://evil.example/"]]']])
  test(`${what} is no view`, () => assert.deepEqual(readKept(storage({ views: text })), []));

test("so many views and no more", () => {
  const place = storage();
  for (let i = 0; i < 150; i++)
    keep(place, "view " + i, "/");
  assert.equal(readKept(place).length, 100);
});

// Against a table of the normal distribution, and a thousand draws from one coin.
test("a change is as sure as the samples make it", () => {
  assert.ok(Math.abs(deviations(60, 100, 40, 100) - 2.828) < 0.001);
  assert.equal(deviations(5, 0, 5, 10), 0);
  assert.equal(deviations(10, 10, 20, 20), 0);
  assert.deepEqual([1.9, -1.9, 2.1, -2.9, 3.1].map(sureness), ["noise", "noise", "likely", "likely", "sure"]);
});

test("of equal shares few seem to have changed", () => {
  let seed = 1, seeming = 0;
  const random = () => (seed = seed * 48271 % 2147483647) / 2147483647, draw = count => Array.from({ length: count }, () => random() < 0.1).filter(Boolean).length;
  for (let i = 0; i < 1000; i++)
    seeming += sureness(deviations(draw(500), 500, draw(300), 300)) !== "noise";
  assert.ok(seeming > 10 && seeming < 90, String(seeming));
});
