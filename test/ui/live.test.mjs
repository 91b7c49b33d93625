// SPDX-License-Identifier: Apache-2.0
// How often a page that looks on asks again.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const { pause } = await import("../../ui/live.js");

test("whoever looks on costs less than a hundredth of a CPU", () => {
  for (const cost of [0, 1, 8, 20, 40, 66, 83])
    assert.ok(cost / pause(cost, cost) < 0.0099, String(cost));
});

test("nobody waits for news for longer than 10 s, however much they cost", () => assert.equal(pause(100, 100000), 10000));

test("a page that is slow to answer rests four times as long", () => {
  assert.equal(pause(3000, 1), 12000);
  assert.equal(pause(10, 0), 900);
});
