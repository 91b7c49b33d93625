#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The service that each process belongs to: real programs, as Debian, PyPI and this machine have them, must have the names
that a person would give them; and nothing else of their environment may leave.

services.py [--write docs/services.md]"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import common

sys.path.insert(0, os.path.join(common.ROOT, "test", "zoo"))
import fetch  # pylint: disable=wrong-import-position

TAP = common.Tap()
TOOL = os.path.join(common.BUILD, "test", "tools", "describe")
SECRET = "hunter2-s3cret"
LOOP = {"py": "import time\nwhile 1: time.sleep(1)\n", "js": "setInterval(() => {}, 1000)\n", "rb": "loop { sleep 1 }\n",
        "pl": "while (1) { sleep 1 }\n", "sh": "while :; do sleep 1; done\n", "php": "<?php while (1) sleep(1);\n",
        "lua": "while true do os.execute('sleep 1') end\n", "tcl": "while 1 { after 1000 }\n"}
MARK = "Placed by test/services.py"


class Missing(Exception):
    pass


def packages(name, *wanted):
    """A folder of the cache with packages that are not installed, and an environment in which they run."""
    program = fetch.Program(name, " ".join(wanted), "-", "")
    try:
        fetch.fetch(program)
    except OSError as error:
        raise Missing(str(error)) from error
    return program.root, fetch.environment(program)


def tool(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"there is no {name}")
    return path


class Scene:
    """A folder of a person's own, with the programs in it."""

    def __init__(self, folder):
        self.folder = folder

    def file(self, path, text=None):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(LOOP[path.rsplit(".", 1)[-1]] if text is None else text)
        return full

    def home(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        return path


# ---- The programs: what it is, the name that a person gives it, and how it is started: (command, options) --------------------

def python_script(s):
    return [sys.executable, s.file("checkout.py"), "--password", SECRET], {}


def python_generic(s):
    s.file("shop/app.py")
    return [sys.executable, "-u", "app.py"], {"cwd": s.home("shop")}


def python_module(s):
    s.file("cart/cart/__init__.py", "")
    s.file("cart/cart/worker.py", LOOP["py"])
    return [sys.executable, "-m", "cart.worker"], {"cwd": s.home("cart")}


def python_http(s):
    return [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(common.free_port())], {"cwd": s.folder}


def python_code(_):
    return ["/usr/bin/python3", "-c", f"password = '{SECRET}'\n" + LOOP["py"]], {}


def gunicorn(s):
    root, env = packages("services-gunicorn", "pip:gunicorn==23.0.0")
    s.file("billing/billing/__init__.py", "")
    s.file("billing/billing/wsgi.py", "def application(e, r):\n    r('200 OK', [])\n    return [b'']\n")
    env = {**env, "PYTHONPATH": os.path.join(root, "pip")}
    return [sys.executable, os.path.join(root, "pip/bin/gunicorn"), "-b", f"127.0.0.1:{common.free_port()}",
            "billing.wsgi:application"], {"cwd": s.home("billing"), "env": env}


def node_app(s):
    s.file("mailer/dist/index.js")
    return [tool("node"), "--max-old-space-size=128", "dist/index.js"], {"cwd": s.home("mailer")}


def node_script(s):
    return [tool("node"), s.file("resize-images.js")], {}


def java_class(s, text="package shop.orders; public class Orders { public static void main(String[] a) throws Exception { "
                       "Thread.sleep(1000000); } }"):
    s.file("java/shop/orders/Orders.java", text)
    subprocess.run([tool("javac"), "shop/orders/Orders.java"], cwd=s.home("java"), check=True, capture_output=True)
    return [tool("java"), "-Xmx32m", "-cp", s.home("java"), "shop.orders.Orders"], {}


def java_jar(s):
    java_class(s)
    path = os.path.join(s.folder, "petclinic-3.1.0-SNAPSHOT.jar")
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Main-Class: shop.orders.Orders\n")
        jar.write(os.path.join(s.folder, "java/shop/orders/Orders.class"), "shop/orders/Orders.class")
    return [tool("java"), "-Xmx32m", "-jar", path], {}


def java_property(s):
    command, options = java_jar(s)
    return command[:1] + ["-Dotel.service.name=pets"] + command[1:], options


def java_source(s):
    return [tool("java"), "-Xmx64m", s.file("Report.java", "class Report { public static void main(String[] a) throws Exception { "
                                            "Thread.sleep(1000000); } }")], {}


def ruby(s):
    root, env = packages("ruby", "ruby3.1")
    env = {**env, "RUBYLIB": f"{root}/usr/lib/ruby/3.1.0:{root}/usr/lib/x86_64-linux-gnu/ruby/3.1.0"}
    return [f"{root}/usr/bin/ruby3.1", "--disable=gems", s.file("sitemap.rb")], {"env": env}


def ruby_title(s):
    command, options = ruby(s)
    s.file("web/server.rb", "Process.setproctitle('puma 5.6.5 (tcp://0.0.0.0:9292) [storefront]')\n" + LOOP["rb"])
    return command[:-1] + ["server.rb"], {**options, "cwd": s.home("web")}


def perl(s):
    return ["/usr/bin/perl", "-w", s.file("munin-node", LOOP["pl"])], {}


def bash(s):
    return [tool("bash"), s.file("backup.sh"), SECRET], {}


def shebang(s):
    path = s.file("nightly-report", "#!/bin/sh\n" + LOOP["sh"])
    os.chmod(path, 0o755)
    return [path], {}


def dash_code(_):
    return ["/bin/sh", "-c", f": {SECRET}; while :; do sleep 1; done"], {}


def php(s):
    root, env = packages("php", "php8.2-cli")
    return [f"{root}/usr/bin/php8.2", "-n", "-d", "memory_limit=64M", s.file("import-prices.php")], {"env": env}


def lua(s):
    root, env = packages("lua", "lua5.4")
    return [f"{root}/usr/bin/lua5.4", s.file("crawler.lua")], {"env": env}


def tcl(s):
    return [tool("tclsh"), s.file("monitor.tcl")], {}


def nginx(s):
    root, env = packages("nginx", "nginx", "apache2-utils")
    config = s.file("nginx.conf", f"pid {s.folder}/nginx.pid; error_log stderr; events {{}} daemon off; user root;\n")
    return [f"{root}/usr/sbin/nginx", "-p", s.folder, "-c", config], {"env": env}


def redis(s):
    root, env = packages("redis", "redis-server", "redis-tools")
    return [f"{root}/usr/bin/redis-server", "--port", "0", "--unixsocket", f"{s.folder}/r.sock", "--save", ""], {"env": env}


def memcached(s):
    root, env = packages("services-memcached", "memcached")
    return [f"{root}/usr/bin/memcached", "-u", "root", "-s", f"{s.folder}/m.sock"], {"env": env}


def dnsmasq(s):
    root, env = packages("services-dnsmasq", "dnsmasq-base")
    return [f"{root}/usr/sbin/dnsmasq", "-k", "-p", str(common.free_port()), "--listen-address=127.0.0.1", "--bind-interfaces", "-C",
            s.file("dnsmasq.conf", ""), "-x", f"{s.folder}/d.pid", "--user=root", "--group=root"], {"env": env}


def busybox(s):
    return [tool("busybox"), "httpd", "-f", "-p", f"127.0.0.1:{common.free_port()}", "-h", s.folder], {}


def busybox_link(s):
    link = os.path.join(s.folder, "crond")
    os.symlink(tool("busybox"), link)
    os.makedirs(os.path.join(s.folder, "crontabs"))
    return [link, "-f", "-c", os.path.join(s.folder, "crontabs")], {}


def dbus(s):
    return [tool("dbus-daemon"), "--session", "--nofork", f"--address=unix:path={s.folder}/bus"], {}


def erlang(s):
    root, env = packages("erlang", "erlang-base")
    erts = [f for f in os.listdir(f"{root}/usr/lib/erlang") if f.startswith("erts-")]
    home = f"{root}/usr/lib/erlang"
    env = {**env, "ROOTDIR": home, "EMU": "beam", "PROGNAME": "erl", "BINDIR": f"{home}/{erts[0]}/bin", "HOME": s.folder}
    boot = [os.path.join(home, "releases", r, "start_clean") for r in os.listdir(f"{home}/releases") if r.isdigit()]
    # Not started as a node of a network: there is no epmd here.
    return [f"{home}/{erts[0]}/bin/erlexec", "-noshell", "-boot", boot[0], "-start_epmd", "false", "-proto_dist", "none", "-name",
            "queue@127.0.0.1"], {"env": env}


def otel_name(s):
    return [sys.executable, s.file("x.py")], {"env": {**os.environ, "OTEL_SERVICE_NAME": "payments", "DD_SERVICE": "other",
                                                      "OTEL_RESOURCE_ATTRIBUTES": f"service.name=no,service.version=1.4,secret={SECRET}"}}


def otel_list(s):
    return [sys.executable, s.file("x.py")], {"env": {**os.environ, "OTEL_RESOURCE_ATTRIBUTES": "a=b,service.name=check%20out"}}


def datadog_name(s):
    return [tool("node"), s.file("x.js")], {"env": {**os.environ, "DD_SERVICE": "search", "DD_ENV": "prod", "DD_API_KEY": SECRET}}


def pyroscope_name(s):
    return ["/usr/bin/perl", s.file("x.pl")], {"env": {**os.environ, "PYROSCOPE_APPLICATION_NAME": "render{region=eu}"}}


def context(_):
    return [os.path.join(common.VICTIMS, "process_context"), "ledger"], {"env": {**os.environ, "OTEL_SERVICE_NAME": "other"}}


def unit(s):
    return perl(s)[0], {"cgroup": "system.slice/postfix.service"}


def unit_instance(s):
    return perl(s)[0], {"cgroup": "system.slice/system-getty.slice/openvpn@office.service"}


def lxc(s):
    return perl(s)[0], {"cgroup": "lxc.payload.wiki/system.slice/apache2.service"}


PROGRAMS = [
    ("`python3 checkout.py --password …`", "checkout", python_script),
    ("`python3 -u app.py` in a folder shop", "shop", python_generic),
    ("`python3 -m cart.worker`", "cart", python_module),
    ("`python3 -m http.server`", "http.server", python_http),
    ("`python3 -c …`", os.path.basename(os.path.realpath("/usr/bin/python3")), python_code),
    ("gunicorn 23 with `billing.wsgi:application`", "billing", gunicorn),
    ("`node --max-old-space-size=128 dist/index.js` in a folder mailer", "mailer", node_app),
    ("`node resize-images.js`", "resize-images", node_script),
    ("`java -cp … shop.orders.Orders`", "Orders", java_class),
    ("`java -jar petclinic-3.1.0-SNAPSHOT.jar`", "petclinic", java_jar),
    ("`java -Dotel.service.name=pets -jar …`", "pets", java_property),
    ("`java Report.java`", "Report", java_source),
    ("`ruby3.1 sitemap.rb`", "sitemap", ruby),
    ("Ruby, with puma's title `puma 5.6.5 (…) [storefront]`", "storefront", ruby_title),
    ("`perl -w munin-node`", "munin-node", perl),
    ("`bash backup.sh …`", "backup", bash),
    ("a script with `#!/bin/sh`, nightly-report", "nightly-report", shebang),
    ("`sh -c …`", os.path.basename(os.path.realpath("/bin/sh")), dash_code),
    ("`php8.2 -d memory_limit=64M import-prices.php`", "import-prices", php),
    ("`lua5.4 crawler.lua`", "crawler", lua),
    ("`tclsh monitor.tcl`", "monitor", tcl),
    ("nginx", "nginx", nginx),
    ("redis-server, which Debian has as a link to redis-check-rdb", "redis-server", redis),
    ("memcached", "memcached", memcached),
    ("dnsmasq", "dnsmasq", dnsmasq),
    ("`busybox httpd`", "httpd", busybox),
    ("crond, a link to busybox", "crond", busybox_link),
    ("dbus-daemon", "dbus-daemon", dbus),
    ("Erlang, `-name queue@127.0.0.1`", "queue", erlang),
    ("Python with OTEL_SERVICE_NAME=payments, DD_SERVICE=other", "payments", otel_name),
    ("Python with OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=check%20out", "check out", otel_list),
    ("Node.js with DD_SERVICE=search", "search", datadog_name),
    ("Perl with PYROSCOPE_APPLICATION_NAME=render{region=eu}", "render", pyroscope_name),
    ("a C program that publishes OpenTelemetry's process context, as ledger", "ledger", context),
    ("Perl in the cgroup /system.slice/postfix.service", "postfix", unit),
    ("Perl in /system.slice/system-getty.slice/openvpn@office.service", "openvpn", unit_instance),
    ("Perl in /lxc.payload.wiki/system.slice/apache2.service", "wiki", lxc),
]


# ---- Starting and looking -----------------------------------------------------------------------------------------------------

class Cgroup:
    """A directory below a hierarchy of version 1 or 2 that can be written here; other hierarchies stay as they are."""

    def __init__(self, path):
        self.made = []
        for root in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
            if os.access(os.path.join(root, "cgroup.procs"), os.W_OK):
                break
        else:
            raise Missing("no cgroup can be made here")
        at = root
        try:
            for part in path.split("/"):
                at = os.path.join(at, part)
                if not os.path.isdir(at):
                    os.mkdir(at)
                    self.made.append(at)
        except OSError as error:
            self.remove()
            raise Missing(str(error)) from error
        self.path = at

    def add(self, pid):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))

    def remove(self):
        for path in reversed(self.made):
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.1)


def described(pid):
    out = subprocess.run([TOOL, str(pid)], capture_output=True, text=True, check=True).stdout
    return dict(part.split("=", 1) for part in out.rstrip("\n").split("\t")[1:]), out


def children(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(p) for p in out.split()]


def stop(process):
    for pid in [*children(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


def look(command, options, wanted, has_workers):
    """What it is called, once it is what it will be: at most ten seconds after its start."""
    options = dict(options)
    group = Cgroup(options.pop("cgroup")) if "cgroup" in options else None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    found, text = {}, ""
    try:
        if group:
            group.add(process.pid)
        for _ in range(100):
            if process.poll() is not None:
                raise Missing(f"it ended with status {process.returncode}")
            found, text = described(process.pid)
            if found.get("service.name") == wanted and (not has_workers or children(process.pid)):
                break
            time.sleep(0.1)
        workers = [described(pid)[0].get("service.name") for pid in children(process.pid)]
        return found, text, workers
    finally:
        stop(process)
        if group:
            group.remove()


def names(table):
    seen = ""
    for what, wanted, start in PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="wick-services-") as folder:
            try:
                found, text, workers = look(*start(Scene(folder)), wanted, start in (gunicorn, nginx))
            except Missing as error:
                TAP.skip(what, str(error))
                continue
        name = found.get("service.name", "")
        seen += text
        table.append((what, name, found.get("wick.service.source", "")))
        TAP.check(f"{what} is {wanted}", name == wanted, "" if name == wanted else name)
        if start in (gunicorn, nginx):
            TAP.check(f"{what}: so are its workers", set(workers) == {wanted}, str(workers) if set(workers) != {wanted} else "")
    TAP.check("at least 30 programs were looked at", len(table) >= 30, str(len(table)))
    TAP.check("no secret of theirs is in what is said of them", SECRET not in seen)


# ---- Nothing else leaves --------------------------------------------------------------------------------------------------------

CONFIG = """
receivers:
  profiling: {samples_per_second: 97, reporter_interval: 500ms, verbose_mode: true}
exporters:
  file: {path: "%(folder)s/out.json"}
  file/proto: {path: "%(folder)s/out.pb", format: proto}
  debug: {verbosity: detailed, use_internal_logger: false}
service:
  telemetry: {logs: {level: debug}, metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [file, file/proto, debug]}
"""


def secrets():
    """A busy program whose environment and arguments are full of it: every output is searched for it."""
    env = {**os.environ, "OTEL_SERVICE_NAME": "vault", "AWS_SECRET_ACCESS_KEY": SECRET, "DD_API_KEY": SECRET, "PASSWORD": SECRET,
           "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {SECRET}", "DD_TAGS": f"token:{SECRET}",
           "OTEL_RESOURCE_ATTRIBUTES": f"service.version=7,db.password={SECRET}", "DD_SERVICE_MAPPING": SECRET}
    victim = subprocess.Popen([sys.executable, "-c", "while 1: pass", f"--password={SECRET}"], env=env)
    try:
        with tempfile.TemporaryDirectory(prefix="wick-services-") as folder:
            with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
                file.write(CONFIG % {"folder": folder})
            with open(f"{folder}/log", "wb") as log:
                wick = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=log, stderr=log)
                deadline = time.time() + 30
                while time.time() < deadline and b"vault" not in open(f"{folder}/log", "rb").read():
                    time.sleep(0.2)
                wick.terminate()
                wick.wait(30)
            recording = f"{folder}/r.otlp"
            subprocess.run([common.WICK, "record", "-d", "1", "-o", recording], check=True, capture_output=True)
            for suffix in ("pb.gz", "folded", "data", "json"):
                subprocess.run([common.WICK, "convert", recording, f"{folder}/c.{suffix}"], check=False, capture_output=True)
            found = [name for name in sorted(os.listdir(folder)) if SECRET.encode() in open(f"{folder}/{name}", "rb").read()]
            count = len(os.listdir(folder))
            resources = [s.resource for s in common.Profile(recording).samples if s.pid == victim.pid]
    finally:
        stop(victim)
    TAP.check("no output holds a secret of an environment or of arguments", not found and count >= 8, f"{found or count}")
    TAP.check("but who it is", bool(resources) and resources[0].get("service.name") == "vault" and
              resources[0].get("service.version") == "7", str(resources[:1]))


def republished():
    """A context that changes while it is sampled: windows say what it says by then."""
    victim = subprocess.Popen([os.path.join(common.VICTIMS, "process_context"), "early", "late"])
    try:
        with tempfile.TemporaryDirectory(prefix="wick-services-") as folder:
            subprocess.run([common.WICK, "record", "-d", "3", "-o", f"{folder}/r.otlp"], check=True, capture_output=True)
            seen = {s.resource.get("service.name") for s in common.Profile(f"{folder}/r.otlp").samples if s.pid == victim.pid}
    finally:
        stop(victim)
    TAP.check("a process context that is published later is read", "late" in seen, str(seen))


def write(path, table):
    with open(path, encoding="utf-8") as file:
        head = file.read().split(f"<!-- {MARK}", maxsplit=1)[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}<!-- {MARK} --write -->\n\n| program | service.name | by |\n|---|---|---|\n")
        file.writelines(f"| {what} | {name} | {source} |\n" for what, name, source in table)


def main():
    table = []
    names(table)
    if common.privileged_or_skip(TAP, "what leaves"):
        secrets()
        republished()
    if len(sys.argv) > 2 and sys.argv[1] == "--write":
        write(sys.argv[2], table)
    TAP.end()


if __name__ == "__main__":
    main()
