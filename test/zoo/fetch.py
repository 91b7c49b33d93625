# SPDX-License-Identifier: Apache-2.0
"""Brings the packages of test/zoo/list into folders of the cache, without installing anything, and makes what they work on."""
import fcntl
import os
import random
import re
import shutil
import subprocess

CACHE = os.path.join(os.environ.get("WICK_TEST_CACHE", os.path.expanduser("~/.cache/wick-test")), "zoo")
HERE = os.path.dirname(os.path.abspath(__file__))
FETCH_SECONDS = 600
LINE = re.compile(r"^(\S+) ; *([^;]*); (-|\d+) ; (.*)$")


class Program:
    def __init__(self, name, packages, whole, command):
        self.name = name
        self.command = command
        self.packages = packages.split()
        self.whole = None if whole == "-" else float(whole)
        self.root = os.path.join(CACHE, self.name)


def programs():
    """A line of another form goes on with the command before."""
    found = []
    with open(os.path.join(HERE, "list"), encoding="ascii") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            match = LINE.match(line)
            if match:
                found.append(Program(*match.groups()))
            else:
                found[-1].command += "\n" + line.strip()
    return found


def run(command, cwd=None):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    if result.returncode:
        raise OSError((result.stderr.strip() or result.stdout.strip() or "failed").splitlines()[-1][:200])


def fetch_debian(packages, root):
    archives = os.path.join(root, "archives")
    os.makedirs(os.path.join(archives, "partial"), exist_ok=True)
    run(["apt-get", "install", "-d", "-y", "-q", "--reinstall", "--no-install-recommends", "-o", "Debug::NoLocking=1",
         "-o", "APT::Sandbox::User=root", "-o", f"Dir::Cache::archives={archives}", *packages])
    for name in sorted(os.listdir(archives)):
        if name.endswith(".deb"):
            run(["dpkg", "-x", os.path.join(archives, name), root])
    shutil.rmtree(archives)


def fetch(program):
    """Once; OSError if it is not to be had."""
    done = os.path.join(program.root, "complete-" + "-".join(program.packages).replace("/", "_"))
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, program.name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(done):
            return
        shutil.rmtree(program.root, ignore_errors=True)
        os.makedirs(program.root)
        debian = [p for p in program.packages if ":" not in p]
        if debian:
            fetch_debian(debian, program.root)
        for package in program.packages:
            kind, _, name = package.partition(":")
            if kind == "npm":
                run(["npm", "install", "--no-audit", "--no-fund", "--prefix", program.root, name])
            elif kind == "pip":
                run(["python3", "-m", "pip", "install", "-q", "--target", os.path.join(program.root, "pip"), name])
        with open(done, "w", encoding="ascii"):
            pass


def environment(program):
    root = program.root
    libraries = [os.path.join(root, folder) for folder in (
        "usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib", "usr/lib/x86_64-linux-gnu/blas", "usr/lib/x86_64-linux-gnu/lapack",
        "usr/lib/x86_64-linux-gnu/octave/7.3.0")]
    folders = [os.path.join(root, folder) for folder in (
        "usr/bin", "bin", "usr/sbin", "usr/games", "usr/lib/chromium", "node_modules/.bin")]
    return {**os.environ, "R": root, "PATH": ":".join(folders + [os.environ.get("PATH", "")]),
            "LD_LIBRARY_PATH": ":".join(libraries)}


# ---- What they work on ----

def words(count, seed):
    rand = random.Random(seed)
    stems = ["".join(rand.choice("abcdefghilmnoprstu") for _ in range(rand.randint(2, 9))) for _ in range(3000)]
    return [rand.choice(stems) + rand.choice(("", "ing", "ed", "s")) for _ in range(count)]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def write_text(folder):
    lines = [" ".join(words(12, n)) for n in range(400)]
    write(folder, "small.txt", "\n".join(lines * 30) + "\n")
    write(folder, "text", "\n".join(lines * 1600) + "\n")


def write_video(folder):
    """60 frames of noise that moves, 320 x 240."""
    rand = random.Random(1)
    noise = bytes(rand.randrange(256) for _ in range(320 * 300))
    with open(os.path.join(folder, "clip.y4m"), "wb") as file:
        file.write(b"YUV4MPEG2 W320 H240 F25:1 Ip A1:1 C420jpeg\n")
        for n in range(600):
            file.write(b"FRAME\n" + noise[n % 60 * 320:][:320 * 240] + b"\x80" * (320 * 120))


def write_sources(folder):
    many = range(3000)
    write(folder, "big.c", "".join(f"static int f{n}(int a, int b) {{ int s = 0; for (int i = 0; i < a; i++) s += b * i % {n + 2}; "
                                   f"return s ? s : {n}; }}\n" for n in many) +
          "int main(int c, char **v)\n{\n\tint s = 0;\n" + "".join(f"\ts += f{n}(c, s);\n" for n in many) + "\treturn s;\n}\n")
    write(folder, "big.rs", "".join(f"pub fn f{n}(a: u64) -> Vec<u64> {{ (0..a).map(|x| x * {n} % 7).filter(|x| *x > 1).collect() }}\n"
                                    for n in range(200)))
    write(folder, "big.sh", "#!/bin/sh\n" + "".join(f'if [ "$a{n}" = x ]; then for i in $b{n}; do echo "$i" | grep {n}; done; fi\n'
                                                    for n in range(400)))
    write(folder, "big.asm", "section .text\n" + "".join(f"l{n}: mov rax, [rbx+{n}]\n add rax, l{n // 2}\n" for n in range(60000)))
    write(folder, "big.ml", "".join(f"let f{n} x = List.map (fun y -> y + x * {n}) [1;2;3]\n" for n in many))
    write(folder, "big.dot", "graph {\n" + "".join(f"n{n} -- n{n * 7 % 400};\n" for n in range(900)) + "}\n")
    write(folder, "small.pas", "program p; var i, s: longint; begin for i := 1 to 100 do s := s + i; writeln(s); end.\n")
    write(folder, "fib.lua", "local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end\nwhile true do f(25) "
                             "local t = {} for i = 1, 20000 do t[i] = tostring(i):rep(2) end table.sort(t) end\n")
    write(folder, "loop.tcl", "proc f {n} { if {$n < 2} { return $n }; expr {[f [expr {$n - 1}]] + [f [expr {$n - 2}]]} }\n"
                              "while 1 { f 18 }\n")
    write(folder, "Sort.java", "import java.util.*;\npublic class Sort { public static void main(String[] a) { long s = 0; Random r = new Random(1);"
          " for (;;) { List<Integer> l = new ArrayList<>(); for (int i = 0; i < 100000; i++) l.add(r.nextInt());"
          " Collections.sort(l); s += l.get(0); } } }\n")


def write_scenes(folder):
    rand = random.Random(2)
    clauses = [" ".join(str(rand.choice((-1, 1)) * rand.randint(1, 240)) for _ in range(3)) + " 0\n" for _ in range(1024)]
    write(folder, "hard.cnf", f"p cnf 240 {len(clauses)}\n" + "".join(clauses))
    write(folder, "hard.smt2", "(declare-const a (_ BitVec 64)) (declare-const b (_ BitVec 64))\n"
                               "(assert (= (bvmul a b) #x7ffffffffffff317)) (assert (bvugt a b)) (assert (bvult a #x0000000100000000))\n"
                               "(assert (bvugt b #x0000000000000001))\n"
                               "(check-sat)\n")
    write(folder, "scene.pov", "camera { location <0,2,-5> look_at 0 } light_source { <9,9,-9> rgb 1 }\n" +
          "".join(f"sphere {{ <{n % 9 - 4},{n // 9 % 5},{n // 45}>, 0.4 pigment {{ bozo }} finish {{ reflection 0.4 }} }}\n" for n in range(200)))
    write(folder, "page.html", "<body><script>let f = n => n < 2 ? n : f(n - 1) + f(n - 2); for (let i = 0; i < 400; i++) { f(27);"
                               " document.body.appendChild(document.createElement('p')).textContent = i }</script>\n")
    write(folder, "nginx.conf", "worker_processes 1; pid nginx.pid; error_log stderr; events {} http { access_log off; gzip on; gzip_types *;\n" +
          "".join(f"{kind}_temp_path {kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) +
          "server { listen 127.0.0.1:28080; root .; } }\n")


def write_inputs(folder):
    write_text(folder)
    write_video(folder)
    write_sources(folder)
    write_scenes(folder)
    repository = os.path.join(folder, "repository")
    run(["git", "init", "-q", repository])
    write(repository, "file", "")
    for n in range(120):
        write(repository, "file", "\n".join(words(4000, n)) + "\n")
        run(["git", "-C", repository, "add", "file"])
        run(["git", "-C", repository, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", f"change {n}"])
