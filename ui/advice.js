// What is wrong, and what to do about it: sentences made of what /api/v1/status says.
import { bytes, percent, seconds } from "./tree.js";

const SILENT_S = 120, FULL = 0.8, DISK = 0.05, LOST = 0.001, REFUSED = 0.01;
const NAMED = 5, REACH = "Does its agent run, and does it reach this port?";
const many = number => number.toLocaleString();

// Each rule gives nothing, or [what, what to do].
const ofExporter = [
  ({ id, health, error }) => /error/.test(health) && [`${id} does not get rid of what it has: ${error || health}`, health.startsWith("perm") ? "It is not tried again: mend the configuration, and reload wick." : "It is tried again by itself. Is the other side there, and does it let wick in?"],
  ({ id, queue, queue_max }) => queue > FULL * queue_max && [`The queue of ${id} is ${percent(queue / queue_max)} full`, "The other side takes less than comes. Raise sending_queue::num_consumers, or queue_size; with storage the queue is on disk."],
  ({ id, not_queued }) => not_queued > 0 && [`${many(not_queued)} samples were dropped before ${id}, whose queue was full`, "Raise sending_queue::queue_size, or give it storage: then it is on disk."],
  ({ id, failed, error }) => failed > 0 && [`${many(failed)} samples were refused for good, or too late, by where ${id} sends to${error ? ": " + error : ""}`, "What the other side answered is in Logs."],
];

const ofReceiver = [
  ({ id, health, error }) => /error/.test(health) && [`${id} is not well: ${error || health}`, "Logs say since when."],
  ({ id, refused, accepted }) => refused > REFUSED * (accepted + refused) && [`${many(refused)} samples that came to ${id} were not taken`, "A queue behind it was full, or they were broken: Logs say which."],
];

const ofStatus = [
  ({ disk_free, disk_bytes }) => disk_bytes && disk_free < DISK * disk_bytes && [`The disk of the store has ${bytes(disk_free)} left`, "Make room, or lower max_size_mib of the exporter store: when it is full nothing new is kept."],
  ({ blocks_broken }) => blocks_broken && [`${many(blocks_broken)} parts of the store cannot be read`, "What they held is missing here. The log says which files; see whether the disk fails."],
  ({ labels_past_limit }) => labels_past_limit && [`${many(labels_past_limit)} samples have labels of too many values, or too long ones`, "Theirs are [other], or left out. Keep keys of few values: labels of the exporter store, docs/requests.md."],
  ({ times_wrong }) => times_wrong && [`${many(times_wrong)} samples had a time that cannot be`, "They stand where they arrived. Set the clock of who sends them."],
  ({ left_out }) => left_out && [`Sampling of this machine is at its limit: ${left_out}`, "Raise max_cpu_percent of the receiver profiling if that matters, or lower samples_per_second."],
  ({ turns_senders_away: away }) => away && ["Those who send most to this wick are told to come later: their work has used its share of CPU time", "--max-cpu gives it room. A wick that is to receive from others sets governor::senders of the receiver profiling to false."],
  ({ sampling = [] }) => {
    const value = name => sampling.find(counter => counter.name === name && !counter.of)?.value ?? 0, sent = value("samples_sent");
    const lost = sampling.filter(counter => counter.name.startsWith("samples_lost")).reduce((sum, counter) => sum + counter.value, 0);
    return lost > LOST * sent && [`${many(lost)} of ${many(sent + lost)} samples of this machine were lost`, "It was too busy for wick to keep up. What was lost why stands below."];
  },
];

// hosts: [name, seconds since its last sample].
export function problems(status, hosts) {
  const all = (rules, one) => rules.map(rule => rule(one)).filter(Boolean), parts = kind => (status.components ?? []).filter(part => part.kind === kind);
  const silent = hosts.filter(([, ago]) => ago > SILENT_S), told = ([name, ago]) => `${name || "an unknown host"} has been silent for ${seconds(ago)}`;
  const quiet = silent.length > NAMED ? [[`${silent.length} hosts have been silent for more than ${seconds(SILENT_S)}: ${silent.slice(0, NAMED).map(([name]) => name).join(", ")}, …`, REACH]] : silent.map(one => [told(one), REACH]);
  const refused = (status.senders ?? []).filter(sender => sender.refused > REFUSED * sender.requests && sender.peer)
    .map(({ peer, agent, refused: count, requests }) => [`${many(count)} of ${many(requests)} requests of ${peer}${agent ? ` (${agent})` : ""} were refused`, "Logs say why, with what they said."]);
  return [...parts("exporter").flatMap(part => all(ofExporter, part)), ...parts("receiver").flatMap(part => all(ofReceiver, part)), ...all(ofStatus, status), ...refused, ...quiet];
}
