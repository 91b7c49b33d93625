// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { flameAnswer } from "./page.mjs";
import { Tree, bytes, percent, seconds } from "../../ui/tree.js";
import { baseName, exactly, letters, matcher } from "../../ui/match.js";

const answer = () => flameAnswer(["", 0, ["zeta", 1, ["inner", 2], ["alpha", 4]], ["beta[k]", 8], ["alpha", 16, ["zeta", 32]]]);
const tree = new Tree(answer()), names = nodes => [...nodes].map(node => tree.name(node));

test("values add up to the root", () => {
  assert.deepEqual([...tree.value], [63, 7, 2, 4, 8, 48, 32]);
  assert.deepEqual([...tree.parent], [-1, 0, 1, 1, 0, 0, 5]);
  assert.deepEqual([...tree.level], [0, 1, 2, 2, 1, 1, 2]);
  assert.equal(tree.depth, 2);
});

test("siblings are laid out by name, without gaps", () => {
  assert.deepEqual(names(tree.children(0)), ["alpha", "beta[k]", "zeta"]);
  assert.deepEqual([...tree.children(0)].map(node => tree.left[node]), [0, 48, 56]);
  assert.deepEqual(names(tree.children(1)), ["alpha", "inner"]);
  assert.deepEqual([...tree.children(1)].map(node => tree.left[node]), [56, 60]);
  assert.deepEqual(names(tree.order), ["all", "alpha", "beta[k]", "zeta", "zeta", "alpha", "inner"]);
  assert.deepEqual(tree.starts, [0, 1, 4, 7]);
});

test("a frame that comes again is told by how far back it is", () => {
  const twice = new Tree({ ...flameAnswer(["", 0, ["a", 1, ["b", 1]]]), nodes: { frame: [0, 0, 0, 2], self: [0, 1, 1, 5], rest: [0, 0, 0, 0], children: [1, 1, 1, 0] } });
  assert.deepEqual([0, 1, 2, 3].map(node => twice.name(node)), ["all", "a", "b", "a"]);
});

for (const node of [0, 1, 2, 3, 4, 5, 6])
  test(`the path to node ${node} leads to it`, () => assert.equal(tree.find(tree.path(node)), node));

test("a path tells twins apart by their file, and finds the larger where it does not say", () => {
  const given = flameAnswer(["", 0, ["a", 1], ["a", 5], ["b", 1]]);
  given.executables.push("/bin/other\n");
  given.frames.executable = [0, 1, 2, 1];
  const twins = new Tree(given);
  assert.equal(twins.path(2), "a\u001e/bin/other");
  assert.deepEqual([twins.find(twins.path(1)), twins.find(twins.path(2)), twins.find("a"), twins.find("c"), twins.find("a\u001fb")], [1, 2, 2, -1, -1]);
});

test("what was pruned is known, and makes its node as wide", () => {
  const given = answer();
  given.nodes.rest[5] = 10;
  const pruned = new Tree(given);
  assert.ok(pruned.pruned && !tree.pruned);
  assert.equal(pruned.value[5], 58);
  assert.deepEqual([0, 1, 5, 6].map(node => pruned.isPruned(node)), [true, false, true, false]);
});

test("a part that was fetched in full takes its place", () => {
  const given = answer();
  given.nodes.rest[5] = 10;
  const whole = new Tree(given).graft(5, new Tree(flameAnswer(["", 16, ["zeta", 32], ["new", 10]])));
  assert.equal(whole.pruned, false);
  assert.deepEqual([whole.value[0], whole.value[5]], [73, 58]);
  assert.equal(whole.name(whole.find("alpha\u001fnew")), "new");
  assert.equal(whole.executable(whole.find("alpha\u001fnew")), "/usr/bin/shop");
});

test("two ranges have half of the width each", () => {
  const given = flameAnswer(["", 0, ["a", 10], ["b", 30]]);
  given.nodes.base = [4, 4, 0];
  const diff = new Tree(given);
  assert.ok(diff.compared);
  assert.deepEqual([...diff.width], [2, 1.25, 0.75]);
  given.nodes.base = [0, 0, 0];
  assert.equal(new Tree(given).compared, false);
});

test("a search counts the outermost alone", () => {
  assert.deepEqual(tree.match("ALPHA").found, [3, 5]);
  assert.equal(tree.match("alpha").share, (4 + 48) / 63);
  assert.equal(tree.match("a").share, 1);
  assert.equal(tree.match("/^zeta$/").share, (7 + 32) / 63);
  assert.deepEqual(tree.match("kind=kernel").found, [4]);
  assert.equal(tree.match("file=shop").share, 1);
  assert.deepEqual(tree.match("nothing").found, []);
  assert.throws(() => tree.match("/(/"));
});

test("labels are no functions", () => {
  const given = flameAnswer(["", 0, ["group", 0, ["f", 1]]]);
  given.kinds.push("label");
  given.frames.kind[1] = 3;
  assert.deepEqual(new Tree(given).match("group").found, []);
});

for (const [text, yes, no] of [["Foo", ["xfoox", "FOO"], ["fo", "bar"]], ["/^a.c$/", ["abc", "AXC"], ["abcd"]], ["//", ["a//b"], ["a"]], ["/", ["a/b"], ["ab"]],
                               ["É", ["É"], ["é"]], [exactly("a.b(c)[d]*"), ["a.b(c)[d]*"], ["axb(c)[d]*", "a.b(c)[d]**"]]])
  test(`${text} means some names`, () => {
    const means = name => matcher(text)(name, "native", "x", letters(name));
    for (const name of yes)
      assert.ok(means(name), name);
    for (const name of no)
      assert.ok(!means(name), name);
  });

test("a name that looks like an expression can be meant exactly", () => {
  for (const name of ["operator/", "a|b", "^x$", "f(int&) {lambda}", "\\n", "a+b?"])
    assert.ok(matcher(exactly(name))(name, "", "", letters(name)), name);
});

test("base names", () => {
  assert.deepEqual(["/a/b", "b", "/a/", ""].map(baseName), ["b", "b", "/a/", ""]);
});

for (const [value, text] of [[0, "0.00 ms"], [0.0015, "1.50 ms"], [0.01, "10 ms"], [0.999, "999 ms"], [1, "1.00 s"], [119.99, "119.99 s"], [120, "2.0 min"], [7199, "120.0 min"],
                             [7200, "2.0 h"]])
  test(`${value} seconds are ${text}`, () => assert.equal(seconds(value), text));

for (const [value, text] of [[0, "0 B"], [1023, "1023 B"], [1024, "1.0 KiB"], [1 << 20, "1.0 MiB"], [1.5 * 2 ** 30, "1.5 GiB"], [2 ** 41, "2048.0 GiB"]])
  test(`${value} bytes are ${text}`, () => assert.equal(bytes(value), text));

for (const [share, text] of [[0, "0.00 %"], [0.0005, "0.050 %"], [0.001, "0.10 %"], [0.05, "5.00 %"], [0.1, "10.0 %"], [1, "100.0 %"]])
  test(`a share of ${share} is ${text}`, () => assert.equal(percent(share), text));

for (const [unit, period, value, text] of [["count", 10000000, 250, "2.50 s (250 samples)"], ["count", 0, 250, "250 count"], ["nanoseconds", 0, 2e9, "2.00 s"],
                                           ["bytes", 0, 2048, "2.0 KiB"], ["", 0, 3, "3 "]])
  test(`an amount of ${unit || "no unit"} is said as ${text}`, () => assert.equal(new Tree({ ...answer(), unit, period }).amount(value), text));
