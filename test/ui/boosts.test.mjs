// SPDX-License-Identifier: Apache-2.0
// Whom the filters choose, as far as processes can be boosted by that.
import assert from "node:assert/strict";
import test from "node:test";
import "./page.mjs";

globalThis.document.getElementById = () => ({ addEventListener() {} });
const { chosenBy } = await import("../../ui/boosts.js");

test("labels of processes choose whom to sample faster", () => {
  assert.deepEqual(chosenBy(["service=shop"]), { service: "shop" });
  assert.deepEqual(chosenBy(["host=a", "process=node", "type=samples"]), { host: "a", process: "node" });
  assert.deepEqual(chosenBy(["pod=a=b"]), { pod: "a=b" });
});

test("what says more, or less, chooses nobody", () => {
  for (const filters of [[], ["host=a"], ["service!=shop"], ["service~sh"], ["service=a", "thread=b"], ["service=a", "service=b"], ["type=x"]])
    assert.equal(chosenBy(filters), null, filters.join());
});
