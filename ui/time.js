// Which time is shown: chosen by words, by a calendar, step by step, or in the chart.
import { absolute, change, state } from "./state.js";
import { element } from "./element.js";

const $ = id => document.getElementById(id);
const quick = [["now-1m", "last minute"], ["now-5m", "last 5 minutes"], ["now-15m", "last 15 minutes"], ["now-1h", "last hour"], ["now-6h", "last 6 hours"],
               ["now-1d", "last day"], ["now-7d", "last 7 days"]];
const units = { s: "seconds", m: "minutes", h: "hours", d: "days" };

const clock = (time, length) => time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(length < 7200 ? { second: "2-digit" } : {}),
                                                              ...(length < 5 ? { fractionalSecondDigits: 2 } : {}) });
export const precise = time => new Date(time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
const day = time => time.toLocaleDateString([], { month: "short", day: "numeric" });

// A moment in as many words as the length of the range needs.
export function moment(seconds, length) {
  const time = new Date(seconds * 1000), isToday = time.toDateString() === new Date().toDateString();
  return isToday && length < 86400 ? clock(time, length) : day(time) + " " + clock(time, length);
}

// The same along an axis, every `step` seconds: which day it is stands elsewhere, unless there are several.
export function tick(seconds, step, length) {
  const time = new Date(seconds * 1000);
  return length < 86400 ? clock(time, step < 1 ? 0 : length) : step < 86400 ? day(time) + " " + clock(time, length) : day(time);
}

export function rangeText() {
  const known = quick.find(([from]) => from === state.from)?.[1], match = /^now-(\d+)([smhd])$/.exec(state.from);
  if (state.to === "now" && match)
    return known ?? `last ${match[1]} ${units[match[2]]}`;
  const from = absolute(state.from), to = absolute(state.to);
  return `${moment(from, to - from)} – ${moment(to, to - from)}`;
}

// What a range is compared with.
export const baseRange = { before: (from, to) => [2 * from - to, from], hour: (from, to) => [from - 3600, to - 3600],
                           day: (from, to) => [from - 86400, to - 86400], week: (from, to) => [from - 604800, to - 604800], same: (from, to) => [from, to] };

const forget = { context: "", live: "" };

// By so many of its own length; what would be in the future is now.
export function pan(step) {
  const from = absolute(state.from), to = absolute(state.to), now = Date.now() / 1000, length = to - from;
  const end = Math.min(now, to + step * length);
  change({ ...forget, from: (end - length).toFixed(3), to: end.toFixed(3) });
}

export function zoomOut() {
  const from = absolute(state.from), to = absolute(state.to), now = Date.now() / 1000, length = to - from;
  if (state.to === "now")
    return change({ context: "", from: `now-${Math.round(2 * length)}s` });
  const end = Math.min(now, to + length / 2);
  change({ ...forget, from: (end - 2 * length).toFixed(3), to: end.toFixed(3) });
}

// As an input of type datetime-local has it: without a zone.
const local = seconds => {
  const time = new Date(seconds * 1000);
  return new Date(time - time.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
};

export function openPicker() {
  $("from").value = local(absolute(state.from));
  $("to").value = local(absolute(state.to));
  $("picker").showModal();
}

function choose(changes) {
  $("picker").close();
  change({ context: "", ...changes });
}

export function startTime() {
  $("quick").append(...quick.map(([from, text]) => element("button", { type: "button", onclick: () => choose({ from, to: "now", live: "1" }) }, text)));
  $("relative").addEventListener("submit", event => {
    event.preventDefault();
    choose({ from: `now-${$("amount").value}${$("unit").value}`, to: "now", live: "1" });
  });
  $("absolute").addEventListener("submit", event => {
    const [from, to] = ["from", "to"].map(id => new Date($(id).value) / 1000);
    event.preventDefault();
    $("to").setCustomValidity(to > from ? "" : "the end is to be after the beginning");
    if ($("to").reportValidity())
      choose({ from: String(from), to: String(to), live: "" });
  });
  $("to").addEventListener("input", () => $("to").setCustomValidity(""));
  $("range").addEventListener("click", openPicker);
  $("earlier").addEventListener("click", () => pan(-0.5));
  $("later").addEventListener("click", () => pan(0.5));
  $("wider").addEventListener("click", zoomOut);
}

export function showTime() {
  $("range").textContent = rangeText();
}
