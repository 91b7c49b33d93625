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
import { absolute, ask, change, chartRange, chosen, chooseRange, addFilter, declare, grouping, isLabel, labels, lists, onChange, OWN, partsOf, problems, readURL, selection, spent, state, tabs, views } from "./state.js";
import { Chart } from "./chart.js";
import { copy, toast } from "./copy.js";
import { element, update } from "./element.js";
import { openKept, startKept } from "./kept.js";
import { showTypes, stepTo } from "./kinds.js";
import { follow, pause } from "./live.js";
import { closeMenu, hideTip, isMenuOpen } from "./menu.js";
import { openPicker, pan, showTime, startTime, zoomOut } from "./time.js";
import { values } from "./tree.js";
import { isWaiting, reasonNames } from "./waits.js";

const $ = id => document.getElementById(id);
const CONTROLS = "input[name], select[name]";
const SUGGESTED_MAX = 100, KEYS_MAX = 32, LINES_MAX = 12;    // as many as there are colours, and what is left
const PROGRESS_AFTER_MS = 250;

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

let types = [];

const typeChosen = () => state.where.find(filter => filter.startsWith("type="))?.slice(5);

// Values of two types do not add up: one is shown at a time, the first unless another is asked for.
async function loadTypes() {
  types = await ask("types", chosen());
  Object.assign(values, types.find(({ type }) => type === typeChosen()) ?? types[0]);
  showSwitch();
}

function showSwitch() {
  showTypes($("kinds"), $("type-label"), $("type"), types, typeChosen() ?? values.type, type => type && change(stepTo(values, type)));
  // Reasons are of waits: elsewhere there is nothing to group by.
  $("group").querySelector("[value=wait]").hidden = !isWaiting(values.kind) && state.group !== "wait";
}

// Keys of samples' own labels, to group by and to be completed: asked for once of what is chosen, and when somebody is about to choose.
let ownKeys = [], ownKeysOf = "";

async function loadKeys(again = false) {
  const query = String(chosen({ label: "label", max: KEYS_MAX }));
  if (query === ownKeysOf && !again)
    return;
  ownKeysOf = query;
  ownKeys = (await ask("values", query, "keys").catch(() => [])).map(([key]) => OWN + key);
  showKeys();
}

function showKeys() {
  const all = state.group.startsWith(OWN) && !ownKeys.includes(state.group) ? [...ownKeys, state.group] : ownKeys;
  update($("own-keys"), ...all.map(value => element("option", { value }, "by " + value.slice(OWN.length))));
  $("own-keys").hidden = !all.length;
  $("group").value = state.group;
}

const chipTitles = { where: "", focus: "only", ignore: "without", hide: "hidden" };

function showChips() {
  update($("chips"), ...lists.flatMap(key => state[key].map(text => element("li", { class: "chip" },
    ...(chipTitles[key] ? [element("b", {}, chipTitles[key])] : []), element("span", { title: text }, text),
    element("button", { type: "button", "aria-label": `remove ${chipTitles[key]} ${text}`, onclick: () =>
      change({ [key]: state[key].filter(other => other !== text), path: "" }) }, "×")))));
}

// Whoever is chosen may be sampled faster; that one is stays in sight.
function showBoost() {
  if (state.where.length || !$("boost").hidden)
    import("./boosts.js").then(({ show }) => show()).catch(() => {});
}

function showControls() {
  for (const tab of tabs) {
    const isShown = tab.dataset.view === state.view;
    $(tab.getAttribute("aria-controls")).hidden = !isShown;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
  }
  showTime();
  showLooking();
  showKeys();
  for (const control of document.querySelectorAll(CONTROLS)) {
    if (control.type === "checkbox")
      control.checked = Boolean(state[control.name]);
    else if (control !== document.activeElement)
      control.value = state[control.name] ?? "";
  }
  showSwitch();
  showChips();
  showBoost();
}

// ---- Everything together

const chart = new Chart($("chart"), $("chart-note"), $("chart-legend"), { choose: chooseRange, filter: (name, isOut) => addFilter(`${grouping.by}${isOut ? "!=" : "="}${name}`),
  menu: (time, notes, place) => busy(import("./notes.js").then(({ openMomentMenu }) => openMomentMenu(time, notes, chart.data, { ...place, reload: load }))) });

async function loadChart() {
  const buckets = Math.min(600, Math.max(60, Math.floor(innerWidth / 3))), query = selection({ by: state.group || "process", buckets, lines: state.group === "wait" ? reasonNames.length : LINES_MAX });
  Object.entries(chartRange()).forEach(([key, value]) => query.set(key, value));
  const range = new URLSearchParams([...query].filter(([key]) => ["from", "to", "where", "file"].includes(key)));
  const [data, notes] = await Promise.all([ask("chart", query), ask("annotations", range), loadTypes(), loadKeys()]);
  grouping.by = data.by ?? state.group;
  chart.show(data, state.context ? [absolute(state.from), absolute(state.to)] : null, notes.rows);
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

// What went wrong with something that was done by hand; said until the next step.
let notice = "";

async function loadAll() {
  const [text] = await Promise.all([open(state.view).then(tab => tab.load()), loadChart()]);
  say([...problems, notice, text].filter(Boolean).join(" "));
}

function load() {
  hideTip();
  return busy(loadAll());
}

// What is new comes in under the hand: not while something is dragged or a menu is open, nor before what was asked for is there.
let isHeld = false, later = 0, taken = 0, asked = 0, cost = 0;

for (const [name, held] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]])
  addEventListener(name, () => isHeld = held, true);

async function refresh() {
  const wait = running || isHeld || isMenuOpen() ? 250 : pause(taken, cost) - (performance.now() - asked);
  clearTimeout(later);
  if (wait > 0) {
    later = setTimeout(refresh, wait);
    return;
  }
  asked = performance.now();
  spent.ms = 0;
  await busy(loadAll());
  taken = performance.now() - asked;
  cost = spent.ms;
}

onChange(changes => {
  notice = "";
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
$("group").addEventListener("focus", () => loadKeys(true));
startTime();
startKept();
$("filter").addEventListener("keydown", event => {
  if (event.key === "Enter") {
    addFilter($("filter").value.trim());
    $("filter").value = "";
  }
});
// Labels, and the values of the one that is typed; of an empty line what people filter by first.
async function suggest(text) {
  const { label, relation } = partsOf(text), wanted = !label ? ["service", "process", "host"] : isLabel(label) ? [label] : [];
  const all = await Promise.all(wanted.map(async name => (await ask("values", chosen({ label: name, max: SUGGESTED_MAX }), "suggest-" + name))
    .map(([value]) => name + (relation ?? "=") + value)));
  update($("suggestions"), ...[...(label ? [] : [...labels, ...ownKeys].map(name => name + "=")), ...all.flat()].map(value => element("option", { value })));
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
  take([...event.dataTransfer.files]);
});

const ELF = "\x7fELF";

// A program has names for what came without; anything else is a profile to look at.
async function takeFiles(files) {
  const isProgram = String.fromCharCode(...new Uint8Array(await files[0].slice(0, 4).arrayBuffer())) === ELF;
  if (isProgram) {
    change({ view: "executables" });
    return (await open("executables")).take(files[0]);
  }
  return (await import("./files.js")).openFiles(files);
}

const take = files => files.length && busy(takeFiles(files).catch(error => say(notice = error.message)));

$("open").addEventListener("click", () => $("open-file").click());
$("open-file").addEventListener("change", () => {
  take([...$("open-file").files]);
  $("open-file").value = "";
});

function showLooking() {
  $("looking").hidden = !state.file;
  document.body.classList.toggle("file", Boolean(state.file));
  if (state.file)
    busy(import("./files.js").then(files => files.showFile()));
  else
    document.body.classList.remove("untimed");
}

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
  "?": help, w: openPicker, k: openKept, O: () => $("open-file").click(), "[": () => pan(-0.5), "]": () => pan(0.5), o: zoomOut, t: toggleTheme, l: () => change({ live: state.live ? "" : "1" }), r: () => change({ collapse: state.collapse ? "" : "1" }),
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
  return /^\d$/.test(key) && views[key] && (() => change({ view: views[key] }));
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

// ---- Who is here for the first time

const showHints = () => import("./hints.js").then(hints => hints.showHint());

$("hints").addEventListener("click", () => {
  $("keys").close();
  busy(showHints());
});
if (!localStorage.getItem("hints"))
  showHints().catch(() => {});

document.documentElement.className = localStorage.getItem("theme") ?? "";
readURL();
showControls();
load();
