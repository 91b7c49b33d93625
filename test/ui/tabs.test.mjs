// SPDX-License-Identifier: Apache-2.0
// That a tab is a file and a line: each line has its file, each file its line.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { index, root } from "./page.mjs";

const { state, views } = await import("../../ui/state.js");
globalThis.document.getElementById = () => ({ addEventListener() {} });
const files = fs.readdirSync(new URL("tabs", root)).map(name => name.replace(/\.js$/, "")), common = Object.keys(state);
const tabs = Object.fromEntries(await Promise.all(files.map(async name => [name, (await import(`../../ui/tabs/${name}.js`)).default])));

test("each tab in the list has its file, and the other way round", () => {
  assert.deepEqual([...views].sort(), [...files].sort());
});

for (const [name, tab] of Object.entries(tabs)) {
  test(`${name} can be loaded`, () => assert.equal(typeof tab.load, "function"));
  test(`${name} has nothing that the page does not know`, () => {
    const known = ["address", "html", "css", "start", "load", "changed", "restyle", "picture", "keys", "help", "take"];
    assert.deepEqual(Object.keys(tab).filter(key => !known.includes(key)), []);
  });
  test(`${name} keeps no key of the address that is the page's or a label's`, () => {
    assert.deepEqual(Object.keys(tab.address ?? {}).filter(key => common.includes(key) || ["host", "pid", "thread", "type"].includes(key)), []);
  });
  test(`each control of ${name} is for a key of the address`, () => {
    const controls = [...(tab.html ?? "").matchAll(/<(?:input|select)[^>]* name="([^"]*)"/g)].map(([, key]) => key);
    assert.deepEqual(controls.filter(key => !(key in (tab.address ?? {})) && !common.includes(key)), []);
  });
}

test("no two tabs have the same id in their panels, nor have the page", () => {
  const ids = [index, ...Object.values(tabs).map(tab => tab.html ?? "")].flatMap(html => [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
  assert.deepEqual(ids.filter((id, i) => ids.indexOf(id) !== i), []);
});

test("a key that leads to a tab does something there", () => {
  for (const [, view, keys] of index.matchAll(/data-view="(\w+)"[^>]* data-keys="([^"]*)"/g))
    for (const key of keys.split(" "))
      assert.equal(typeof tabs[view].keys[key], "function", key);
});

test("the help tells of each key of a tab", () => {
  for (const { keys = {}, help = [] } of Object.values(tabs))
    for (const key in keys)
      assert.ok(help.some(([told]) => told.split(" ").includes(key === "Escape" ? "Esc" : key)), key);
});

// What the first picture needs comes in one go: nothing is found out only when another file has come.
test("the first picture's modules are all preloaded", () => {
  const needed = new Set(), scripts = [...index.matchAll(/<script type="module" src="\/ui\/([^"]*)"/g)].map(([, name]) => name);
  const add = name => {
    if (needed.has(name))
      return;
    needed.add(name);
    for (const [, from] of fs.readFileSync(new URL(name, root), "utf8").matchAll(/^(?:import| ).* from "([^"]*)";/gm))
      add(new URL(from, new URL(name, "http://x/")).pathname.slice(1));
  };
  [...scripts, "tabs/flame.js"].forEach(add);
  const preloaded = [...index.matchAll(/rel="modulepreload" href="\/ui\/([^"]*)"/g)].map(([, name]) => name);
  assert.deepEqual([...preloaded, ...scripts].sort(), [...needed].sort());
});
