// Tells when the store has something new: by an event stream while the page is seen, by asking where that cannot be had.
import { ask } from "./state.js";

const ASK_EACH_MS = 2000;
// Whoever looks on is to cost wick less than a hundredth of a CPU, what is not in the answers' own account included; but nobody waits longer than this for news.
const REFRESH_MIN_MS = 900, REST = 4, COST = 120, COST_MAX_MS = 10000;

// How long from one refresh to the next, in milliseconds: of how long the last took, and what of a CPU it cost. A page that is slow to answer rests four times as long as that takes.
export const pause = (taken, cost) => Math.max(REFRESH_MIN_MS, REST * taken, Math.min(COST_MAX_MS, COST * cost));

// wanted(): whether anybody wants to know; changed(): something is new.
export function follow(wanted, changed) {
  let stream = null, generation = null, timer = 0;

  function hear(now) {
    const isNew = generation !== null && now !== generation;
    generation = now;
    if (isNew && wanted())
      changed();
  }

  function poll() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (wanted() && !document.hidden)
        await ask("generation", "").then(answer => hear(String(answer.generation)), () => {});
      poll();
    }, ASK_EACH_MS);
  }

  // A page that is not seen holds no connection: a browser has only a few for one server.
  function adjust() {
    const isWanted = wanted() && !document.hidden;
    if (!isWanted) {
      stream?.close();
      stream = null;
    } else if (!stream && !timer) {
      stream = new EventSource("/api/v1/events");
      stream.addEventListener("message", event => hear(event.data));
      stream.addEventListener("error", () => {
        if (stream?.readyState === EventSource.CLOSED) {
          stream = null;
          poll();
        }
      });
    }
  }

  document.addEventListener("visibilitychange", adjust);
  adjust();
  return adjust;
}
