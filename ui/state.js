// What is shown, as it stands in the URL: whoever opens the link sees the same.
// The tabs: index.html has the list.
export const tabs = [...document.querySelectorAll("#tabs > *")];
export const views = tabs.map(tab => tab.dataset.view);

// What is not in the URL. Tabs add keys of their own as they are read; until then these stay in the URL as they are.
const defaults = { view: "flame", from: "now-5m", to: "now", context: "", file: "", group: "auto", search: "", path: "", collapse: "", live: "1" };

// What an address shows that says nothing at all.
const START = "start";

// What may be given more than once: labels that must hold, functions that stacks must have or not, and that are taken out.
export const lists = ["where", "focus", "ignore", "hide"];
const narrowing = ["focus", "ignore", "hide"];

export const state = {};
const listeners = [];

export function declare(keys) {
  Object.assign(defaults, keys);
  for (const key in keys)
    state[key] ??= keys[key];
}

export function onChange(listener) {
  listeners.push(listener);
}

// Labels as keys of their own (?pid=12, ?trace_id=ab) are filters too, so that links can be made by hand.
export const labels = ["host", "service", "namespace", "pod", "container", "process", "executable", "pid", "type", "wait", "thread", "tid",
                "cpu", "trace", "span"];

// Samples may have labels of their own: label.KEY.
export const OWN = "label.";
export const isLabel = name => labels.includes(name) || name.startsWith(OWN);

// What is typed of a filter: its label and how that relates to the value, once they are there.
export function partsOf(filter) {
  const [, label, relation] = /^([^=!~]+)(!=|=|~)/.exec(filter) ?? [];
  return { label, relation };
}

// What is wrong with an address is said, and shown as if it were not there.
export const problems = [];

function refuse(key, instead, why) {
  state[key] = instead;
  problems.push(why + ".");
}

export function readURL() {
  const query = new URLSearchParams(location.search);
  for (const key in state)
    delete state[key];
  Object.assign(state, defaults, Object.fromEntries(lists.map(key => [key, []])));
  for (const [key, value] of query) {
    if (lists.includes(key))
      state[key].push(value);
    else if (isLabel(key))
      state.where.push(key + "=" + value);
    else if (key === "trace_id" || key === "span_id")
      state.where.push(key.slice(0, -3) + "=" + value.toLowerCase());
    else
      state[key] = query.get(key);
  }
  problems.length = 0;
  if (!views.includes(state.view))
    refuse("view", defaults.view, `There is no view "${state.view}"`);
  if (!query.size)
    state.view = START;
  for (const key of ["from", "to"])
    if (!/^(now(-\d{1,9}[smhd])?|\d{1,11}(\.\d*)?)$/.test(state[key]))
      refuse(key, defaults[key], `"${state[key]}" is no time: now, now-15m, or seconds since 1970`);
  if (query.has("from") && !state.from.startsWith("now"))
    state.live = query.get("live") ?? "";
}

function url() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (lists.includes(key))
      value.forEach(text => query.append(key, text));
    else if (value !== defaults[key])
      query.set(key, value);
  }
  if (query.size === (state.view === START ? 1 : 0))
    return state.view === START ? "/" : "/?view=" + state.view;
  return "/?" + query;
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

// ---- Steps that more than one tab takes

// around: a longer range that stays in sight.
export function chooseRange(from, to, around) {
  change({ from: from.toFixed(3), to: to.toFixed(3), live: "", context: around ? `${around.from.toFixed(3)}~${around.to.toFixed(3)}` : "" });
}

// The range of the chart: what was around the one that is looked at when it was chosen, as long as that is in it.
export function chartRange() {
  const [from, to] = state.context.split("~").map(Number);
  return to > from && absolute(state.from) >= from - 1 && absolute(state.to) <= to + 1 ? { from: String(from), to: String(to) } : { from: state.from, to: state.to };
}

// The label that frames of groups are values of, once the server has told.
export const grouping = { by: "process" };

export function addFilter(text) {
  if (text && !state.where.includes(text))
    change({ where: [...state.where, text], path: "" });
}

// In place of those of the same labels.
export function replaceFilters(...filters) {
  const label = filter => filter.split("=")[0], replaced = new Set(filters.map(label));
  return [...state.where.filter(filter => !replaced.has(label(filter))), ...filters];
}

const add = (key, text) => state[key].includes(text) || change({ [key]: [...state[key], text], path: "" });
export const narrowTo = text => add("focus", text);
export const narrowWithout = text => add("ignore", text);
export const hide = text => add("hide", text);
// A function is its name and the file that holds it.
export const lookAt = (name, file) => change({ view: "sandwich", function: name, in: file || "", up: "", down: "" });

// From a spike, a trace or a line of the log to its flame graph.
export function lookAtMoment(from, to, ...filters) {
  const where = replaceFilters(...filters.flat().filter(Boolean));
  change({ view: "flame", from: from.toFixed(3), to: to.toFixed(3), live: "", context: "", path: "", where });
}

// ---- Questions

// The range and the labels; of a file that is only looked at, if there is one.
export function chosen(extra = {}) {
  const query = new URLSearchParams({ from: state.from, to: state.to, ...(state.file ? { file: state.file } : {}), ...extra });
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

// The same as a flame graph.
export function flameSelection(extra = {}) {
  return selection({ group: state.group, ...(state.inverted ? { inverted: "1" } : {}), ...extra });
}

// Seconds since 1970 of a time as the URL has it.
export function absolute(text) {
  const units = { s: 1, m: 60, h: 3600, d: 86400 }, match = /^now(?:-(\d+)([smhd]))?$/.exec(text);
  return match ? Date.now() / 1000 - (match[1] ? match[1] * units[match[2]] : 0) : Number(text);
}

// The first picture is asked for as soon as this file is read, while the others are on their way.
let early = null;
readURL();
const { first } = tabs[views.indexOf(state.view)].dataset;
if (first) {
  const address = `/api/v1/${first}?` + flameSelection();
  early = { address, answer: fetch(address) };
  early.answer.catch(() => {});
}

// What answers have cost the server, in milliseconds of a CPU, since somebody last set it to 0.
export const spent = { ms: 0 };

const costOf = answer => Number(/cpu;dur=([\d.]+)/.exec(answer.headers?.get("server-timing") ?? "")?.[1] ?? 0);

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
  spent.ms += costOf(answer);
  if (answer.ok)
    return answer.json();
  // Whoever was let in before is asked again, and then comes back here.
  if (answer.status === 401)
    location.reload();
  let text = answer.statusText;
  try {
    text = (await answer.json()).error;
  } catch { /* no JSON: the status must do */ }
  throw new Error(text);
}
