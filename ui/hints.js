// Three hints for who is here for the first time; seen once, or never again when they are put away.
import { element, update } from "./element.js";

const $ = id => document.getElementById(id);
const PLACE = "hints";
const hints = [
  ["chart", "Drag in the chart to look at a moment. A click on a name below it shows only that."],
  ["flame-tab", "In the flame graph a box is a function, as wide as its share. Click one to zoom in, right-click it for more."],
  ["open", "Drop a profile anywhere, or open one, to look at it without keeping it. The key ? tells all others."],
];

function mark(id) {
  document.querySelectorAll(".hinted").forEach(other => other.classList.remove("hinted"));
  $(id)?.classList.add("hinted");
}

function putAway() {
  localStorage.setItem(PLACE, "seen");
  $("hint").hidden = true;
  mark("");
}

export function showHint(number = 0) {
  const [target, text] = hints[number], isLast = number + 1 === hints.length;
  update($("hint"), element("b", {}, `${number + 1} of ${hints.length}`), element("span", {}, text), element("span", { class: "grow" }),
    element("button", { type: "button", "data-key": "next", onclick: () => isLast ? putAway() : showHint(number + 1) }, isLast ? "Done" : "Next"),
    ...isLast ? [] : [element("button", { type: "button", "data-key": "skip", onclick: putAway }, "Skip")]);
  $("hint").hidden = false;
  mark(target);
}
