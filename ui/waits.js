// What threads wait for, as values of the label "wait" have it (docs/wall-time.md): in words, and in colours that stay the same wherever they are seen.
// Like those of frames they are light enough for dark text, which test/ui/waits.test.mjs checks.
// Kinds whose samples say so.
export const isWaiting = kind => ["wall", "off_cpu", "wakeup", "lanes"].includes(kind);

export const RUNNING = "(running)";     // what a group is called whose label is empty

const reasons = {
  "": ["running", "#69c36d", "on a CPU"],
  run_queue: ["wants a CPU", "#f2783c", "could run, but every CPU that it may use is taken"],
  throttled: ["throttled", "#ef7f95", "its control group has used up its CPU time"],
  futex: ["lock", "#f2c14b", "a lock, a condition, another thread (futex)"],
  kernel_lock: ["kernel lock", "#d9a441", "a lock of the kernel"],
  disk: ["disk", "#6d9eeb", "a disk"],
  page_fault: ["page fault", "#b48ad0", "memory: from a file, from swap"],
  network: ["network", "#35bdd2", "the network"],
  pipe: ["pipe", "#7bbfb5", "a pipe"],
  io_uring: ["io_uring", "#9db8f5", "completions of io_uring"],
  child: ["child", "#c99a68", "a process to end"],
  signal: ["signal", "#b4d455", "a signal"],
  terminal: ["terminal", "#d3a9dc", "a terminal"],
  poll: ["poll", "#bccbdd", "poll, select, epoll: mostly for something to do"],
  sleep: ["sleep", "#d2d6dc", "a time"],
  stopped: ["stopped", "#a9a39b", "SIGCONT, or a debugger"],
  other: ["other", "#cdb79e", "none of these"],
};

// Those that keep a thread from its work first, those in which it has none last.
export const reasonNames = Object.keys(reasons);

const known = name => reasons[name === RUNNING ? "" : name];

export const reasonWord = name => known(name)?.[0] ?? name;
export const reasonText = name => known(name)?.[2] ?? name;
export const reasonColour = name => (known(name) ?? reasons.other)[1];
