// Views that are kept by name, in this browser: the address of each.
import { element, update } from "./element.js";

const $ = id => document.getElementById(id), PLACE = "views", MAX = 100;

// [name, address], as they were kept; what somebody else put there is nothing.
export function readKept(storage) {
  try {
    return JSON.parse(storage.getItem(PLACE) ?? "[]").filter(([name, address]) => typeof name === "string" && /^\/(\?|$)/.test(address)).slice(0, MAX);
  } catch {
    return [];
  }
}

// A name is there once: the view that it had goes.
export function keep(storage, name, address) {
  storage.setItem(PLACE, JSON.stringify([[name, address], ...readKept(storage).filter(([other]) => other !== name)].slice(0, MAX)));
}

export function forget(storage, name) {
  storage.setItem(PLACE, JSON.stringify(readKept(storage).filter(([other]) => other !== name)));
}

function list() {
  const kept = readKept(localStorage);
  update($("view-list"), ...(kept.length ? kept.map(([name, address]) => element("li", { "data-key": name }, element("a", { href: address }, name),
    element("button", { type: "button", "aria-label": `forget ${name}`, onclick: () => {
      forget(localStorage, name);
      list();
    } }, "×"))) : [element("li", { class: "dim" }, "None yet.")]));
}

export function openKept() {
  list();
  $("kept").showModal();
  $("view-name").focus();
}

export function startKept() {
  $("views").addEventListener("click", openKept);
  $("view-keep").addEventListener("submit", event => {
    event.preventDefault();
    keep(localStorage, $("view-name").value.trim(), location.pathname + location.search);
    $("view-name").value = "";
    list();
  });
}
