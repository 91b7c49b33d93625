#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/compose, read as Docker reads it, by its own library: it is valid, strictly; what it mounts is there; wick has the rights of
the DaemonSet, and takes its configuration; Grafana is given the data source that its dashboard names, and the dashboard asks for what wick
sends to Pyroscope. Nothing is pulled or started. Prints TAP."""
import json
import os
import sys
import tempfile
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import common  # noqa: E402
import kubernetes  # noqa: E402
from kubernetes import run  # noqa: E402

FILE = os.path.join(common.ROOT, "deploy", "compose", "compose.yaml")
YAML = "import json, sys, yaml\njson.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def check_refused(tap, reader):
    """The reader is not one that takes anything."""
    with open(FILE) as file, tempfile.NamedTemporaryFile("w", suffix=".yaml") as wrong:
        wrong.write(file.read().replace("cap_drop:", "cap_dropp:"))
        wrong.flush()
        said = run(reader, wrong.name)
    tap.check_or_note("a misspelt word would be seen", said.returncode != 0 and "cap_dropp" in said.stderr, said.stderr)


def check_wick(tap, service, daemonset):
    rights = daemonset["spec"]["template"]["spec"]["containers"][0]["securityContext"]
    tap.check_or_note("wick has the rights of the DaemonSet", service["cap_add"] == rights["capabilities"]["add"] and
                      service["cap_drop"] == ["ALL"] and service["read_only"] and not service.get("privileged"), service)
    tap.check_or_note("it sees the machine's processes and name", service["pid"] == "host" and service["uts"] == "host", service)
    config = next(v["source"] for v in service["volumes"] if v["target"] == "/etc/wick/config.yaml")
    said = run(common.WICK, "validate", f"--config={config}", env={**os.environ, **service["environment"]})
    tap.check_or_note("it takes its configuration", said.returncode == 0, said.stderr)
    with open(os.path.join(common.ROOT, "VERSION")) as file:
        tap.check_or_note("it is this version", service["image"] == "wick:" + file.read().strip(), service["image"])


def targets(dashboard):
    return [target for panel in dashboard["panels"] for target in panel["targets"]]


def check_grafana(tap, services, python):
    mounted = {v["target"]: v["source"] for v in services["grafana"]["volumes"]}
    load = lambda path: json.loads(run(python, "-c", YAML, path).stdout)
    (source,) = load(mounted["/etc/grafana/provisioning/datasources/wick.yaml"])["datasources"]
    host, port = urllib.parse.urlsplit(source["url"]).netloc.split(":")
    tap.check_or_note("Grafana is told where Pyroscope is", host in services and source["type"] == "grafana-pyroscope-datasource" and
                      services["wick"]["environment"]["PYROSCOPE_URL"].endswith(":" + port), source)
    (provider,) = load(mounted["/etc/grafana/provisioning/dashboards/wick.yaml"])["providers"]
    with open(os.path.join(mounted[provider["options"]["path"]], "wick.json")) as file:
        dashboard = json.load(file)
    asked = targets(dashboard)
    tap.check_or_note("its dashboard asks that source for CPU time", len(asked) == 2 and
                      all(t["datasource"]["uid"] == source["uid"] and t["profileTypeId"] == CPU for t in asked), asked)
    (link,) = dashboard["links"]
    panes = json.loads(urllib.parse.parse_qs(urllib.parse.urlsplit(link["url"]).query)["panes"][0])
    (pane,) = panes.values()
    tap.check_or_note("... and leads into Explore", pane["datasource"] == source["uid"] and pane["queries"][0]["profileTypeId"] == CPU, panes)


def main():
    tap = common.Tap()
    python = run(os.path.join(HERE, "..", "peers", "venv.sh"), "kubernetes").stdout.strip()
    got = run(os.path.join(HERE, "..", "peers", "compose", "get.sh"), "300")
    if not python or got.returncode:
        tap.skip("deploy/compose", "needs Go and Python packages: " + got.stderr.strip()[-200:])
        tap.end()
    reader = got.stdout.strip()
    said = run(reader, FILE)
    tap.check_or_note("Docker's own library reads the file", said.returncode == 0, said.stderr)
    check_refused(tap, reader)
    services = json.loads(said.stdout)["services"]
    missing = [v["source"] for s in services.values() for v in s.get("volumes", []) if v["type"] == "bind" and not os.path.exists(v["source"])]
    tap.check_or_note("what it mounts is there", not missing, missing)
    open_to_all = [p for s in services.values() for p in s.get("ports", []) if p.get("host_ip") != "127.0.0.1"]
    tap.check_or_note("nothing listens beyond this machine", not open_to_all, open_to_all)
    with tempfile.TemporaryDirectory() as work:
        found = kubernetes.objects(tap, "pyroscope", python, work)
    check_wick(tap, services["wick"], found[("DaemonSet", "wick")])
    check_grafana(tap, services, python)
    tap.end()


if __name__ == "__main__":
    main()
