// SPDX-License-Identifier: Apache-2.0
// The source of a function: which lines are shown, what is said of them, and what is copied.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerWith, asked, back, open } from "./page.mjs";

globalThis.document.getElementById = () => ({ addEventListener() {} });
const { amount, asText, hotLines, hottest, notes, rowsOf, withGaps, default: tab } = await import("../../ui/tabs/source.js");

const answer = (more = {}) => ({ unit: "count", period: "10000000", all: 400, self: 60, total: 100, unknown: { self: 10, total: 50 }, left_out: { self: 0, total: 0 },
  files: [{ file: "/b/pay.c", start: 10, lines: [[11, 20, 20], [13, 25, 25]] }, { file: "/b/pay.h", start: 2, lines: [[3, 5, 5]] }],
  text: { file: "/b/pay.c", path: "/src/pay.c", first: 10, lines: ["int pay(void)", "{", "\treturn <b>1</b>;", "}"], changed: false }, ...more });
const numbers = rows => rows.map(({ line, self, total, text }) => [line, self, total, text]);

test("lines of text have what samples were taken at them", () => {
  assert.deepEqual(numbers(rowsOf(answer())), [[10, 0, 0, "int pay(void)"], [11, 20, 20, "{"], [12, 0, 0, "\treturn <b>1</b>;"], [13, 25, 25, "}"]]);
});

test("lines that have something are there without a text, and outside of it", () => {
  assert.deepEqual(numbers(rowsOf(answer({ text: { file: "/b/pay.c", why: "no" } }))), [[11, 20, 20, ""], [13, 25, 25, ""]]);
  const moved = answer({ text: { file: "/b/pay.c", path: "/src/pay.c", first: 12, lines: ["x"], changed: true } });
  assert.deepEqual(numbers(rowsOf(moved)), [[11, 20, 20, ""], [12, 0, 0, "x"], [13, 25, 25, ""]]);
});

test("lines are those of the file that is shown", () => {
  assert.deepEqual(numbers(rowsOf(answer({ text: { file: "/b/pay.h", why: "no" } }))), [[3, 5, 5, ""]]);
  assert.deepEqual(rowsOf(answer({ files: [], text: { file: "", why: "no" } })), []);
});

test("what is left out between lines is a gap", () => {
  assert.deepEqual(withGaps([{ line: 3 }, { line: 4 }, { line: 9 }]), [{ line: 3 }, { line: 4 }, null, { line: 9 }]);
  assert.deepEqual(withGaps([]), []);
});

test("the hottest line is the one with most of its own, then in all", () => {
  assert.equal(hottest(rowsOf(answer())).line, 13);
  assert.equal(hottest([{ line: 1, self: 0, total: 3 }, { line: 2, self: 0, total: 7 }, { line: 3, self: 0, total: 0 }]).line, 2);
  assert.equal(hottest([{ line: 1, self: 0, total: 0 }]), undefined);
  assert.deepEqual(hotLines(rowsOf(answer())), [11, 13]);
});

test("amounts are what values are", () => {
  assert.equal(amount(50, { unit: "count", period: "10000000" }), "500 ms");
  assert.equal(amount(2e9, { unit: "nanoseconds", period: "" }), "2.00 s");
  assert.equal(amount(2048, { unit: "bytes", period: "" }), "2.0 KiB");
  assert.equal(amount(7, { unit: "count", period: "" }), "7");
});

test("it says in words what has no line, and where the text is from", () => {
  const told = notes(answer()).join(" ");
  assert.match(told, /^600 ms in the function itself, 1\.00 s with what it calls\./);
  assert.match(told, /50\.0 % of that has no line/);
  assert.match(told, /other files/);
  assert.match(told, /\/src\/pay\.c/);
  assert.doesNotMatch(told, /moved/);
  assert.match(notes(answer({ text: { ...answer().text, changed: true } })).join(" "), /lines may have moved/);
});

test("it says that hidden frames hide lines", () => {
  open("/?view=source&hide=memcpy");
  assert.match(notes(answer()).join(" "), /and no frames are hidden/);
  back();
  assert.doesNotMatch(notes(answer()).join(" "), /hidden/);
});

test("recursion is not collapsed, which would leave no lines", async () => {
  open("/?view=source&function=pay&in=/bin/shop&collapse=1");
  answerWith(answer({ files: [], text: { file: "", why: "no" } }));
  await tab.load().catch(() => {});    // there is no document to show it in
  assert.match(asked.at(-1), /^\/api\/v1\/source\?.*function=pay&in=%2Fbin%2Fshop/);
  assert.doesNotMatch(asked.at(-1), /collapse/);
  back();
});

test("it says what to do where there is no text, and where there is nothing", () => {
  assert.match(notes(answer({ text: { file: "/b/pay.c", why: "wick may read no source files here" } })).join(" "), /No text of \/b\/pay\.c: wick may read no source files here\./);
  assert.deepEqual(notes(answer({ self: 0, total: 0, unknown: { self: 0, total: 0 }, files: [], text: { file: "", why: "no" } })), ["The function is not in this range."]);
});

test("it is copied with its numbers", () => {
  assert.equal(asText(answer()), "line\tself\ttotal\tsource\n10\t\t\tint pay(void)\n11\t200 ms\t200 ms\t{\n12\t\t\t\treturn <b>1</b>;\n13\t250 ms\t250 ms\t}\n");
});
