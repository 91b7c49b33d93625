// The page: what stands above the tabs, and the tabs themselves, of which it knows only what index.html and tabs/NAME.js say.
// A tab is what tabs/NAME.js exports as its default; all but load() may be left out:
//   address   its keys of the address, and what they are when they are not there
//   html, css what its panel holds; a control whose name is a key of the address shows that and sets it
//   start(root)  once, before all others
//   load()    shows what the state says; gives a sentence to be said above it, or nothing
//   changed(changes)   shows that without new data and gives true or what to wait for, or gives false: load() is called
//   restyle() light has become dark
//   picture() a canvas that can be saved
//   take(file)  a file that was dropped
//   keys, help  by key: what it does; [keys, text] for the help
import { absolute, ask, change, chartRange, chosen, chooseRange, addFilter, declare, grouping, labels, lists, onChange, problems, readURL, replaceFilters, selection, state, tabs, views } from "./state.js";
import { Chart } from "./chart.js";
import { copy, toast } from "./copy.js";
import { element, update } from "./element.js";
import { openKept, startKept } from "./kept.js";
import { follow } from "./live.js";
import { closeMenu, hideTip, isMenuOpen } from "./menu.js";
import { openPicker, pan, showTime, startTime, zoomOut } from "./time.js";
import { values } from "./tree.js";

const $ = id => document.getElementById(id);
const CONTROLS = "input[name], select[name]";
const SUGGESTED_MAX = 100, LINES_MAX = 12;    // as many as there are colours, and what is left
const PROGRESS_AFTER_MS = 250;
const REFRESH_MIN_MS = 900, REST = 4;    // a page that is slow to answer rests four times as long as that takes

function say(text) {
  if ($("message").textContent !== text)
    $("message").textContent = text;
}

// ---- Tabs

const shown = {}, coming = {};

// Read when they are first looked at.
function read(view) {
  return coming[view] ??= import(`./tabs/${view}.js`).catch(error => {
    delete coming[view];
    throw error;
  });
}

async function open(view) {
  const { default: tab } = await read(view);
  if (!shown[view]) {
    const root = $(view + "-view"), sheet = new CSSStyleSheet();
    declare(tab.address ?? {});
    root.innerHTML = tab.html ?? "";
    root.querySelectorAll(CONTROLS).forEach(bind);
    sheet.replaceSync(tab.css ?? "");
    document.adoptedStyleSheets.push(sheet);
    tab.start?.(root);
    shown[view] = tab;
    showControls();
  }
  return tab;
}

for (const [i, tab] of tabs.entries()) {
  const view = views[i];
  tab.id = view + "-tab";
  tab.setAttribute("aria-controls", view + "-view");
  tab.addEventListener("click", () => change({ view }));
  document.querySelector("main").append(element("section", { id: view + "-view", role: "tabpanel", "aria-labelledby": tab.id, hidden: true }));
}
$("tabs").addEventListener("keydown", event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step)
    return;
  change({ view: views[(views.indexOf(state.view) + step + views.length) % views.length] });
  $(state.view + "-tab").focus();
});

// ---- Controls

// A control with the name of a key of the address sets it; what is typed is no step to go back to.
function bind(control) {
  const isTyped = control.type === "search", value = () => control.type === "checkbox" ? (control.checked ? "1" : "") : control.value;
  // What was zoomed into may be nowhere then.
  const zoom = control.dataset.clears ? { [control.dataset.clears]: "" } : {};
  control.addEventListener(isTyped ? "input" : "change", () => change({ [control.name]: value(), ...zoom }, isTyped));
}

const typeChosen = () => state.where.find(filter => filter.startsWith("type="))?.slice(5);

// Values of two types do not add up: one is shown at a time, the first unless another is asked for.
async function loadTypes() {
  const types = await ask("types", chosen());
  update($("type"), ...types.map(({ type, title }) => element("option", { value: type }, title)));
  $("type-label").hidden = types.length < 2;
  Object.assign(values, types.find(({ type }) => type === typeChosen()) ?? types[0]);
  $("type").value = values.type;
}

const chipTitles = { where: "", focus: "only", ignore: "without", hide: "hidden" };

function showChips() {
  update($("chips"), ...lists.flatMap(key => state[key].map(text => element("li", { class: "chip" },
    ...(chipTitles[key] ? [element("b", {}, chipTitles[key])] : []), element("span", { title: text }, text),
    element("button", { type: "button", "aria-label": `remove ${chipTitles[key]} ${text}`, onclick: () =>
      change({ [key]: state[key].filter(other => other !== text), path: "" }) }, "×")))));
}

function showControls() {
  for (const tab of tabs) {
    const isShown = tab.dataset.view === state.view;
    $(tab.getAttribute("aria-controls")).hidden = !isShown;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
  }
  showTime();
  for (const control of document.querySelectorAll(CONTROLS)) {
    if (control.type === "checkbox")
      control.checked = Boolean(state[control.name]);
    else if (control !== document.activeElement)
      control.value = state[control.name] ?? "";
  }
  $("type").value = typeChosen() ?? values.type;
  showChips();
}

// ---- Everything together

const chart = new Chart($("chart"), $("chart-note"), $("chart-legend"), { choose: chooseRange, filter: name => addFilter(`${grouping.by}=${name}`) });

async function loadChart() {
  const buckets = Math.min(600, Math.max(60, Math.floor(innerWidth / 3))), query = selection({ by: state.group || "process", buckets, lines: LINES_MAX });
  Object.entries(chartRange()).forEach(([key, value]) => query.set(key, value));
  const [data] = await Promise.all([ask("chart", query), loadTypes()]);
  grouping.by = data.by ?? state.group;
  chart.show(data, state.context ? [absolute(state.from), absolute(state.to)] : null);
}

let running = 0;

// Until all that was asked for is there, the page is busy.
async function busy(work) {
  document.querySelector("main").setAttribute("aria-busy", String(++running > 0));
  setTimeout(() => $("progress").hidden = !running, PROGRESS_AFTER_MS);
  try {
    await work;
  } catch (error) {
    if (error.name !== "AbortError")
      say(error.message);
  }
  document.querySelector("main").setAttribute("aria-busy", String(--running > 0));
  $("progress").hidden ||= !running;
}

async function loadAll() {
  const [text] = await Promise.all([open(state.view).then(tab => tab.load()), loadChart()]);
  say([...problems, text].filter(Boolean).join(" "));
}

function load() {
  hideTip();
  return busy(loadAll());
}

// What is new comes in under the hand: not while something is dragged or a menu is open, nor before what was asked for is there.
let isHeld = false, later = 0, taken = 0, asked = 0;

for (const [name, held] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]])
  addEventListener(name, () => isHeld = held, true);

async function refresh() {
  const wait = running || isHeld || isMenuOpen() ? 250 : Math.max(REFRESH_MIN_MS, REST * taken) - (performance.now() - asked);
  clearTimeout(later);
  if (wait > 0) {
    later = setTimeout(refresh, wait);
    return;
  }
  asked = performance.now();
  await busy(loadAll());
  taken = performance.now() - asked;
}

onChange(changes => {
  showControls();
  adjustLive();
  const done = Object.keys(changes).every(key => key === "live") || shown[state.view]?.changed?.(changes);
  if (done)
    busy(done);
  else
    load();
});

const adjustLive = follow(() => Boolean(state.live) && state.to === "now", refresh);

bind($("live"));
$("group").addEventListener("change", () => change({ group: $("group").value, path: "" }));
startTime();
startKept();
$("type").addEventListener("change", () => change({ where: replaceFilters("type=" + $("type").value), path: "" }));
$("filter").addEventListener("keydown", event => {
  if (event.key === "Enter") {
    addFilter($("filter").value.trim());
    $("filter").value = "";
  }
});
// Labels, and the values of the one that is typed; of an empty line what people filter by first.
async function suggest(text) {
  const [, label, relation] = /^(\w+)(!=|=|~)/.exec(text) ?? [], wanted = label ? labels.filter(name => name === label) : ["service", "process", "host"];
  const all = await Promise.all(wanted.map(async name => (await ask("values", chosen({ label: name, max: SUGGESTED_MAX }), "suggest-" + name))
    .map(([value]) => name + (relation ?? "=") + value)));
  update($("suggestions"), ...[...(label ? [] : labels.map(name => name + "=")), ...all.flat()].map(value => element("option", { value })));
}
for (const name of ["focusin", "input"])
  addEventListener(name, ({ target }) => target.getAttribute?.("list") === "suggestions" && suggest(target.value).catch(() => {}));
$("export").addEventListener("change", () => {
  const format = $("export").value;
  $("export").value = "";
  if (format === "png")
    savePicture(shown[state.view]?.picture?.());
  else if (format === "link")
    copy(location.href, "The link is copied");
  else if (format)
    location.href = "/api/v1/export?" + selection({ format });
});

function savePicture(canvas) {
  if (!canvas?.width || !canvas.height)
    return toast("There is no picture to save here: the flame graph has one.");
  canvas.toBlob(picture => {
    const link = element("a", { href: URL.createObjectURL(picture), download: "wick.png" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

// ---- Files that are dropped, wherever that is

const hasFiles = event => event.dataTransfer?.types.includes("Files");

addEventListener("dragover", event => {
  if (hasFiles(event)) {
    event.preventDefault();
    $("drop").hidden = false;
  }
});
addEventListener("dragleave", event => $("drop").hidden ||= !event.relatedTarget);
addEventListener("drop", event => {
  $("drop").hidden = true;
  if (!hasFiles(event) || event.defaultPrevented)
    return;
  event.preventDefault();
  const file = event.dataTransfer.files[0];
  change({ view: "executables" });
  busy(open("executables").then(tab => tab.take(file)));
});

// ---- Light and dark

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function redraw() {
  for (const tab of Object.values(shown))
    tab.restyle?.();
  chart.draw();
}

function toggleTheme() {
  const root = document.documentElement, isDark = root.classList.contains("dark") || (!root.classList.contains("light") && prefersDark.matches);
  root.className = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.className);
  redraw();
}

prefersDark.addEventListener("change", redraw);
$("theme").addEventListener("click", toggleTheme);

// ---- Keys

function help() {
  $("keys").showModal();
  busy(Promise.all(views.map(read)).then(modules => $("tab-keys").replaceChildren(...modules.flatMap(({ default: tab }) => tab.help ?? [])
    .flatMap(([keys, text]) => [element("dt", {}, keys), element("dd", {}, text)]))));
}
$("help").addEventListener("click", help);

const keys = {
  "?": help, w: openPicker, k: openKept, "[": () => pan(-0.5), "]": () => pan(0.5), o: zoomOut, t: toggleTheme, l: () => change({ live: state.live ? "" : "1" }), r: () => change({ collapse: state.collapse ? "" : "1" }),
  Escape: () => closeMenu() || shown[state.view]?.keys?.Escape?.(),
};

// A key of the page, of the tab that is shown, one that leads to a tab and does something there, or the number of a tab.
function meant(key) {
  const there = tabs.find(tab => tab.dataset.keys?.split(" ").includes(key))?.dataset.view;
  if (keys[key] ?? shown[state.view]?.keys?.[key])
    return keys[key] ?? shown[state.view].keys[key];
  if (there)
    return () => {
      change({ view: there });
      return shown[there] ? shown[there].keys[key]() : busy(open(there).then(tab => tab.keys[key]()));
    };
  return views[key - 1] && (() => change({ view: views[key - 1] }));
}

addEventListener("keydown", event => {
  if (event.target.matches("input:not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
    return;
  const action = meant(event.key);
  if (action) {
    event.preventDefault();
    action();
  }
});

document.documentElement.className = localStorage.getItem("theme") ?? "";
readURL();
showControls();
load();
