# SPDX-License-Identifier: Apache-2.0
"""Java on HotSpot. test/victims/java/Victim.java is recorded over its whole life; each of its modes has a chain of calls
that every sample in it must show, from the thread's first function on, and a split of its time that it tells itself."""
import collections
import os
import re
import subprocess
import tempfile
import zipfile

from common import BUILD, ROOT, ROOTS, Recording
from runtime_profile import check_most

VERSION = "17"
LEAST = 5000            # samples of each victim, in the matrix
TRIES = 3               # to get so many
SECONDS_MAX = 120
FULL_SECONDS = 12
VERSIONS = ["8", "11", "17", "21", "25"]
EXACT = 0.99
SHORT_LIVES = 0.95    # in the first there is also the time to load the program of the kernel half
SHARE_POINTS = 3
JUDGE_POINTS = 5
JUDGE_VERSION = "4.5"
FOLDER = os.path.join(BUILD, "victims", "java")
JAR = os.path.join(FOLDER, "victim.jar")  # archives of classes are only made of jars
SOURCE = os.path.join(ROOT, "test", "victims", "java")

LEAF = r"(>(hot|warm|cold))?$"
BEGIN = r"^main>run>"
# mode: what the Victim's frames must be, down to the leaf, or to a caller between two calls; proxies of lambdas are
# left out
CHAINS = {
    "chain": BEGIN + r"chain(>round)?" + LEAF,
    "recursion": BEGIN + r"recursion((>deep){0,500}$|(>deep){500}>round" + LEAF + ")",
    "exceptions": BEGIN + r"exceptions(>thrower){0,4}(>round)?" + LEAF,
    "lambdas": BEGIN + r"lambdas(>consume(>lambda(>hot|>consume(>lambda(>cold)?)?)?|>warm)?)?$",
    "interfaces": BEGIN + r"interfaces(>Hot\.run(>hot)?|>Warm\.run(>warm)?|>Cold\.run(>cold)?)?$",
    "threads": r"^chain(>round)?" + LEAF,
    "virtual": r"^lambda(>lambda(>round)?)?" + LEAF,
    "parked": r"^lambda(>lambda((>descend){0,50}$|(>descend){50}>round" + LEAF + "))?$",
    "natives": BEGIN + r"natives(>callBack(>calledBack(>hot)?)?|>spinNative|>cold)?$",
    "calls": BEGIN + r"calls(>fibonacci){0,20}(>add)?$",
    "copies": BEGIN + r"copies$",
    "garbage": BEGIN + r"garbage$",
}
CARRIER = (r">StubRoutines::call_stub>java\.util\.concurrent\.ForkJoinWorkerThread\.run>.*>java\.lang\.VirtualThread\.runContinuation"
           r">jdk\.internal\.vm\.Continuation\.run(>jdk\.internal\.vm\.Continuation\.enterSpecial)?"
           r">jdk\.internal\.vm\.Continuation\.enter>jdk\.internal\.vm\.Continuation\.enter0"
           r">.*>java\.lang\.VirtualThread\.run>")
# Virtual threads have no CPU time that they could tell.
TIMED = ("chain", "recursion", "exceptions", "lambdas", "interfaces", "threads")
ON_THREADS = ("threads", "virtual", "parked")  # the first one only waits for them
HELPERS = ("now", "more")
OUTSIDE = ("main", "main>run")  # before the first call, and after the last


def install(*arguments):
    result = subprocess.run([os.path.join(ROOT, "test", "runtimes", "install.sh"), *arguments], capture_output=True,
                            text=True, timeout=500, check=False)
    if result.returncode:
        raise OSError(result.stderr.strip().splitlines()[-1])
    return result.stdout.strip()


def build():
    """The victim's classes, for JDK 8 and later, and its native half."""
    include = os.path.join(install("jdk", "17"), "include")
    os.makedirs(FOLDER, exist_ok=True)
    subprocess.run(["javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d", FOLDER,
                    os.path.join(SOURCE, "Victim.java")], check=True)
    # Without --release, which hides sun.misc.Unsafe.
    subprocess.run(["javac", "-nowarn", "-XDignore.symbol.file", "-Xlint:-options", "-source", "8", "-target", "8", "-d", FOLDER,
                    os.path.join(SOURCE, "Corrupt.java")], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-fno-optimize-sibling-calls", f"-I{include}",
                    f"-I{include}/linux", os.path.join(SOURCE, "victim.c"), "-o",
                    os.path.join(FOLDER, "libvictim.so")], check=True)
    with zipfile.ZipFile(JAR, "w") as jar:
        for name in sorted(n for n in os.listdir(FOLDER) if n.startswith("Victim") and n.endswith(".class")):
            jar.write(os.path.join(FOLDER, name), name)


def marks():
    """{name: line} of the lines that the source marks."""
    with open(os.path.join(SOURCE, "Victim.java"), encoding="ascii") as file:
        found = ((re.search(r"// @(\w+)$", line), number) for number, line in enumerate(file, 1))
        return {match[1]: number for match, number in found if match}


class Stack:
    """A sample's frames, outermost first: (name, line, type)."""

    def __init__(self, profile, sample, span_ns):
        self.count = sum(span_ns[0] <= int(t) < span_ns[1] for t in sample.get("timestampsUnixNano", []))
        self.frames = []
        for index in reversed(profile.tables["stackTable"][sample.get("stackIndex", 0)].get("locationIndices", [])):
            location = profile.tables["locationTable"][index]
            kind = profile.attributes(location).get("profile.frame.type")
            for line in reversed(location.get("lines", [])):
                function = profile.tables["functionTable"][line.get("functionIndex", 0)]
                self.frames.append((profile.strings[function.get("nameStrindex", 0)], int(line.get("line", 0)), kind))
        self.is_rooted = bool(self.frames) and self.frames[0][0] in ROOTS
        self.java = [f for f in self.frames if f[2] == "jvm"]
        self.chain = [f for f in self.java if f[0].startswith("Victim") and "$$Lambda" not in f[0]]

    def outermost(self):
        return " < ".join(reversed([f[0] for f in self.frames[:3]]))

    def text(self):
        """The chain down to hot(), warm(), cold() or whatever is the last that is no helper."""
        names = [re.sub(r"^Victim[.$]", "", f[0]) for f in self.chain]
        names = ["lambda" if name.startswith("lambda$") else name for name in names]
        while names and names[-1] in HELPERS:
            names.pop()
        return ">".join(names)


def record(java, options, mode, seconds, threads=1):
    """(recording, what the victim said): wick runs the victim, from the JVM's first instruction on."""
    command = [os.path.join(java, "bin", "java"), *options, "-cp", JAR, "Victim", mode, str(seconds), str(threads),
               os.path.join(FOLDER, "libvictim.so")]
    recording = Recording([], command, timeout=seconds + 120).wait()
    return recording, recording.stdout.decode(errors="replace")


def wanted_stacks(profile, said):
    """Those in the chain, or cut short in Java code, which may have been in it; while the victim was at work."""
    span_ns = [int(re.search(rf"^{word} (\d+)", said, re.M)[1]) * 1000000 for word in ("from", "to")]
    samples = (s for r in profile.data["resourceProfiles"] for scope in r["scopeProfiles"]
               for p in scope["profiles"] for s in p.get("samples", []))
    stacks = [Stack(profile, s, span_ns) for s in samples]
    return [s for s in stacks if s.count and (s.chain or (s.java and not s.is_rooted))]


def check_chain(tap, name, mode, stacks):
    """How many of them there were."""
    wanted = re.compile(CHAINS[mode])
    bad = collections.Counter()
    total = 0
    for stack in stacks:
        text = stack.text()
        if stack.is_rooted and (text in OUTSIDE or mode in ON_THREADS and text.startswith("main")):
            continue
        total += stack.count
        if not stack.is_rooted or not wanted.search(text):
            shown = text if len(text) < 200 else text[:90] + " ... " + text[-90:]
            bad[("" if stack.is_rooted else f"cut at {stack.outermost()}: ") + shown] += stack.count
    good = total - sum(bad.values())
    tap.check(f"{name}: every frame, in order", total and good / total >= EXACT, f"{good} of {total} samples")
    for text, count in bad.most_common(5):
        tap.note(f"{count} {text}")
    return total


def check_carrier(tap, name, stacks):
    """Below a virtual thread's frames are those of its carrier, down to the thread's first function."""
    wanted = re.compile(CARRIER)
    right, wrong = 0, collections.Counter()
    for stack in stacks:
        if not stack.chain or stack.chain[0][0] == "Victim.main":
            continue
        text = ">".join(f[0] for f in stack.frames[:stack.frames.index(stack.chain[0])])
        if wanted.search(text):
            right += stack.count
        else:
            wrong[text[-200:]] += stack.count
    check_most(tap, f"{name}: on its carrier", right, wrong, EXACT)


def check_shares(tap, name, said, stacks):
    truth = {n: int(ns) for n, ns in re.findall(r"(hot|warm|cold) (\d+)", said)}
    found = collections.Counter()
    for stack in stacks:
        for leaf in truth:
            if any(f[0] == "Victim." + leaf for f in stack.chain):
                found[leaf] += stack.count
    total, spent = sum(found.values()), sum(truth.values())
    if not tap.check(f"{name}: the victim told its times", spent and total, " ".join(said.split())[-200:]):
        return
    off = {n: 100 * found[n] / total - 100 * truth[n] / spent for n in truth}
    tap.check(f"{name}: shares within {SHARE_POINTS} points", max(map(abs, off.values())) <= SHARE_POINTS,
              ", ".join(f"{n} {d:+.1f}" for n, d in off.items()))


def check_lines(tap, name, stacks):
    """Of callers exactly; of the leaf, the loop: compiled code tells of its polls only."""
    mark = marks()
    right, wrong = 0, collections.Counter()
    for stack in stacks:
        names = [f[0] for f in stack.chain]
        if "Victim.round" not in names or len(names) != names.index("Victim.round") + 2:
            continue
        leaf = names[-1].split(".")[1]
        if leaf not in ("hot", "warm", "cold"):
            continue
        expected = {"Victim.main": {mark["call_run"]}, "Victim.run": {mark["call_chain"]},
                    "Victim.chain": {mark["call_round"]}, "Victim.round": {mark["call_" + leaf]},
                    names[-1]: set(range(mark[leaf] - 3, mark[leaf] + 5))}
        for frame_name, line, _ in stack.chain:
            if line in expected.get(frame_name, ()):
                right += stack.count
            else:
                wrong[f"{frame_name}:{line}"] += stack.count
    check_most(tap, f"{name}: lines", right, wrong, EXACT)


def inclusive(stacks):
    """{function: share in percent} of stacks, each (names, count)."""
    found, total = collections.Counter(), 0
    for names, count in stacks:
        total += count
        for name in set(names):
            found[name] += count
    return {name: 100 * count / max(1, total) for name, count in found.items()}


def check_judge(tap, name, java, mode, seconds):
    """async-profiler in the same run: inclusive shares of the Java functions that have 2 % or more."""
    try:
        library = install("async-profiler", JUDGE_VERSION)
    except OSError as error:
        tap.skip(f"{name}: as async-profiler sees it", str(error))
        return
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        file = os.path.join(folder, "judge")
        agent = f"-agentpath:{library}=start,event=ctimer,interval=1ms,collapsed,file={file}"
        recording, said = record(java, [agent], mode, seconds)
        theirs = []
        if os.path.exists(file):
            with open(file, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    stack, count = line.rsplit(" ", 1)
                    theirs.append(([re.sub(r"_\[\w\]$", "", f).replace("/", ".") for f in stack.split(";")], int(count)))
    ours = [([f[0] for f in s.java], s.count) for s in wanted_stacks(recording.profile(), said)]
    ours, theirs = ([s for s in side if "Victim.main" in s[0]] for side in (ours, theirs))
    a, b = inclusive(ours), inclusive(theirs)
    names = {n for n in set(a) | set(b) if max(a.get(n, 0), b.get(n, 0)) >= 2 and re.match(r"(Victim|java|jdk|sun)\.", n)}
    off = sorted(((abs(a.get(n, 0) - b.get(n, 0)), n) for n in names), reverse=True)
    tap.check(f"{name}: as async-profiler sees it", names and off[0][0] <= JUDGE_POINTS,
              f"{len(names)} functions, {sum(s[1] for s in ours)} and {sum(s[1] for s in theirs)} samples, "
              f"at most {off[0][0] if off else 0:.1f} points apart")
    for apart, function in off[:5]:
        if apart > JUDGE_POINTS:
            tap.note(f"{function}: {a.get(function, 0):.1f} %, judge {b.get(function, 0):.1f} %")


def check_signatures(tap, name, java):
    """Overloaded methods can be told from each other, for those who want it."""
    command = [os.path.join(java, "bin", "java"), "-cp", FOLDER, "Victim", "chain", "2"]
    recording = Recording(["--java-signatures"], command, timeout=120).wait()
    profile = recording.profile()
    seen = {profile.strings[f.get("nameStrindex", 0)] for f in profile.tables["functionTable"]}
    wanted = {"Victim.main(java.lang.String[])", "Victim.run(java.lang.String, int, java.lang.String)", "Victim.hot(long)",
              "Victim.chain()"}
    tap.check(f"{name}: signatures", wanted <= seen, ", ".join(sorted(wanted - seen)))


def check_short_lives(tap, name, java):
    """JVMs that live for a fraction of a second: their Java functions have names from the first on."""
    program = os.path.join(java, "bin", "java")
    command = ["sh", "-c", f'for i in 1 2 3 4 5 6; do "{program}" -cp "{JAR}" Victim chain 0 1 "{FOLDER}/libvictim.so" >/dev/null; done']
    profile = Recording([], command, timeout=120).wait().profile()
    seen, wrong = 0, collections.Counter()
    for sample in profile.samples:
        if "JavaCalls::call_helper" not in sample.user:
            continue
        seen += sample.count
        inside = sample.user[sample.user.index("JavaCalls::call_helper") + 1:]
        for frame in inside:
            if frame == "Interpreter" or frame.startswith(("[unknown", "[frame", "StubRoutines (")):
                wrong[frame] += sample.count
                break
    good = seen - sum(wrong.values())
    tap.check(f"{name}: short lives have names, too", seen >= 50 and good / seen >= SHORT_LIVES, f"{good} of {seen} samples, {dict(wrong)}")


def run_mode(tap, java, label, mode, options, seconds, threads=1, least=0):
    """With at least so many samples: on a busy machine the victim runs for longer."""
    name = f"{label} {mode}{' ' + os.path.basename(' '.join(options)) if options else ''}"
    for _ in range(TRIES):
        recording, said = record(java, options, mode, seconds, threads)
        if recording.status:
            tap.check(f"{name}: recorded", False)
            tap.note(recording.said())
            return
        stacks = wanted_stacks(recording.profile(), said)
        count = sum(s.count for s in stacks)
        if count >= least:
            break
        seconds = min(SECONDS_MAX, int(1.3 * seconds * least / max(1, count)) + 1)
    check_chain(tap, name, mode, stacks)
    if mode in ("virtual", "parked"):
        check_carrier(tap, name, stacks)
    if mode in TIMED:
        check_shares(tap, name, said, stacks)
    if mode == "chain":
        check_lines(tap, name, stacks)


def collectors(major):
    """Options for each of them, and for what changes how objects look."""
    names = ["Serial", "Parallel", "G1"] + (["Z", "Shenandoah"] if major >= 17 else [])
    found = [[f"-XX:+Use{name}GC"] for name in names]
    if major == 21:
        found.append(["-XX:+UseZGC", "-XX:+ZGenerational"])
    found += [[*options, "-XX:-UseCompressedClassPointers"] for options in found]
    if major >= 25:
        found += [[f"-XX:+Use{name}GC", "-XX:+UseCompactObjectHeaders"] for name in names]
    return found


def archives(java, major, folder):
    """Options for classes, and what was made of them, from an archive, or without any; the archives are made first."""
    program = os.path.join(java, "bin", "java")
    ways = [["-Xshare:off"]]
    made = []
    if major >= 17:
        file = os.path.join(folder, "app.jsa")
        made.append(([f"-XX:ArchiveClassesAtExit={file}"], [f"-XX:SharedArchiveFile={file}"], file))
    if major >= 25:
        file = os.path.join(folder, "app.aot")
        made.append(([f"-XX:AOTCacheOutput={file}"], [f"-XX:AOTCache={file}", "-XX:AOTMode=on"], file))
    for make, use, file in made:
        subprocess.run([program, *make, "-cp", JAR, "Victim", "chain", "1"], capture_output=True, timeout=120, check=True)
        if not os.path.exists(file):
            raise OSError(f"{make[0]} has made no archive")
        ways.append(use)
    return ways


def run_matrix(tap, java, label, version):
    for options in collectors(int(version)):
        run_mode(tap, java, label, "garbage", options, FULL_SECONDS, least=LEAST)
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        try:
            ways = archives(java, int(version), folder)
        except (OSError, subprocess.SubprocessError) as error:
            tap.check(f"{label}: archives", False, str(error))
            return
        for options in ways:
            run_mode(tap, java, label, "chain", options, FULL_SECONDS, least=LEAST)


def run(tap, version, full):
    label = "JDK " + version
    try:
        java = install("jdk", version)
        build()
    except (OSError, subprocess.CalledProcessError) as error:
        tap.skip(label, str(error))
        return
    seconds, least = (FULL_SECONDS, LEAST) if full else (4, 0)
    for options in ([], ["-Xint"], ["-XX:TieredStopAtLevel=1"]):
        run_mode(tap, java, label, "chain", options, seconds, least=least)
    for mode in ("recursion", "exceptions", "lambdas", "interfaces", "natives", "calls", "copies"):
        run_mode(tap, java, label, mode, [], seconds, least=least)
    run_mode(tap, java, label, "threads", [], seconds, threads=8, least=least)
    if int(version) >= 21:
        run_mode(tap, java, label, "virtual", [], seconds, threads=8, least=least)
        for options in ([], ["-Xint"]):
            run_mode(tap, java, label, "parked", options, seconds, threads=8, least=least)
    if full:
        run_matrix(tap, java, label, version)
    else:
        for collector in ("G1", "Parallel"):
            run_mode(tap, java, label, "garbage", [f"-XX:+Use{collector}GC"], seconds)
    check_short_lives(tap, label, java)
    check_signatures(tap, label, java)
    check_judge(tap, f"{label} chain", java, "chain", seconds)
