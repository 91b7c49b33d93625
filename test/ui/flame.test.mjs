// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { flameAnswer } from "./page.mjs";
import { INK, differenceColour, frameColours, kindColour, textColour } from "../../ui/colours.js";
import { Flame, fitting } from "../../ui/flame.js";
import { Tree } from "../../ui/tree.js";

const ROW = 20, answer = () => flameAnswer(["", 0, ["a", 100, ["b", 300]], ["c", 599, ["tiny", 1]]]);

// Delete has no width: that is what letters outside ASCII are measured by, as 12.
const measureText = text => ({ width: text === "\x7f" ? 0 : 6 * text.length });

// A flame on a canvas that notes what is drawn: each letter is 6 wide.
function picture(given = answer(), more = {}) {
  const rects = [], texts = [], events = [];
  const context = { fillRect: (x, y, width, height) => rects.push({ x, y, width, height, fill: context.fillStyle, alpha: context.globalAlpha }),
                    fillText: (text, x, y) => texts.push({ text, x, y }), strokeRect() {}, setTransform() {}, measureText };
  const canvas = { style: {}, getBoundingClientRect: () => ({ left: 10, top: 5 }) };
  const flame = Object.assign(Object.create(Flame.prototype), { tree: new Tree(given), root: 0, from: 0, to: 1, hovered: -1, chosen: 0, found: null, colour: "kind", icicle: true,
    context, canvas, box: { scrollTop: 0 }, spacer: { style: {} }, boxWidth: 1000, boxHeight: 400, top: 0, pointers: new Map(),
    colours: { bg: "bg", fg: "fg", dim: "dim", line: "line", found: "found" },
    events: { zoom: node => events.push(["zoom", node]), hover: node => events.push(["hover", node]), menu: node => events.push(["menu", node]) } }, more);
  globalThis.devicePixelRatio = 1;
  flame.draw();
  return { flame, events, texts, rects, again: () => (rects.length = texts.length = 0, flame.draw()),
           key: key => { let isTaken = false; flame.key({ key, preventDefault: () => isTaken = true, stopPropagation() {} }); return isTaken; },
           box: name => { const node = [...Array(flame.tree.count).keys()].find(i => flame.tree.name(i) === name); return flame.place(node); } };
}

test("each frame is where its share is", () => {
  const { box, rects } = picture();
  assert.deepEqual(["all", "a", "b", "c"].map(box), [[0, 0, 1000], [0, 20, 400], [0, 40, 300], [400, 20, 600]]);
  assert.deepEqual(rects.slice(1, 5).map(({ x, y, width }) => [x, y, width]), [[0, 0, 999], [0, 20, 399], [400, 20, 599], [0, 40, 299]]);
});

test("flames stand on the ground", () => {
  const { box } = picture(answer(), { icicle: false });
  assert.deepEqual(["all", "a", "b"].map(name => box(name)[1]), [40, 20, 0]);
});

test("names stand in frames that are wide enough", () => {
  const { texts } = picture();
  assert.deepEqual(texts.map(({ text, x, y }) => [text, x, y]), [["all", 4, 10], ["a", 4, 30], ["c", 404, 30], ["b", 4, 50]]);
});

for (const [text, room, shown] of [["main", 24, "main"], ["main", 23, "m…"], ["main", 17, ""], ["a_long_name", 40, "a_lo…"], ["", 10, ""], ["日本語", 36, "日本語"], ["日本語", 30, "日…"]])
  test(`${text} in ${room} is cut to ${shown}`, () => assert.equal(fitting({ measureText }, text, room), shown));

test("a frame that is zoomed into has the whole width", () => {
  const { flame, box, events } = picture();
  flame.zoom(flame.tree.find("c"));
  assert.deepEqual(box("c").map(Math.round), [0, 20, 1000]);
  assert.deepEqual(events, [["zoom", flame.tree.find("c")]]);
  flame.zoom(-1);
  assert.equal(events.length, 1);
});

test("a window stays within the whole", () => {
  const { flame } = picture();
  flame.soon = 1;
  for (const [from, to, want] of [[-0.5, 0.5, [0, 1]], [0.2, 0.4, [0.2, 0.4]], [0.9, 1.1, [0.8, 1]], [-1, 3, [0, 1]], [0.5, 0.5, [0.5, 0.5 + 1e-7]]]) {
    flame.window(from, to);
    assert.ok(Math.abs(flame.from - want[0]) < 1e-12 && Math.abs(flame.to - want[1]) < 1e-12, `${from} ${to}: ${flame.from} ${flame.to}`);
  }
});

test("scaling keeps what is under the mouse in its place", () => {
  const { flame } = picture();
  flame.soon = 1;
  flame.scale(0.5, 0.25);
  assert.deepEqual([flame.from, flame.to], [0.125, 0.625]);
  flame.scale(100, 0.5);
  assert.deepEqual([flame.from, flame.to], [0, 1]);
});

for (const [x, y, name] of [[15, 10, "all"], [15, 30, "a"], [415, 30, "c"], [305, 50, "b"], [315, 46, null], [500, 50, null], [15, 300, null]])
  test(`at ${x}, ${y} is ${name}`, () => {
    const { flame } = picture(), node = flame.at({ clientX: x, clientY: y });
    assert.equal(node < 0 ? null : flame.tree.name(node), name);
  });

test("what was left out belongs to its node", () => {
  const given = answer();
  given.nodes.rest[1] = 200;
  const { flame, texts } = picture(given);
  assert.equal(flame.tree.name(flame.at({ clientX: 10 + 350, clientY: 5 + 45 })), "a");
  assert.ok(texts.some(({ text }) => text === "(other)"));
});

test("narrow frames are drawn as one", () => {
  const many = picture(flameAnswer(["", 0, ...Array.from({ length: 2000 }, (_, i) => ["f" + i, 1])]));
  assert.ok(many.rects.length < 10, many.rects.length);
  assert.deepEqual([many.rects.at(-1).x, Math.round(many.rects.at(-1).width)], [0, 1000]);
});

test("what a search does not mean is faded", () => {
  const { flame, rects, again } = picture();
  flame.found = flame.tree.match("b");
  again();
  const at = (x, y) => rects.find(rect => rect.x === x && rect.y === y && rect.height === ROW - 1);
  assert.deepEqual([at(0, 40).fill, at(0, 40).alpha, at(0, 20).alpha], ["found", 1, 0.38]);
});

test("matches are gone through in a ring", () => {
  const { flame } = picture(flameAnswer(["", 0, ["x1", 100], ["y", 100], ["x2", 100], ["x3", 100]]));
  flame.found = flame.tree.match("x");
  assert.deepEqual([1, 1, 1, 1, -1, -1].map(step => (flame.next(step), flame.tree.name(flame.chosen))), ["x1", "x2", "x3", "x1", "x3", "x2"]);
  flame.found = flame.tree.match("nothing");
  assert.equal(flame.next(1), undefined);
});

test("keys move from frame to frame", () => {
  const { flame, key, events } = picture(), at = () => flame.tree.name(flame.chosen);
  const way = [["ArrowDown", "c"], ["ArrowLeft", "a"], ["ArrowLeft", "a"], ["ArrowDown", "b"], ["ArrowUp", "a"], ["ArrowRight", "c"], ["Home", "all"], ["ArrowUp", "all"]];
  for (const [name, want] of way) {
    assert.ok(key(name), name);
    assert.equal(at(), want, name);
  }
  key("ArrowDown");
  key("Enter");
  key("Escape");
  assert.deepEqual(events.filter(([what]) => what === "zoom"), [["zoom", flame.tree.find("c")], ["zoom", 0]]);
  assert.ok(!key("x") && !key("Tab"));
});

test("keys go the other way in flames", () => {
  const { flame, key } = picture(answer(), { icicle: false });
  key("ArrowUp");
  assert.equal(flame.tree.name(flame.chosen), "c");
  key("ArrowDown");
  assert.equal(flame.chosen, 0);
});

// ---- Colours

const channel = value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = colour => [1, 3, 5].map(at => channel(parseInt(colour.slice(at, at + 2), 16) / 255)).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

test("text can be read on every kind's colour, in every shade", () => {
  new Tree(answer());
  for (const kind of ["kernel", "native", "none of these"])
    for (let shade = 0; shade <= 10; shade += 2.5)
      assert.ok(contrast(kindColour(kind, shade), INK) >= 4.5, kind);
});

test("text can be read on the colours of names and files", () => {
  for (let i = 0; i < 500; i++)
    assert.ok(contrast(textColour("name" + i), INK) >= 4.5, "name" + i);
});

test("one name has one colour", () => {
  assert.equal(textColour("malloc"), textColour("malloc"));
  assert.notEqual(textColour("malloc"), textColour("free"));
  assert.match(textColour("malloc"), /^#[0-9a-f]{6}$/);
});

test("colours go by kind, name or file", () => {
  const tree = new Tree(flameAnswer(["", 0, ["x]", 1], ["y", 1]])), file = i => i === 1 ? "f" : "g";
  assert.equal(frameColours(tree, "name", file)[2], textColour("y"));
  assert.equal(frameColours(tree, "file", file)[1], textColour("f"));
  const [hueOfKernel] = [kindColour("kernel")].map(colour => colour.slice(1, 3));
  assert.equal(frameColours(tree, "kind", file)[1].slice(1, 2), hueOfKernel.slice(0, 1));
});

test("more is red, less is blue, the same is grey", () => {
  const red = colour => parseInt(colour.slice(1, 3), 16), blue = colour => parseInt(colour.slice(5, 7), 16);
  for (const [now, then, want] of [[2, 1, "red"], [1, 0, "red"], [1, 2, "blue"], [0, 1, "blue"], [1, 1, "grey"], [0, 0, "grey"], [1, 0.99, "grey"]]) {
    const colour = differenceColour(now, then);
    assert.equal(colour === "#d3d5da" ? "grey" : red(colour) > blue(colour) ? "red" : "blue", want, `${now} ${then}`);
    assert.ok(contrast(colour, INK) >= 4.5);
  }
  assert.ok(light(differenceColour(4, 1)) < light(differenceColour(1.2, 1)), "the more, the stronger");
});

// New numbers, and a new frame before all others.
const later = () => new Tree(flameAnswer(["", 0, ["_new", 50], ["a", 150, ["b", 300]], ["c", 599, ["tiny", 1]]]));

test("new numbers for the same question leave what is chosen, pointed at and seen", () => {
  const { flame, events } = picture();
  flame.question = "q";
  flame.chosen = flame.tree.find("a\x1fb");
  flame.soon = 1;
  flame.window(0.1, 0.2);
  flame.hover(flame.tree.find("c"), { clientX: 1, clientY: 2 });
  events.length = 0;
  flame.show(later(), "", "q");
  assert.equal(flame.tree.name(flame.chosen), "b");
  assert.equal(flame.tree.name(flame.hovered), "c");
  assert.deepEqual(events, [["hover", flame.tree.find("c")]]);
  // 0.1 to 0.2 was a third to two thirds of b.
  const [left, width] = flame.share(flame.tree.find("a\x1fb"));
  assert.ok(Math.abs(flame.from - left - width / 3) < 1e-9 && Math.abs(flame.to - left - 2 * width / 3) < 1e-9);
});

test("another question begins with the whole", () => {
  const { flame } = picture();
  flame.question = "q";
  flame.chosen = flame.tree.find("a\x1fb");
  flame.from = 0.1;
  flame.show(later(), "", "another");
  assert.deepEqual([flame.chosen, flame.from, flame.to, flame.hovered], [0, 0, 1, -1]);
});
