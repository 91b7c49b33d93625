// What people, and wick, say of moments: annotations of the chart.
import { change, state } from "./state.js";
import { toast } from "./copy.js";
import { openMenu } from "./menu.js";
import { moment } from "./time.js";

const $ = id => document.getElementById(id);

async function send(method, query, body) {
  const answer = await fetch("/api/v1/annotations" + query, { method, body }).catch(() => null), told = await answer?.json().catch(() => null);
  toast(answer?.ok ? (body ? "The moment is annotated" : "The annotation is gone") : told?.error ?? "wick does not answer. Is it still running?");
  return answer?.ok;
}

// Said in a dialog; of the host and the service that are looked at, if it is one of each.
function annotate(time, reload) {
  const only = label => state.where.find(filter => filter.startsWith(label + "="))?.slice(label.length + 1) ?? "", form = $("annotate-form");
  form.reset();
  $("annotate-when").textContent = [moment(time, 60), only("service"), only("host")].filter(Boolean).join(", ");
  form.onsubmit = async ({ submitter }) => {
    if (submitter?.value === "cancel")
      return;
    const body = new URLSearchParams({ ...Object.fromEntries(new FormData(form)), time: time.toFixed(3), host: only("host"), service: only("service") });
    if (await send("POST", "", body))
      reload();
  };
  $("annotate").showModal();
}

// What can be done with a moment, and with what is said of it.
export function openMomentMenu(time, notes, range, { x, y, reload }) {
  const half = Math.min(time - range.from, range.to - time) || 60;
  openMenu(notes[0]?.title ?? moment(time, 60), [
    ["Compare what came after with before", () => change({ view: "diff", base: "before", from: time.toFixed(3), to: (time + half).toFixed(3), context: `${range.from.toFixed(3)}~${range.to.toFixed(3)}`, live: "", path: "" })],
    ["Only after it", () => change({ from: time.toFixed(3), to: range.to.toFixed(3), context: `${range.from.toFixed(3)}~${range.to.toFixed(3)}`, live: "" })],
    ...state.file ? [] : [["Annotate this moment …", () => annotate(time, reload)]],
    ...notes.length ? [null, ...notes.slice(0, 5).map(({ id, title }) => [`Remove "${title}"`, async () => await send("DELETE", "?id=" + id) && reload()])] : [],
  ], x, y);
}
