// What /api/v1/lanes answers (docs/api.md), for drawing: of each thread and bucket what it did, as shares of that time.
import { reasonNames } from "./waits.js";

const place = new Map(reasonNames.map((name, i) => [name, i]));
const byPlace = (a, b) => (place.get(a.wait) ?? place.size) - (place.get(b.wait) ?? place.size);

export class Lanes {
  constructor(answer) {
    Object.assign(this, { from: answer.from, to: answer.to, count: answer.buckets, exact: answer.exact, source: answer.source, threads: answer.threads, leftOut: answer.left_out });
    this.seconds = (answer.to - answer.from) / (answer.buckets || 1);
    this.lanes = answer.lanes.map(lane => ({ ...lane, key: [lane.host, lane.pid, lane.tid, lane.tid < 0 ? lane.thread : ""].join("/"), lines: [...lane.lines].sort(byPlace) }));
    this.hosts = new Set(answer.lanes.map(({ host }) => host)).size;
    this.processes = new Set(answer.lanes.map(({ host, pid, process }) => [host, pid, process].join("\n"))).size;
  }

  start(bucket) {
    return this.from + bucket * this.seconds;
  }

  // [[reason, share], ...] of a bucket, in the order in which they are drawn.
  at(lane, bucket) {
    return lane.lines.map(({ wait, values }) => [wait, Math.min(1, values[bucket] / 1e6 / this.seconds)]).filter(([, share]) => share > 0);
  }

  // What a bucket is mostly; null: nothing is known.
  main(lane, bucket) {
    return this.at(lane, bucket).reduce((most, one) => most && most[1] >= one[1] ? most : one, null)?.[0] ?? null;
  }

  // [[reason, seconds], ...] of all threads, the longest first.
  sums(lanes = this.lanes) {
    const sums = new Map();
    for (const { lines } of lanes)
      for (const { wait, sum } of lines)
        sums.set(wait, (sums.get(wait) ?? 0) + sum / 1e6);
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  // The range in which samples tell of a bucket: a wait is told of when it is over, which may be after the range.
  moment(lane, bucket, reason) {
    const values = lane.lines.find(({ wait }) => wait === reason)?.values ?? [];
    let last = bucket;
    while (values[last + 1] > 0)
      last++;
    return [this.start(bucket), reason && last === this.count - 1 ? Math.max(this.to, lane.last + 0.001) : this.start(last + 1) + (reason ? this.seconds : 0)];
  }

  // The types whose samples have stacks of it.
  typesOf(reason) {
    return reason === "" ? ["wall", "samples", "cpu"] : ["wall", "off_cpu"];
  }
}

export const title = ({ process, thread, tid, pid, host }, hosts) =>
  [!thread || process === thread ? process || thread || "(unknown)" : `${process || pid}, thread ${thread}`, tid >= 0 ? tid : pid >= 0 ? pid : "", hosts > 1 && host].filter(Boolean).join(" · ");
