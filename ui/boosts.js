// This one now, faster: whoever is chosen by labels is sampled at a higher rate for a while, on the host that serves the page.
import { state } from "./state.js";
import { toast } from "./copy.js";

const $ = id => document.getElementById(id);
const SECONDS = 30, AGAIN_MS = 5000, STOP_TRIES = 20, LABELS = ["host", "service", "container", "pod", "process", "executable", "pid"];
let told = { usual_rate: 0, rows: [] }, asked = -Infinity, timer = 0, isAsking = false;

// Whom the filters choose, by label; null where they say more or less than what processes can be boosted by.
export function chosenBy(filters) {
  const pairs = filters.filter(filter => !filter.startsWith("type=")).map(filter => /^(\w+)=([^]*)$/.exec(filter)?.slice(1));
  if (pairs.some(pair => !LABELS.includes(pair?.[0])) || !pairs.some(([label]) => label !== "host") || new Set(pairs.map(([label]) => label)).size < pairs.length)
    return null;
  return Object.fromEntries(pairs);
}

// What the server calls them.
const named = ({ process, ...whom }) => Object.entries(process ? { executable: process, ...whom } : whom).filter(([label]) => label !== "host").map(([label, value]) => `${label}=${value}`).sort().join(", ");

const whom = () => state.file ? null : chosenBy(state.where);
const left = row => Math.max(0, row.left - (performance.now() - asked) / 1000);
const running = () => told.rows.filter(row => row.state === "runs" && left(row) > 0);

// That of the selection, else any: who looks on is to see that it runs.
const current = () => running().find(row => whom() && named(row.where) === named(whom())) ?? running()[0];

function draw() {
  const row = current(), button = $("boost"), who = whom();
  button.hidden = !row && (!who || !told.usual_rate);
  button.setAttribute("aria-pressed", String(Boolean(row)));
  button.textContent = row ? `⚡ ${row.rate}/s: ${Math.ceil(left(row))} s` : "⚡ Faster";
  button.title = row ? `${named(row.where)} is sampled ${row.rate} times a second, asked for by ${row.by}. Click to stop it` :
    who ? `sample ${named(who)} ${Math.min(told.usual_rate * 10, told.rate_max)} times a second for ${SECONDS} s, not ${told.usual_rate}, on the host of this page` : "";
  clearTimeout(timer);
  if (row)
    timer = setTimeout(show, 1000);
  else if (told.rows.some(({ state: how }) => how === "runs"))
    timer = setTimeout(ask, 1000);
}

async function call(method, query, body) {
  const answer = await fetch("/api/v1/boosts" + query, { method, body }).catch(() => null), said = await answer?.json().catch(() => null);
  if (!answer?.ok && method !== "GET")
    toast(said?.error ?? "wick does not answer. Is it still running?");
  return answer?.ok ? said : null;
}

async function ask() {
  if (isAsking)
    return;
  isAsking = true;
  told = await call("GET", "") ?? { usual_rate: 0, rows: [] };
  asked = performance.now();
  isAsking = false;
  draw();
}

async function press() {
  const row = current(), who = whom();
  $("boost").disabled = true;
  if (row && await call("DELETE", "?id=" + row.id))
    toast("It is sampled as before");
  else if (!row && who && await call("POST", "", new URLSearchParams({ ...who, seconds: SECONDS })))
    toast(`${named(who)} is sampled faster for ${SECONDS} s`);
  await ask();
  // What was stopped is so a moment later.
  for (let tries = 0; tries < STOP_TRIES && row && running().some(({ id }) => id === row.id); tries++) {
    await new Promise(done => setTimeout(done, 500));
    await ask();
  }
  $("boost").disabled = false;
}

$("boost").addEventListener("click", press);

// What others did since, or the budget did, is seen some seconds later.
export const show = () => performance.now() - asked < AGAIN_MS ? draw() : ask();
