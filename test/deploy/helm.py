#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/helm, by Helm itself: it lints; what each mode renders is, by the schemas of Kubernetes, strictly, a set of objects that name one
another, and in substance what kustomize makes of deploy/kubernetes; values change what they say, and wrong ones are refused; and
runc runs the agent as the chart has it. Prints TAP."""
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import common  # noqa: E402
import kubernetes  # noqa: E402
from kubernetes import run  # noqa: E402

CHART = os.path.join(common.ROOT, "deploy", "helm", "wick")
MODES = ("simple", "pyroscope", "gateway")
PARSE = "import json, sys, yaml\njson.dump(yaml.safe_load(sys.stdin), sys.stdout)"
# What Helm has and kustomize has not: whose release it is, and what starts pods anew.
OF_HELM = ("app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart", "checksum/config")


class Helm:
    def __init__(self, command, python):
        self.command = command
        self.python = python

    def template(self, *values):
        sets = [word for value in values for word in ("--set", value)]
        return run(self.command, "template", "wick", CHART, "--namespace", "wick", "--kube-version", "1.34.0", *sets)


def stripped(value):
    """Without what is Helm's alone, what is Kubernetes' default, and the sums that kustomize adds to names of configurations."""
    if isinstance(value, dict):
        kept = {k: stripped(v) for k, v in value.items() if k not in OF_HELM and (k, v) != ("imagePullPolicy", "IfNotPresent")}
        return {k: v for k, v in kept.items() if not (k in ("annotations", "labels") and not v)}
    if isinstance(value, list):
        return [stripped(v) for v in value]
    return re.sub(r"^(wick|wick-gateway)-[a-z0-9]{10}$", r"\1", value) if isinstance(value, str) else value


def substance(objects, python):
    """By kind and name; configurations as what they say; labels of the objects themselves do nothing."""
    found = {}
    for o in objects.values():
        o = stripped(o)
        o["metadata"].pop("labels", None)
        if o["kind"] == "ConfigMap":
            o["data"] = {k: json.loads(run(python, "-c", PARSE, text=v).stdout) for k, v in o["data"].items()}
        if o["kind"] != "Namespace":
            found[(o["kind"], o["metadata"]["name"])] = o
    return found


def differences(ours, theirs):
    return [f"{key}: {json.dumps(ours.get(key), sort_keys=True)}\nis not {json.dumps(theirs.get(key), sort_keys=True)}"
            for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]


def check_mode(tap, helm, mode, work):
    said = helm.template(f"mode={mode}")
    tap.check_or_note(f"{mode}: Helm renders it", said.returncode == 0, said.stderr)
    found = kubernetes.parsed(tap, f"{mode} by Helm", said.stdout, helm.python)
    kubernetes.check_references(tap, f"{mode} by Helm", found)
    kubernetes.check_configurations(tap, f"{mode} by Helm", found)
    beside = kubernetes.objects(tap, mode, helm.python, work)
    wrong = differences(substance(found, helm.python), substance(beside, helm.python))
    tap.check_or_note(f"{mode}: it is in substance what kustomize makes", len(found) >= 6 and not wrong, "\n".join(wrong))
    return found


def check_values(tap, helm):
    said = helm.template("config.receivers.profiling.samples_per_second=97", "agent.storeHostPath=/srv/wick", "image.repository=r/w",
                         "image.tag=7", "networkPolicy.enabled=false", "fullnameOverride=probe")
    wanted = ("samples_per_second: 97", "detectors:", "path: /srv/wick", "image: r/w:7", "name: probe")
    tap.check_or_note("values change what they say", said.returncode == 0 and all(one in said.stdout for one in wanted) and
                      "NetworkPolicy" not in said.stdout, said.stderr or said.stdout[-2000:])
    said = helm.template("mode=gateway", "gateway.clickhouseUrl=http://ch:8123", "rbac.create=false")
    tap.check_or_note("a ClickHouse that is there is used", "value: http://ch:8123" in said.stdout and "StatefulSet" not in said.stdout and
                      "ClusterRole" not in said.stdout, said.stderr or said.stdout[-2000:])
    for wrong in ("mode=all", "agent.resurces.limits.memory=1Gi", "gateway.replicas=many"):
        said = helm.template(wrong)
        tap.check_or_note(f"{wrong} is refused", said.returncode != 0 and "specifications of the schema" in said.stderr, said.stderr)


def main():
    tap = common.Tap()
    python = run(os.path.join(HERE, "..", "peers", "venv.sh"), "kubernetes").stdout.strip()
    got = run(os.path.join(HERE, "..", "peers", "helm", "get.sh"), "1500")
    if not python or got.returncode:
        tap.skip("the Helm chart", "needs Helm and Python packages: " + got.stderr.strip()[-200:])
        tap.end()
    helm = Helm(got.stdout.strip(), python)
    said = run(helm.command, "lint", "--strict", CHART)
    tap.check_or_note("Helm's own look at the chart finds nothing", said.returncode == 0, said.stdout + said.stderr)
    with open(os.path.join(common.ROOT, "VERSION")) as version, open(os.path.join(CHART, "Chart.yaml")) as chart:
        tap.check_or_note("the chart is of this version", f"\nappVersion: {version.read().strip()}\n" in chart.read())
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        found = {mode: check_mode(tap, helm, mode, work) for mode in MODES}
        check_values(tap, helm)
        image = kubernetes.image_path()
        if image and common.privileged_or_skip(tap, "the chart's agent"):
            kubernetes.check_agent(tap, found["simple"], image, work)
    tap.end()


if __name__ == "__main__":
    main()
