// SPDX-License-Identifier: Apache-2.0
// A program of which it is known when it ran and what it waited for, sent as CPU time, wall time and waits.
//
//	shop 5151	runs for 1 s, waits for a lock for 2 s, wants a CPU for half a second, runs for half a second, waits for a lock until 4.8 s
//	worker 5152	sleeps; that is told of at 4.5 s, when it wakes
const MS = 1000000n;

export function send(url, host, second) {
  const names = [""], number = text => names.includes(text) ? names.indexOf(text) : names.push(text) - 1, at = ms => String(BigInt(second) * 1000n * MS + BigInt(ms) * MS);
  const attributes = [{}], attribute = (key, value) => attributes.push({ keyStrindex: number(key), value }) - 1, text = stringValue => ({ stringValue });
  const main = [attribute("thread.id", { intValue: "5151" }), attribute("thread.name", text("shop")), attribute("tenant", text("acme"))], worker = [attribute("thread.id", { intValue: "5152" }), attribute("thread.name", text("worker"))];
  const reason = Object.fromEntries(["futex", "run_queue", "sleep"].map(name => [name, attribute("wait.reason", text(name))]));
  const ticks = [...Array(100).keys()].map(i => 10 * (i + 1)).concat([...Array(50).keys()].map(i => 3510 + 10 * i));
  const wait = (whose, why, end, ms, stackIndex) => ({ stackIndex, attributeIndices: [...whose, reason[why]], timestampsUnixNano: [at(end)], values: [String(BigInt(ms) * MS)] });
  const waits = [wait(main, "futex", 3000, 2000, 2), wait(main, "run_queue", 3500, 500, 2), wait(main, "futex", 4800, 800, 2), wait(worker, "sleep", 4500, 4500, 3)];
  const ran = values => ({ stackIndex: 1, attributeIndices: main, timestampsUnixNano: ticks.map(at), ...values });
  const set = (type, unit, samples, more = {}) => ({ sampleType: { typeStrindex: number(type), unitStrindex: number(unit) }, timeUnixNano: at(0), samples, ...more });
  const resource = { attributes: [["host.name", text(host)], ["process.executable.name", text("shop")], ["process.pid", { intValue: "5151" }]].map(([key, value]) => ({ key, value })) };
  const profiles = [set("samples", "count", [ran({})], { periodType: { typeStrindex: number("cpu"), unitStrindex: number("nanoseconds") }, period: String(10n * MS) }),
                    set("off_cpu", "nanoseconds", waits), set("wall", "nanoseconds", [ran({ values: ticks.map(() => String(10n * MS)) }), ...waits])];
  const functions = ["main", "work", "lock", "rest"].map(number);
  const dictionary = { stringTable: names, mappingTable: [{}], linkTable: [{}], attributeTable: attributes, functionTable: [{}, ...functions.map(nameStrindex => ({ nameStrindex }))],
                       locationTable: [{}, ...functions.map((_, i) => ({ lines: [{ functionIndex: i + 1 }] }))], stackTable: [{}, ...[2, 3, 4].map(leaf => ({ locationIndices: [leaf, 1] }))] };
  return fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ resourceProfiles: [{ resource, scopeProfiles: [{ profiles }] }], dictionary }) });
}

// Each switch of two threads: 6001 wants CPU 3 for 20 us a hundred times in the first second, 6002 wants CPU 7 for 250 ms four times from the third on; each runs for 5 ms then.
export function sendSwitches(url, host, second) {
  const names = ["", "lanes", "nanoseconds", "thread.id", "cpu.logical_number", "wait.reason"], US = 1000n;
  const attributeTable = [{}, ...[["3", 6001], ["3", 6002], ["4", 3], ["4", 7]].map(([key, value]) => ({ keyStrindex: Number(key), value: { intValue: String(value) } })), { keyStrindex: 5, value: { stringValue: "run_queue" } }];
  const part = (whose, us, length, isWait) => ({ attributeIndices: [...whose, ...(isWait ? [5] : [])], timestampsUnixNano: [String(BigInt(second) * 1000n * MS + BigInt(us) * US)], values: [String(BigInt(length) * US)] });
  const round = (whose, us, length) => [part(whose, us, length, true), part(whose, us + length, 5000, false)];
  const samples = [...Array(100).keys()].flatMap(i => round([1, 3], i * 10000 + 3000, 20)).concat([...Array(4).keys()].flatMap(i => round([2, 4], 2000000 + i * 500000, 250000)));
  const attributes = [["host.name", { stringValue: host }], ["process.executable.name", { stringValue: "shop" }], ["process.pid", { intValue: "6001" }]].map(([key, value]) => ({ key, value }));
  const profile = { sampleType: { typeStrindex: 1, unitStrindex: 2 }, timeUnixNano: String(BigInt(second) * 1000n * MS), samples };
  const dictionary = { stringTable: names, mappingTable: [{}], linkTable: [{}], attributeTable, functionTable: [{}], locationTable: [{}], stackTable: [{}] };
  return fetch(url + "/v1development/profiles", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ resourceProfiles: [{ resource: { attributes }, scopeProfiles: [{ profiles: [profile] }] }], dictionary }) });
}
