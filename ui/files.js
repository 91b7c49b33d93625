// Files that are looked at without being kept: dropped on the page, or chosen. wick has them in memory, for an hour after the last look.
import { ask, change, lists, state } from "./state.js";
import { toast } from "./copy.js";
import { element, update } from "./element.js";

const $ = id => document.getElementById(id);
let known = [];

// What wick has of them: [{ id, name, format, from, to, timed, samples }, ...].
export async function readFiles() {
  return known = await ask("files", "");
}

export const fileOf = id => known.find(file => file.id === id);

// All of a file, with some room for what is rounded; of one that does not say when, around the moment it came.
export function wholeRange({ from, to, timed }) {
  const room = timed ? 0.001 : 1;
  return { from: (Math.floor(from * 1000) / 1000 - room).toFixed(3), to: (Math.ceil(to * 1000) / 1000 + room).toFixed(3) };
}

const nothingElse = () => ({ ...Object.fromEntries(lists.map(key => [key, []])), live: "", context: "", path: "", search: "" });
const views = ["flame", "top", "executables", "heat"];

export function lookInto(file, more = {}) {
  change({ ...nothingElse(), view: views.includes(state.view) ? state.view : "flame", file: file.id, ...wholeRange(file), ...more });
}

async function send(file) {
  const answer = await fetch("/api/v1/files?" + new URLSearchParams({ name: file.name }), { method: "POST", body: file }).catch(() => null);
  const body = await answer?.json().catch(() => null);
  if (!answer?.ok)
    throw new Error(`${file.name}: ${body?.error ?? "wick did not take the file. Is it still running?"}`);
  return body;
}

// One is opened; of two the second is compared with the first.
export async function openFiles(files) {
  const [first, second] = [await send(files[0]), files[1] && await send(files[1])];
  await readFiles();
  if (second)
    lookInto(second, { view: "diff", base: "file:" + first.id });
  else
    lookInto(first);
}

async function close(id) {
  await fetch("/api/v1/files?file=" + id, { method: "DELETE" }).catch(() => null);
  known = known.filter(file => file.id !== id);
  leave();
  toast("The file is closed; nothing of it was kept");
}

function leave() {
  change({ ...nothingElse(), file: "", base: "before", from: "now-5m", to: "now", live: "1", view: state.view === "diff" ? "flame" : state.view });
}

function compareBox(others) {
  const box = element("select", { "data-key": "with", "aria-label": "compare with another file", onchange: event => change({ view: "diff", base: event.target.value, path: "" }) },
    element("option", { value: "" }, "Compare with …"), ...others.map(({ id, name }) => element("option", { value: "file:" + id }, name)));
  return box;
}

// What is looked at, above everything else, and what can be done with it.
export async function showFile() {
  const file = fileOf(state.file) ?? (await readFiles(), fileOf(state.file)), strip = $("looking");
  document.body.classList.toggle("untimed", Boolean(file && !file.timed));
  if (!file)
    return update(strip, element("span", {}, "This file is gone: wick keeps one for an hour after the last look. Drop it again, or "),
      element("button", { type: "button", onclick: leave }, "go back to what wick samples"));
  const others = known.filter(({ id }) => id !== file.id);
  update(strip, element("b", {}, file.name), element("span", { class: "dim" }, `${file.format}, ${file.samples.toLocaleString()} ${file.samples === 1 ? "row" : "rows"}`),
    element("span", { class: "dim aside-note" }, "in memory only, for an hour after the last look"), element("span", { class: "grow" }),
    ...others.length ? [compareBox(others)] : [],
    element("button", { type: "button", "data-key": "close", onclick: () => close(file.id) }, "Close file"));
}
