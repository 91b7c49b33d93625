// SPDX-License-Identifier: Apache-2.0
// The first switch, what it changes, and the colours of reasons.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { open } from "./page.mjs";

globalThis.document.getElementById = () => ({ addEventListener() {} });
const { state } = await import("../../ui/state.js"), { split, stepTo } = await import("../../ui/kinds.js"), { INK } = await import("../../ui/colours.js");
const { RUNNING, reasonColour, reasonNames, reasonWord } = await import("../../ui/waits.js"), { rate, values } = await import("../../ui/tree.js");

const type = (name, kind) => ({ type: name, kind, title: name });
const cpu = type("samples", "cpu"), time = type("cpu", "cpu"), faults = type("page-faults", "faults"), wall = type("wall", "wall"), waits = type("off_cpu", "off_cpu"), lanes = type("lanes", "lanes");

test("the switch is CPU, Wall, Waiting, as far as they are there", () => {
  const words = types => split(types).words.map(([{ type: name }, word]) => `${word} ${name}`), others = types => split(types).others.map(({ type: name }) => name);
  assert.deepEqual(words([cpu, time, faults, waits, wall, lanes]), ["CPU samples", "Wall wall", "Waiting off_cpu"]);
  assert.deepEqual(others([cpu, time, faults, waits, wall, lanes]), ["cpu", "page-faults", "lanes"]);
  assert.deepEqual(words([cpu, waits]), ["CPU samples", "Waiting off_cpu"]);
  assert.deepEqual([words([cpu, faults]), others([cpu, faults])], [[], ["samples", "page-faults"]]);
  assert.deepEqual([words([]), others([])], [[], []]);
});

test("waits are shown by what they are for, unless another group was chosen", () => {
  open("/?view=flame&where=process%3Dshop");
  assert.deepEqual(stepTo(cpu, waits), { where: ["process=shop", "type=off_cpu"], path: "", group: "wait" });
  open("/?view=flame&group=thread");
  assert.equal(stepTo(cpu, waits).group, undefined);
  open("/?view=flame&group=wait&where=type%3Doff_cpu&where=wait%3Dfutex&where=waiter%3Dx&wait=disk");
  assert.deepEqual(stepTo(waits, wall), { where: ["wait=futex", "waiter=x", "wait=disk", "type=wall"], path: "", group: "wait" });
  assert.deepEqual(stepTo(waits, cpu), { where: ["waiter=x", "type=samples"], path: "", group: "auto" });
  open("/?view=flame&where=wait!%3Dpoll");
  assert.deepEqual(stepTo(waits, cpu).where, ["type=samples"]);
  open("/");
  assert.equal(stepTo(cpu, waits).view, "flame");
  assert.equal(stepTo(cpu, faults).view, undefined);
  assert.equal(state.view, "start");
});

test("each reason that the profiler tells has a word and a colour of its own", () => {
  const told = [...fs.readFileSync(new URL("../../kinds/waits.h", import.meta.url), "utf8").matchAll(/X\([A-Z_]+, "(\w*)"\)/g)].map(([, name]) => name);
  assert.deepEqual([...reasonNames].sort(), told.sort());
  assert.equal(new Set(reasonNames.map(reasonColour)).size, reasonNames.length);
  assert.equal(new Set(reasonNames.map(reasonWord)).size, reasonNames.length);
  assert.equal(reasonColour(RUNNING), reasonColour(""));
  assert.equal(reasonWord("boredom"), "boredom");
});

test("text can be read on each of them", () => {
  const part = (colour, at) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = colour => 0.2126 * part(colour, 1) + 0.7152 * part(colour, 3) + 0.0722 * part(colour, 5);
  for (const name of reasonNames)
    assert.ok((light(reasonColour(name)) + 0.05) / (light(INK) + 0.05) >= 4.5, name);
});

test("time that threads wait is threads, not CPUs", () => {
  Object.assign(values, { type: "off_cpu", kind: "off_cpu", sum: "nanoseconds" });
  assert.deepEqual([rate(1), rate(12.3), rate(10, 5)], ["1.00 thread", "12.3 threads", "10"]);
  Object.assign(values, { type: "samples", kind: "cpu" });
  assert.equal(rate(2), "2.00 CPUs");
});
