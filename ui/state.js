// What is shown, as it stands in the URL: whoever opens the link sees the same.
const defaults = { view: "flame", from: "now-5m", to: "now", group: "", search: "", path: "", function: "", part: "", order: "self",
                   colour: "kind", icicle: "1", collapse: "", base: "before", find: "", show: "", live: "1" };

// What may be given more than once: labels that must hold, functions that stacks must have or not, and that are taken out.
export const lists = ["where", "focus", "ignore", "hide"];
const narrowing = ["focus", "ignore", "hide"];

export const state = { ...defaults, ...Object.fromEntries(lists.map(key => [key, []])) };
const listeners = [];

export function onChange(listener) {
  listeners.push(listener);
}

// Labels as keys of their own (?pid=12, ?trace_id=ab) are filters too, so that links can be made by hand.
const labels = ["host", "service", "namespace", "pod", "container", "process", "executable", "pid", "type", "thread", "tid",
                "cpu", "trace", "span"];

export function readURL() {
  const query = new URLSearchParams(location.search);
  for (const key of Object.keys(defaults))
    state[key] = query.get(key) ?? defaults[key];
  for (const key of lists)
    state[key] = query.getAll(key);
  for (const label of labels)
    for (const value of query.getAll(label))
      state.where.push(label + "=" + value);
  for (const label of ["trace", "span"])
    for (const value of query.getAll(label + "_id"))
      state.where.push(label + "=" + value.toLowerCase());
  if (query.has("from") && !state.from.startsWith("now"))
    state.live = query.get("live") ?? "";
}

function url() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(defaults))
    if (state[key] !== value)
      query.set(key, state[key]);
  for (const key of lists)
    for (const text of state[key])
      query.append(key, text);
  return "/" + (query.size ? "?" + query : "");
}

// A step that can be taken back; replace: one that need not.
export function change(changes, replace = false) {
  Object.assign(state, changes);
  if (url() !== location.pathname + location.search)
    history[replace ? "replaceState" : "pushState"](null, "", url());
  for (const listener of listeners)
    listener(changes);
}

addEventListener("popstate", () => {
  readURL();
  for (const listener of listeners)
    listener({ ...state });
});

// The range and the labels.
export function chosen(extra = {}) {
  const query = new URLSearchParams({ from: state.from, to: state.to, ...extra });
  for (const filter of state.where)
    query.append("where", filter);
  return query;
}

// The same, narrowed down to functions.
export function selection(extra = {}) {
  const query = chosen(extra);
  for (const key of narrowing)
    for (const text of state[key])
      query.append(key, text);
  if (state.collapse)
    query.set("collapse", "1");
  return query;
}

// Seconds since 1970 of a time as the URL has it.
export function absolute(text) {
  const units = { s: 1, m: 60, h: 3600, d: 86400 }, match = /^now(?:-(\d+)([smhd]))?$/.exec(text);
  return match ? Date.now() / 1000 - (match[1] ? match[1] * units[match[2]] : 0) : Number(text);
}

// The first picture is asked for as soon as this file is read, while the others are on their way.
let early = null;
readURL();
if (state.view === "flame") {
  const address = "/api/v1/flame?" + selection({ group: state.group });
  early = { address, answer: fetch(address) };
  early.answer.catch(() => {});
}

// One answer at a time for each kind of question: a newer question makes an older one moot.
const running = {};

export async function ask(name, query, slot = name) {
  running[slot]?.abort();
  const abort = running[slot] = new AbortController(), address = "/api/v1/" + name + "?" + query;
  const asked = early?.address === address ? early.answer : fetch(address, { signal: abort.signal });
  early = null;
  const answer = await asked.catch(error => {
    throw error.name === "AbortError" ? error : new Error("wick does not answer. Is it still running?");
  });
  if (answer.ok)
    return answer.json();
  let text = answer.statusText;
  try {
    text = (await answer.json()).error;
  } catch { /* no JSON: the status must do */ }
  throw new Error(text);
}
