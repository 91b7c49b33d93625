// How long threads wanted a CPU, each time, as /api/v1/lanes tells it with queue=LABEL: in words, and where it stands.
import { seconds } from "./tree.js";

// The length up to which a row goes, in microseconds: rows are octaves from 1 us (1,024 ns) on.
export const rowEnd = row => 1.024 * 2 ** row;

export const MARKS = [[1, "1 µs"], [10, "10 µs"], [100, "100 µs"], [1e3, "1 ms"], [1e4, "10 ms"], [1e5, "100 ms"], [1e6, "1 s"]];

export const length = us => us < 1000 ? `${us < 10 ? us.toFixed(1) : Math.round(us)} µs` : seconds(us / 1e6);

// Where a length stands, as a share of the height.
export const place = (us, rows) => Math.min(1, Math.max(0, (Math.log2(us / 1.024) + 1) / rows));

export function sentence(queue) {
  return queue.waits ? `${queue.waits.toLocaleString()} times a thread wanted a CPU and had to wait for it: half of them for at most ${length(queue.median)}, ` +
    `99 of 100 for at most ${length(queue.p99)}, the longest for ${length(queue.longest)}; ${seconds(queue.sum / 1e6)} in all.` : "No thread had to wait for a CPU.";
}
