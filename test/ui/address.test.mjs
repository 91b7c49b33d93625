// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { address, asked, answerWith, back, depth, open } from "./page.mjs";

const s = await import("../../ui/state.js");
const { state } = s, rest = () => structuredClone(state);

test("the first picture is asked for at once", () => {
  assert.equal(asked[0], "/api/v1/flame?from=now-5m&to=now&group=auto");
});

test("an address that says nothing is the start, and any other the flame graph unless it says so", () => {
  for (const [where, view] of [["/", "start"], ["/?live=", "flame"], ["/?pid=1", "flame"], ["/?view=start&pid=1", "start"], ["/?view=top", "top"]]) {
    open(where);
    assert.equal(state.view, view, where);
  }
  open("/");
  s.change({ view: "flame" });
  assert.equal(address(), "/?view=flame");
  s.change({ view: "start" });
  assert.equal(address(), "/");
  s.change({ search: "x" });
  assert.equal(address(), "/?view=start&search=x");
  s.change({ view: "flame" });
  assert.equal(address(), "/?search=x");
});

test("what is not in the address has its default", () => {
  open("/?view=flame");
  assert.deepEqual({ ...state }, { view: "flame", from: "now-5m", to: "now", context: "", file: "", group: "auto", search: "", path: "", collapse: "", live: "1",
                                   where: [], focus: [], ignore: [], hide: [] });
});

for (const [name, changes] of Object.entries({
  "a view": { view: "top" }, "a range": { from: "100.000", to: "200.000", live: "" }, "an odd search": { search: "/a+b?&=#%\u001f é/" },
  "a path": { path: "main\u001fa;b\u001e/usr/bin/x" }, "filters": { where: ["process=a b", "thread~x&y", "host!=c"] },
  "all lists": { focus: ["a"], ignore: ["b", "/c/"], hide: ["kind=kernel"] }, "a key of a tab that was not read": { part: "malloc", order: "total" } }))
  test(`an address keeps ${name}`, () => {
    open("/");
    s.change(changes);
    const before = rest();
    open(address());
    assert.deepEqual(rest(), before);
    for (const key in changes)
      assert.deepEqual(state[key], changes[key]);
  });

test("defaults do not stand in the address", () => {
  open("/?view=top&search=x");
  s.change({ view: "flame" });
  assert.equal(address(), "/?search=x");
  s.change({ search: "" });
  assert.equal(address(), "/?view=flame");
});

test("a tab's own keys are read with its defaults", () => {
  open("/?colours=dark");
  s.declare({ colours: "light", size: "7" });
  assert.equal(state.colours, "dark");
  assert.equal(state.size, "7");
  s.change({ colours: "light" });
  assert.equal(address(), "/?view=flame");
  s.change({ size: "" });
  assert.equal(address(), "/?size=");
});

test("labels as keys are filters", () => {
  open("/?pid=12&host=a&trace_id=ABCDEF&span_id=0A&where=cpu%3D1");
  assert.deepEqual(state.where, ["pid=12", "host=a", "trace=abcdef", "span=0a", "cpu=1"]);
});

for (const bad of ["nothing", "__proto__", "constructor", "../app"])
  test(`a view that there is not is the first one, and said so: ${bad}`, () => {
    open("/?view=" + bad);
    assert.equal(state.view, "flame");
    assert.match(s.problems.join(), /There is no view/);
    open("/");
    assert.deepEqual(s.problems, []);
  });

for (const bad of ["yesterday", "now+1h", "now-5", "1e9", "-1", ""])
  test(`a time that is none is the default, and said so: ${bad}`, () => {
    open("/?from=" + encodeURIComponent(bad));
    assert.equal(state.from, "now-5m");
    assert.match(s.problems.join(), /no time/);
  });

test("the chart shows what is around a range that was chosen in it", () => {
  open("/?from=now-1h");
  s.chooseRange(1000, 1010, { from: 900, to: 1100 });
  assert.deepEqual(s.chartRange(), { from: "900", to: "1100" });
  s.change({ from: "100", to: "110" });
  assert.deepEqual(s.chartRange(), { from: "100", to: "110" });
});

test("a key that is given twice counts once", () => {
  open("/?from=1&from=2");
  assert.equal(state.from, "1");
});

for (const [query, live] of [["", "1"], ["?live=", ""], ["?from=100", ""], ["?from=100&live=1", "1"], ["?from=now-1h", "1"]])
  test(`a range of the past is not live: ${query}`, () => {
    open("/" + query);
    assert.equal(state.live, live);
  });

test("going back takes a step back, and typing is none", () => {
  open("/");
  const before = depth();
  s.change({ view: "top" });
  s.change({ part: "a" }, true);
  s.change({ part: "ab" }, true);
  assert.equal(depth(), before + 1);
  back();
  assert.equal(state.view, "start");
  assert.equal(state.part, undefined);
});

test("those who listen hear what has changed", () => {
  open("/");
  const heard = [];
  s.onChange(changes => heard.push(changes));
  s.change({ group: "host" });
  assert.deepEqual(heard, [{ group: "host" }]);
  back();
  assert.equal(heard[1].group, "auto");
});

test("filters are added once, and end a zoom", () => {
  open("/?path=a&where=pid%3D1");
  s.addFilter("pid=1");
  s.addFilter("");
  assert.deepEqual([state.where, state.path], [["pid=1"], "a"]);
  s.addFilter("host=b");
  assert.deepEqual([state.where, state.path], [["pid=1", "host=b"], ""]);
  assert.deepEqual(s.replaceFilters("pid=2"), ["host=b", "pid=2"]);
});

for (const [what, key] of [["narrowTo", "focus"], ["narrowWithout", "ignore"], ["hide", "hide"]])
  test(`${what} is kept as ${key}, once`, () => {
    open("/?path=a");
    s[what]("x");
    s[what]("x");
    assert.deepEqual([state[key], state.path], [["x"], ""]);
  });

test("a moment is a range with its filters, not live", () => {
  open("/?view=traces&where=pid%3D1&where=host%3Da");
  s.lookAtMoment(1, 2.5, null, ["pid=2"]);
  assert.deepEqual([state.view, state.from, state.to, state.live, state.where], ["flame", "1.000", "2.500", "", ["host=a", "pid=2"]]);
  s.chooseRange(3, 4);
  assert.deepEqual([state.from, state.to, state.live], ["3.000", "4.000", ""]);
  s.lookAt("f");
  assert.deepEqual([state.view, state.function], ["sandwich", "f"]);
});

test("questions have the range, the filters, and what it is narrowed to", () => {
  open("/?from=1&to=2&where=a%3Db&focus=c&ignore=d&hide=e&collapse=1");
  assert.equal(String(s.chosen({ by: "x" })), "from=1&to=2&by=x&where=a%3Db");
  assert.equal(String(s.selection()), "from=1&to=2&where=a%3Db&focus=c&ignore=d&hide=e&collapse=1");
});

for (const [text, back] of [["now", 0], ["now-90s", 90], ["now-5m", 300], ["now-2h", 7200], ["now-7d", 604800]])
  test(`${text} is so many seconds ago`, () => {
    assert.ok(Math.abs(Date.now() / 1000 - back - s.absolute(text)) < 1);
  });

test("a time in seconds is itself", () => {
  assert.equal(s.absolute("123.5"), 123.5);
  assert.ok(Number.isNaN(s.absolute("now-5x")));
});

test("an answer is read, and what is wrong is said", async () => {
  answerWith({ a: 1 });
  assert.deepEqual(await s.ask("x", "q=1"), { a: 1 });
  assert.equal(asked.at(-1), "/api/v1/x?q=1");
  const fetched = globalThis.fetch;
  for (const [reply, text] of [[async () => ({ ok: false, json: async () => ({ error: "no such label" }) }), /no such label/],
                               [async () => ({ ok: false, statusText: "Bad Gateway", json: async () => JSON.parse("<") }), /Bad Gateway/],
                               [async () => { throw new TypeError("x"); }, /does not answer/]]) {
    globalThis.fetch = reply;
    await assert.rejects(s.ask("x", ""), text);
  }
  globalThis.fetch = fetched;
});

test("a newer question makes an older one moot", async () => {
  const fetched = globalThis.fetch, signals = [];
  globalThis.fetch = async (_, { signal }) => (signals.push(signal), { ok: true, json: async () => 1 });
  await Promise.all([s.ask("x", "1"), s.ask("x", "2"), s.ask("x", "3", "other")]);
  globalThis.fetch = fetched;
  assert.deepEqual(signals.map(signal => signal.aborted), [true, false, false]);
});

test("labels of samples are filters like others", () => {
  open("/?label.tenant=acme&label.http.route=%2Fa&where=label.tenant!%3Db");
  assert.deepEqual(state.where, ["label.tenant=acme", "label.http.route=/a", "label.tenant!=b"]);
  for (const [typed, label, relation] of [["label.http.route~/api", "label.http.route", "~"], ["label.a b!=c=d", "label.a b", "!="], ["host=a", "host", "="],
                                          ["label.ten", undefined, undefined], ["=a", undefined, undefined], ["", undefined, undefined]])
    assert.deepEqual(s.partsOf(typed), { label, relation });
  assert.ok(s.isLabel("host") && s.isLabel("label.host") && !s.isLabel("label") && !s.isLabel("hosts"));
});
