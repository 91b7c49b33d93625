// SPDX-License-Identifier: Apache-2.0
// generate.mjs STACKS DIRECTORY: a whole-system profile of so many distinct stacks, the same each time: 60 processes in six
// languages and the kernel, names as long as those of C++ and Java, stacks up to 120 deep that share their beginnings.
//	all.pb.gz	pprof, for every viewer that reads it
//	part-N.pb.gz	the same in parts of 25,000 stacks, a second apart, for a store
//	d3.json		the merged tree, for viewers that merge nothing (not above 100,000 stacks)
import fs from "node:fs";
import zlib from "node:zlib";

const [stacksWanted, directory] = [Number(process.argv[2]), process.argv[3]];
const PART = 25000, PERIOD = 52631578, DEPTH_MAX = 120;

// ---- Chance that is the same each time

let seed = 42;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = n => Math.floor(random() * n);
const bell = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const decay = () => -Math.log(1 - random());

// ---- Functions

const words = ("get set parse encode decode read write flush commit lock unlock alloc free map reduce filter handle serve " +
  "dispatch poll wait wake schedule compute merge split hash lookup insert remove update render layout paint compile " +
  "optimize link load store send recv connect accept close open sync async queue stack tree graph index query scan join " +
  "group sort limit cache evict refresh validate check verify sign encrypt decrypt compress inflate copy move swap rotate " +
  "iterate next prev begin end init exit start stop run exec spawn fork clone").split(" ");
const word = () => words[below(words.length)];
const Word = () => word().replace(/^./, letter => letter.toUpperCase());
const kinds = {
  python: [6000, i => [`${word()}_${word()}_${i}`, `/usr/lib/python3/dist-packages/${word()}/${word()}.py`, "python3.11"]],
  jvm: [12000, i => [`com.acme.${word()}.${Word()}${Word()}${i}.${word()}${Word()}(java.lang.String, java.util.Map)`,
                     Word() + ".java", "libjvm.so"]],
  go: [8000, i => [`github.com/acme/${word()}/pkg/${word()}.(*${Word()}${Word()}).${Word()}${i}`, `/src/${word()}.go`, "server"]],
  native: [10000, i => [`acme::${word()}::${Word()}<std::basic_string<char>, unsigned long>::${word()}_${word()}_${i}`,
                        `/src/${word()}.cc`, `lib${word()}.so.1`]],
  node: [5000, i => [word() + Word() + i, `/app/node_modules/${word()}/lib/${word()}.js`, "node"]],
  ruby: [3000, i => [`${Word()}::${Word()}#${word()}_${i}`, `/gems/${word()}.rb`, "libruby.so.3.1"]],
  kernel: [4000, i => [`${["__x64_sys", "do", "vfs", "tcp", "ext4", "__schedule", "mm", "rcu"][below(8)]}_${word()}_${word()}_${i}`,
                       "", "vmlinux"]],
};
const functions = [], pools = {};
for (const [kind, [count, make]] of Object.entries(kinds)) {
  pools[kind] = [];
  for (let i = 0; i < count; i++)
    pools[kind].push(functions.push(make(i)) - 1);
}
const languages = Object.keys(kinds).filter(kind => kind !== "kernel");
const processes = Array.from({ length: 60 }, (_, i) => {
  const kind = languages[below(languages.length)];
  return { kind, entry: functions.push([`${kind}-svc-${String(i).padStart(2, "0")}`, "", "comm"]) - 1 };
});

// Each function calls a few others, the first ones mostly: so stacks have beginnings in common.
const callees = new Map();
function callee(caller, pool) {
  let known = callees.get(caller);
  if (!known) {
    const count = random() < 0.35 ? 2 + Math.floor(Math.abs(bell()) * 3) : 1;
    callees.set(caller, known = Array.from({ length: count }, () => pool[below(pool.length)]));
  }
  let i = 0;
  while (i < known.length - 1 && random() < 0.22)
    i++;
  return known[i];
}

// ---- The tree

const node = fn => ({ fn, self: 0, total: 0, children: new Map() });
const root = node(-1);

function walkOnce() {
  const process = processes[Math.floor(Math.abs(bell()) * processes.length / 3) % processes.length];
  const depth = Math.min(DEPTH_MAX, 8 + Math.floor(Math.abs(bell()) * 22));
  const kernelAt = random() < 0.25 ? depth - 3 - below(8) : -1;
  let at = root, fn = process.entry, pool = pools[process.kind];
  for (let d = 0; d < depth; d++) {
    if (d > 0 && kernelAt > 0 && d >= kernelAt) {
      pool = pools.kernel;
      fn = d === kernelAt ? pool[below(40)] : callee(fn, pool);
    } else if (d > 2 && process.kind !== "native" && random() < 0.01) {
      pool = pools.native;
      fn = pool[below(pool.length / 20)];
    } else if (d > 0) {
      fn = callee(fn, pool);
    }
    let child = at.children.get(fn);
    if (!child)
      at.children.set(fn, child = node(fn));
    at = child;
  }
  return at;
}

let stacks = 0, nodes = 0, samples = 0;
while (stacks < stacksWanted) {
  const leaf = walkOnce();
  stacks += leaf.self === 0;
  leaf.self += 1 + Math.floor(decay() * 3) + (below(50) === 0 ? Math.floor(decay() * 300) : 0);
}
(function sum(at) {
  nodes++;
  samples += at.self;
  at.total = at.self;
  for (const child of at.children.values())
    at.total += sum(child);
  return at.total;
})(root);

// ---- pprof

class Message {
  constructor(bytes = 256) { this.at = Buffer.allocUnsafe(bytes); this.length = 0; }
  room(bytes) {
    if (this.length + bytes > this.at.length)
      this.at = Buffer.concat([this.at, Buffer.allocUnsafe(Math.max(this.at.length, bytes))]);
  }
  varint(value) {
    this.room(10);
    while (value >= 128) {
      this.at[this.length++] = value % 128 + 128;
      value = Math.floor(value / 128);
    }
    this.at[this.length++] = value;
  }
  // Of more than 53 bits.
  large(field, value) {
    this.varint(field * 8);
    for (; value >= 128n; value >>= 7n)
      this.byte(Number(value & 127n) + 128);
    this.byte(Number(value));
  }
  byte(byte) { this.room(1); this.at[this.length++] = byte; }
  number(field, value) { this.varint(field * 8); this.varint(value); }
  bytes(field, from, length = from.length) {
    this.varint(field * 8 + 2);
    this.varint(length);
    this.room(length);
    from.copy(this.at, this.length, 0, length);
    this.length += length;
  }
  message(field, fill) {
    const inner = Message.spare.pop() ?? new Message();
    inner.length = 0;
    fill(inner);
    this.bytes(field, inner.at, inner.length);
    Message.spare.push(inner);
  }
  static spare = [];
}

class Pprof {
  constructor(timeNs) {
    Object.assign(this, { out: new Message(1 << 20), strings: new Map([["", 0]]), locations: new Map(), mappings: new Map(), timeNs });
    for (const [type, unit] of [["samples", "count"]])
      this.out.message(1, m => { m.number(1, this.string(type)); m.number(2, this.string(unit)); });
  }
  string(text) {
    if (!this.strings.has(text))
      this.strings.set(text, this.strings.size);
    return this.strings.get(text);
  }
  mapping(name) {
    if (!this.mappings.has(name)) {
      const id = this.mappings.size + 1;
      this.mappings.set(name, id);
      this.out.message(3, m => { m.number(1, id); m.number(2, id * 1e9); m.number(3, id * 1e9 + 9e8); m.number(5, this.string(name)); });
    }
    return this.mappings.get(name);
  }
  location(fn) {
    if (!this.locations.has(fn)) {
      const id = this.locations.size + 1, [name, file, exe] = functions[fn], mapping = this.mapping(exe);
      this.locations.set(fn, id);
      this.out.message(5, m => { m.number(1, id); m.number(2, this.string(name)); m.number(4, this.string(file)); m.number(5, 1); });
      this.out.message(4, m => {
        m.number(1, id);
        m.number(2, mapping);
        m.number(3, mapping * 1e9 + 4096 + fn * 16);
        m.message(4, line => { line.number(1, id); line.number(2, fn % 997); });
      });
    }
    return this.locations.get(fn);
  }
  sample(stack, value) {
    const ids = stack.map(fn => this.location(fn)).reverse();
    this.out.message(2, m => {
      m.message(1, list => ids.forEach(id => list.varint(id)));
      m.message(2, list => { list.varint(value); });
    });
  }
  write(path, durationNs) {
    this.out.large(9, this.timeNs);
    this.out.number(10, durationNs);
    this.out.message(11, m => { m.number(1, this.string("cpu")); m.number(2, this.string("nanoseconds")); });
    this.out.number(12, PERIOD);
    for (const text of this.strings.keys())
      this.out.bytes(6, Buffer.from(text));
    fs.writeFileSync(path, zlib.gzipSync(this.out.at.subarray(0, this.out.length), { level: 1 }));
  }
}

const beganNs = BigInt(Math.floor(Date.now() / 1000) - 120) * 1000000000n;
const whole = new Pprof(beganNs);
let part = null, parts = 0, inPart = 0;

function closePart() {
  part?.write(`${directory}/part-${parts++}.pb.gz`, 1e9);
  part = null;
}

(function put(at, path) {
  if (at.self) {
    part ??= new Pprof(beganNs + BigInt(parts) * 1000000000n);
    whole.sample(path, at.self);
    part.sample(path, at.self);
    if (++inPart % PART === 0)
      closePart();
  }
  for (const child of at.children.values()) {
    path.push(child.fn);
    put(child, path);
    path.pop();
  }
})(root, []);
closePart();
whole.write(`${directory}/all.pb.gz`, parts * 1e9);

// ---- The merged tree

const asD3 = at => ({ name: at.fn < 0 ? "all" : functions[at.fn][0], value: at.total, children: [...at.children.values()].map(asD3) });
if (stacks <= 100000)
  fs.writeFileSync(`${directory}/d3.json`, JSON.stringify(asD3(root)));
// What a search for "encode" must find.
const encoding = at => at.fn >= 0 && functions[at.fn][0].toLowerCase().includes("encode") ? at.total
  : [...at.children.values()].reduce((sum, child) => sum + encoding(child), 0);
fs.writeFileSync(`${directory}/about.json`, JSON.stringify({ stacks, nodes, samples, encode: encoding(root), parts, began: Number(beganNs / 1000000000n) }));
