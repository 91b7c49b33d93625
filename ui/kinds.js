// The first switch of the page: what is looked at, in words that people use. What else there is has a list.
import { element, update } from "./element.js";
import { replaceFilters, state } from "./state.js";
import { isWaiting } from "./waits.js";

const WORDS = { cpu: ["CPU", "where threads run"], wall: ["Wall", "all of the time of threads: where they run and where they wait"],
                off_cpu: ["Waiting", "where threads wait, and what for"] };

// Where samples say what a thread waits for they are shown by that, unless another group was chosen.
const natural = kind => isWaiting(kind) ? "wait" : "auto";

// [[type, word, text], ...] of those with a word, if there are two of them; and the others. Of two types of a kind the first has it.
export function split(types) {
  const words = Object.entries(WORDS).map(([kind, [word, text]]) => [types.find(type => type.kind === kind), word, text]).filter(([type]) => type);
  return words.length < 2 ? { words: [], others: types } : { words, others: types.filter(type => !words.some(([other]) => other === type)) };
}

// What changes when another is chosen: nobody waits on a CPU, so reasons are no filters there; who uses CPUs is no question of waits.
export function stepTo(from, to) {
  const where = replaceFilters("type=" + to.type).filter(filter => isWaiting(to.kind) || !/^wait(=|!=|~)/.test(filter));
  return { where, path: "", ...(state.group === "auto" || state.group === natural(from.kind) ? { group: natural(to.kind) } : {}),
           ...(state.view === "start" && isWaiting(to.kind) ? { view: "flame" } : {}) };
}

// choose(type): by a button or from the list.
export function showTypes(buttons, label, list, types, shown, choose) {
  const { words, others } = split(types), isOther = others.some(({ type }) => type === shown);
  buttons.hidden = !words.length;
  update(buttons, ...words.map(([type, word, text]) => element("button", { type: "button", "data-key": type.type, title: text, "aria-pressed": String(type.type === shown), onclick: () => choose(type) }, word)));
  label.hidden = types.length < 2 || !others.length;
  update(list, ...(words.length ? [element("option", { value: "", hidden: isOther }, "other …")] : []), ...others.map(({ type, title }) => element("option", { value: type }, title)));
  list.value = isOther ? shown : "";
  list.onchange = () => choose(types.find(({ type }) => type === list.value));
}
