// What floats: the menu of a frame, and what is said of the frame under the mouse.
import { element, update } from "./element.js";

const $ = id => document.getElementById(id);
let returnTo = null;

function place(box, x, y) {
  const { width, height } = box.getBoundingClientRect();
  box.style.left = Math.max(4, Math.min(x, innerWidth - width - 8)) + "px";
  box.style.top = Math.max(4, y + height > innerHeight - 8 ? y - height - 24 : y) + "px";
}

// items: [text, action], null for a line between.
export function openMenu(title, items, x, y) {
  const menu = $("menu");
  returnTo = document.activeElement;
  menu.replaceChildren(element("div", { class: "title" }, title), ...items.map(item => item === null ? element("hr") :
    element("button", { type: "button", role: "menuitem", onclick: () => {
      closeMenu();
      item[1]();
    } }, item[0])));
  menu.hidden = false;
  place(menu, x, y);
  menu.querySelector("button").focus();
}

export const isMenuOpen = () => !$("menu").hidden;

export function closeMenu() {
  if (!isMenuOpen())
    return false;
  $("menu").hidden = true;
  returnTo?.focus?.();
  return true;
}

$("menu").addEventListener("keydown", event => {
  const items = [...$("menu").querySelectorAll("button")], at = items.indexOf(document.activeElement);
  const step = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
  if (step !== undefined)
    items[step % items.length].focus();
  else if (event.key === "Escape" || event.key === "Tab")
    closeMenu();
  else
    return;
  event.preventDefault();
  event.stopPropagation();
});
addEventListener("pointerdown", event => {
  if (!$("menu").contains(event.target))
    $("menu").hidden = true;
});

// rows: [label, text]; those without a text are left out.
export function showTip(title, rows, x, y) {
  const tip = $("tip");
  update(tip, element("b", {}, title), element("dl", {}, ...rows.filter(([, text]) => text)
    .flatMap(([label, text]) => [element("dt", {}, label), element("dd", {}, text)])));
  tip.hidden = false;
  place(tip, x + 14, y + 18);
}

export function hideTip() {
  $("tip").hidden = true;
}
