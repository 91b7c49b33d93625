// SPDX-License-Identifier: Apache-2.0
// What modules of the page need of a browser, for tests without one: an address with its history, and the list of tabs as index.html has it.
import fs from "node:fs";

export const root = new URL("../../ui/", import.meta.url);
export const index = fs.readFileSync(new URL("index.html", root), "utf8");

const tabs = [...index.matchAll(/<button role="tab" ([^>]*)>([^<]*)</g)].map(([, attributes, textContent]) => ({ textContent,
  dataset: Object.fromEntries([...attributes.matchAll(/data-(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value])) }));

const stack = ["/?view=flame"], listeners = {};
export const asked = [];
let answer = {};

function goTo(address) {
  const { pathname, search } = new URL(address, "http://localhost");
  globalThis.location = { pathname, search, origin: "http://localhost" };
}

goTo(stack[0]);
globalThis.document = { querySelectorAll: selector => selector === "#tabs > *" ? tabs : [], getElementById: () => null,
                        documentElement: {}, activeElement: null, addEventListener() {} };
globalThis.addEventListener = (name, listener) => listeners[name] = listener;
globalThis.history = { pushState: (_, __, address) => goTo((stack.push(address), address)),
                       replaceState: (_, __, address) => goTo(stack[stack.length - 1] = address) };
globalThis.fetch = async address => (asked.push(address), { ok: true, json: async () => answer });

export const address = () => stack.at(-1);
export const depth = () => stack.length;
export const answerWith = what => answer = what;

// As if the address had been typed in, or gone back to.
export function open(where) {
  stack.push(where);
  goTo(where);
  listeners.popstate();
}

export function back() {
  stack.pop();
  goTo(stack.at(-1));
  listeners.popstate();
}

// An answer of /api/v1/flame, of nested [name, self, ...children]; names that end in "]" are of the kernel.
export function flameAnswer(tree, more = {}) {
  const names = [""], nodes = { frame: [], self: [], rest: [], children: [] };
  const add = ([name, self, ...children]) => {
    nodes.frame.push(nodes.frame.length ? (names.push(name), 0) : 0);
    nodes.self.push(self);
    nodes.rest.push(0);
    nodes.children.push(children.length);
    children.forEach(add);
  };
  add(tree);
  const column = value => names.map(value);
  return { frames: { name: names, kind: column((name, i) => i && name.endsWith("]") ? 1 : i ? 2 : 0), executable: column((_, i) => i ? 1 : 0), file: column(() => 0),
                     line: column((_, i) => i), address: column(() => ""), inlined: column(() => 0) },
           files: ["a.c"], kinds: ["", "kernel", "native"], colours: ["#cdb79e", "#e8590c", "#f2b84b"], executables: ["\n", "/usr/bin/shop\nabc"], unit: "count", period: 10000000, total: 1, nodes, ...more };
}
