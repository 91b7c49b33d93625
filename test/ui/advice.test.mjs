// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";
globalThis.document.getElementById = () => ({ addEventListener() {} });
const { problems } = await import("../../ui/advice.js");
const { hostRows } = await import("../../ui/tabs/status.js");

const exporter = more => ({ kind: "exporter", id: "out", health: "ok", error: "", queue: 0, queue_max: 1000, sent: 9, failed: 0, not_queued: 0, ...more });
const well = { components: [exporter(), { kind: "receiver", id: "in", health: "ok", error: "", accepted: 1000, refused: 1 }], senders: [{ peer: "10.0.0.1", agent: "x/1", requests: 1000, refused: 1 }],
               disk_bytes: 100, disk_free: 50, blocks_broken: 0, times_wrong: 0, left_out: "", sampling: [{ name: "samples_sent", value: 100000 }, { name: "samples_lost_ring", value: 1 }] };

test("says nothing where all is well", () => {
  assert.deepEqual(problems(well, [["a", 10]]), []);
  assert.deepEqual(problems({ sampling: [] }, []), []);
});

for (const [what, change, want] of [
  ["an exporter that fails", { components: [exporter({ health: "recoverable error", error: "connection refused" })] }, /out does not get rid.*connection refused.*tried again/],
  ["an exporter that has failed for good", { components: [exporter({ health: "permanent error", error: "401" })] }, /401.*not tried again/],
  ["a queue that is nearly full", { components: [exporter({ queue: 900 })] }, /queue of out is 90\.0 % full.*num_consumers/],
  ["what found no room", { components: [exporter({ not_queued: 1234 })] }, /1,234 samples were dropped before out.*queue_size/],
  ["what was refused for good", { components: [exporter({ failed: 7 })] }, /7 samples were refused for good/],
  ["a receiver that refuses", { components: [{ kind: "receiver", id: "in", health: "ok", error: "", accepted: 10, refused: 5 }] }, /5 samples that came to in/],
  ["a disk that is nearly full", { disk_free: 4 }, /disk of the store.*max_size_mib/],
  ["broken blocks", { blocks_broken: 2 }, /2 parts of the store/],
  ["clocks", { times_wrong: 3 }, /3 samples had a time that cannot be.*clock/],
  ["the governor", { left_out: "one of 4 samples is taken" }, /at its limit: one of 4/],
  ["senders who are to come later", { turns_senders_away: true }, /told to come later.*--max-cpu/],
  ["lost samples", { sampling: [{ name: "samples_sent", value: 900 }, { name: "samples_lost_ring", value: 60 }, { name: "samples_lost_ticks", value: 40 }] }, /100 of 1,000 samples of this machine were lost/],
  ["who is refused", { senders: [{ peer: "10.0.0.1", agent: "x/1", requests: 10, refused: 5 }] }, /5 of 10 requests of 10\.0\.0\.1 \(x\/1\)/]])
  test(`says what to do about ${what}`, () => {
    const found = problems({ ...well, ...change }, []);
    assert.equal(found.length, 1);
    assert.match(found[0].join(" "), want);
  });

test("says which hosts are silent, of many only some", () => {
  assert.match(problems(well, [["a", 300], ["b", 5]])[0][0], /^a has been silent for 5\.0 min$/);
  const many = problems(well, Array.from({ length: 20 }, (_, i) => ["h" + i, 200]));
  assert.equal(many.length, 1);
  assert.match(many[0][0], /20 hosts.*h0, h1, h2, h3, h4, …/);
});

test("a host's last sample is that of its last bucket with something in it", () => {
  assert.deepEqual(hostRows({ from: 0, to: 100, lines: [{ name: "a", values: [0, 1, 1, 0, 0] }, { name: "(other)", values: [1, 1, 1, 1, 1] }, { name: "b", values: [0, 0, 0, 0, 5] }] }), [["a", 40, 0.4], ["b", 0, 1]]);
});
