#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""k8s_attributes against an API server with the real one's rules (kubernetes_fake.py): 500 pods of a node, each resource with the
attributes that this test works out by itself; 10 changes a second; watches that are cut, versions that expire, tokens that are
replaced, a server that is busy; and the configuration of the sources, as it is."""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import harness
import forged
import kubernetes_fake

TAP = harness.TAP
NODE = "node-a"
PODS = 500
GATE = "--feature-gates=service.profilesSupport"
METADATA = ["k8s.cluster.uid", "k8s.node.name", "k8s.pod.uid", "k8s.pod.name", "k8s.container.name", "k8s.deployment.name",
            "k8s.namespace.name", "service.namespace", "service.name", "service.version", "service.instance.id",
            "container.image.name", "container.image.tag", "container.image.repo_digests", "k8s.statefulset.name", "k8s.job.name",
            "k8s.cronjob.name", "k8s.pod.start_time", "k8s.deployment.uid"]


def container_id(number, which, restarts=0):
    return f"{number:032x}{which:016x}{restarts:016x}"


def pod(number, node=NODE, team="a", restarts=0):
    """One of four kinds of owners in turn."""
    uid = f"{number:08x}-f733-4dfe-917e-c12b1627d186"
    kind = number % 4
    labels = {"app.kubernetes.io/name": f"app{number % 20}", "team": team}
    owner, name = None, f"bare-{number}"
    if kind == 0:
        labels["pod-template-hash"] = "7d9f8c6b5"
        owner, name = ("ReplicaSet", f"web{number % 20}-7d9f8c6b5"), f"web{number % 20}-7d9f8c6b5-{number:05d}"
    elif kind == 1:
        owner, name = ("StatefulSet", f"db{number % 7}"), f"db{number % 7}-{number}"
    elif kind == 2:
        owner, name = ("Job", f"nightly-{28000000 + number}"), f"nightly-{28000000 + number}-x{number}"
    made = {"kind": "Pod", "metadata": {
        "name": name, "namespace": f"ns{number % 3}", "uid": uid, "labels": labels, "managedFields": [{"a": "b" * 500}],
        "annotations": {"resource.opentelemetry.io/service.name": f"told{number}"} if number % 50 == 5 else {}},
        "spec": {"nodeName": node, "containers": [{"name": c, "image": f"registry.example:5000/team/{c}:v{number % 9}"}
                                                  for c in ("main", "side")], "volumes": [{"name": "x"}]},
        "status": {"phase": "Running", "podIP": f"10.1.{number >> 8}.{number & 255}", "startTime": "2026-11-16T10:00:00Z",
                   "containerStatuses": [{"name": c, "containerID": f"containerd://{container_id(number, i, restarts)}",
                                          "imageID": f"registry.example:5000/team/{c}@sha256:{'ab' * 32}",
                                          "lastState": {"terminated": {"containerID": f"containerd://{container_id(number, i, restarts - 1)}"}}
                                          if restarts else {}} for i, c in enumerate(("main", "side"))]}}
    if owner:
        made["metadata"]["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "uid": "o-" + owner[1], "controller": True}]
    return made


def expected(made, which):
    """By the rules of the contrib processor, worked out here."""
    meta = made["metadata"]
    owner = (meta.get("ownerReferences") or [{"kind": "", "name": ""}])[0]
    number = int(meta["uid"][:8], 16)
    container = made["spec"]["containers"][which]["name"]
    found = {"k8s.cluster.uid": "cluster-1", "k8s.node.name": NODE, "k8s.pod.uid": meta["uid"], "k8s.pod.name": meta["name"],
             "k8s.container.name": container, "k8s.namespace.name": meta["namespace"], "service.namespace": meta["namespace"],
             "service.version": f"v{number % 9}", "service.instance.id": f"{meta['namespace']}.{meta['name']}.{container}",
             "container.image.name": f"registry.example:5000/team/{container}", "container.image.tag": f"v{number % 9}",
             "container.image.repo_digests": [f"registry.example:5000/team/{container}@sha256:{'ab' * 32}"],
             "k8s.pod.start_time": "2026-11-16T10:00:00Z", "team.of.pod": meta["labels"]["team"],
             "k8s.namespace.label.cost": f"cost-{meta['namespace']}", "app.name": meta["labels"]["app.kubernetes.io/name"]}
    name = meta["name"]
    if owner["kind"] == "ReplicaSet":
        name = found["k8s.deployment.name"] = owner["name"].removesuffix("-7d9f8c6b5")
        found["k8s.deployment.uid"] = "u-" + name
    elif owner["kind"] == "StatefulSet":
        name = found["k8s.statefulset.name"] = owner["name"]
    elif owner["kind"] == "Job":
        found["k8s.job.name"] = owner["name"]
        name = found["k8s.cronjob.name"] = "nightly"
    found["service.name"] = meta["annotations"].get("resource.opentelemetry.io/service.name", name)
    return found


def config(port, out, **more):
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "processors": {"k8sattributes": {
                "wait_for_metadata": True, "filter": {"node_from_env_var": "KUBERNETES_NODE_NAME"},
                "extract": {"metadata": METADATA, "otel_annotations": True, "labels": [
                    {"tag_name": "team.of.pod", "key": "team"}, {"key": "cost", "from": "namespace"},
                    {"tag_name": "app.$1", "key_regex": "app\\.kubernetes\\.io/(.*)"}]},
                "pod_association": [{"sources": [{"from": "resource_attribute", "name": "container.id"}]}], **more}},
            "exporters": {"file": {"path": out, "flush_interval": "50ms"}},
            "service": {"telemetry": {"logs": {"level": "info"}, "metrics": {"level": "none"}},
                        "pipelines": {"profiles": {"receivers": ["otlp"], "processors": ["k8sattributes"], "exporters": ["file"]}}}}


def around(server):
    """In which a service account is where pods have theirs, and only there."""
    os.environ.update({"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.port), "KUBERNETES_NODE_NAME": NODE})
    os.makedirs("/run/secrets", exist_ok=True)
    return ["unshare", "-m", "--propagation", "private", "sh", "-c",
            f"mount --bind '{server.folder}/secrets' /run/secrets && exec \"$@\"", "sh"]


class Wick(harness.Process):
    def __init__(self, server, made, port):
        super().__init__([*around(server), harness.WICK, "--config=CONFIG", GATE], json.dumps(made), [port], "wick")
        self.client = harness.HttpClient(port)


def request(ids):
    made = forged.Forge()
    stack = made.stack([made.location(1, [(made.function("f"), 1, 0)])])
    for number in ids:
        owner = made.data.resource_profiles.add()
        owner.resource.attributes.append(forged.key_value("container.id", string_value=number))
        owner.resource.attributes.append(forged.key_value("service.namespace", string_value=""))
        owner.resource.attributes.append(forged.key_value("service.name", string_value="python3"))
        owner.resource.attributes.append(forged.key_value("wick.service.source", string_value="program"))
        profile = owner.scope_profiles.add().profiles.add(time_unix_nano=forged.START_NS, duration_nano=1)
        profile.sample_type.CopyFrom(made.value_type("samples", "count"))
        profile.samples.add(stack_index=stack, values=[1])
    return made.data.SerializeToString()


def any_value(value):
    if "arrayValue" in value:
        return [any_value(v) for v in value["arrayValue"]["values"]]
    return next(iter(value.values()))


def read(out, skip):
    """Attributes by container, of what came since."""
    if not os.path.exists(out):
        return {}, skip
    with open(out, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    found = {}
    for line in lines[skip:]:
        for resource in json.loads(line)["resourceProfiles"]:
            attributes = {a["key"]: any_value(a["value"]) for a in resource["resource"]["attributes"]}
            found[attributes["container.id"]] = attributes
    return found, len(lines)


class Asker:
    """Sends containers, and reads back what is said of them."""

    def __init__(self, wick, out):
        self.wick, self.out, self.skip, self.slowest = wick, out, 0, 0

    def ask(self, ids):
        begin = time.monotonic()
        status = self.wick.client.send(request(ids))
        self.slowest = max(self.slowest, time.monotonic() - begin)
        if status != 200:
            raise RuntimeError(f"status {status}: {self.wick.said()[-500:]}")
        harness.wait_for(lambda: read(self.out, self.skip)[1] > self.skip, 10)
        found, self.skip = read(self.out, self.skip)
        return found

    def wrong(self, pods):
        """The first that is not as it should be, or None."""
        wanted = {container_id(int(p["metadata"]["uid"][:8], 16), which): expected(p, which) for p in pods for which in (0, 1)}
        found = self.ask(list(wanted))
        for number, attributes in wanted.items():
            got = {k: v for k, v in found.get(number, {}).items() if k not in ("container.id", "wick.service.source")}
            if got != attributes:
                return f"{number}: {got} instead of {attributes}"
        return None

    def learns(self, made, seconds=20):
        return harness.wait_for(lambda: not self.wrong([made]), seconds, 0.1)

    def forgets(self, made, seconds=20):
        number = container_id(int(made["metadata"]["uid"][:8], 16), 0)
        return harness.wait_for(lambda: "k8s.pod.name" not in self.ask([number]).get(number, {}), seconds, 0.1)


def fill(server, count):
    for number in range(count):
        server.put(pod(number))
    for number in range(100):
        server.put(pod(10000 + number, "node-b"))
    server.objects["/api/v1/namespaces/kube-system"] = {"metadata": {"name": "kube-system", "uid": "cluster-1"}}
    for n in range(3):
        server.objects[f"/api/v1/namespaces/ns{n}"] = {"metadata": {"name": f"ns{n}", "uid": f"n{n}", "labels": {"cost": f"cost-ns{n}"}}}
        for k in range(20):
            server.objects[f"/apis/apps/v1/namespaces/ns{n}/replicasets/web{k}-7d9f8c6b5"] = {"metadata": {
                "name": f"web{k}-7d9f8c6b5", "uid": "r", "ownerReferences": [{"kind": "Deployment", "name": f"web{k}", "uid": f"u-web{k}"}]}}


def faults(server, asker):
    """Each is followed by a pod that must be known, as proof that it goes on."""
    def cut():
        server.cut = 1

    def line():
        server.expire_line = 1

    def expired():
        server.forget()
        server.cut = 1

    def token():
        server.rotate("second")
        server.cut = 1

    def busy():
        server.busy = 3
        server.cut = 1

    for number, (name, proof, break_it) in enumerate((
            ("a watch that is cut in the middle of a line", "watch", cut), ("410 in a line", "410", line), ("410 as a status", "410", expired),
            ("a token that is no longer good", "401", token), ("a busy server (429, Retry-After)", "429", busy))):
        before = dict(server.seen)
        watches = server.seen["watch"]
        break_it()
        with server.lock:
            server.lock.notify_all()
        harness.wait_for(lambda watches=watches: server.seen["watch"] > watches, 40, 0.1)
        made = pod(20000 + number)
        server.put(made)
        TAP.check(f"{name}: it goes on", asker.learns(made), str({k: v - before[k] for k, v in server.seen.items() if v != before[k]}))
        TAP.check(f"... and it was there: {proof}", not proof or server.seen[proof] > before[proof])


def changes(server, asker):
    """Ten a second for five seconds: new ones, ones that are gone, labels, restarts; somebody asks all the while."""
    ends, errors = time.monotonic() + 5, []
    pods = []

    def change():
        for number in range(50):
            made = pod(30000 + number)
            server.put(made)
            pods.append(made)
            if number % 5 == 0:
                server.delete(made["metadata"]["uid"])
                pods.pop()
            elif number % 5 == 1:
                pods[-1] = pod(30000 + number, team="b")
                server.put(pods[-1])
            time.sleep(0.1)

    worker = threading.Thread(target=change)
    worker.start()
    asked = 0
    while worker.is_alive() or time.monotonic() < ends:
        wrong = asker.wrong([pod(number) for number in range(6, 36)])
        asked += 1
        if wrong:
            errors.append(wrong)
    worker.join()
    TAP.check(f"10 changes a second: what does not change stays right, asked {asked} times", not errors, str(errors[:1]) if errors else "")
    TAP.check("... and all changes are known afterwards", all(asker.learns(made) for made in pods), f"{len(pods)} pods")


def memory(server, made, port, folder):
    """What 495 more pods cost."""
    resident = {}
    for count in (5, PODS):
        for uid in list(server.pods)[:]:
            with server.lock:
                server.pods.pop(uid)
        fill(server, count)
        with Wick(server, made, port) as wick:
            Asker(wick, f"{folder}/out.json").ask([container_id(0, 0)])
            resident[count] = wick.memory("VmRSS")
        os.unlink(f"{folder}/out.json")
    more = resident[PODS] - resident[5]
    TAP.check("500 pods take 5 MiB at most", more <= 5 << 20, f"{more >> 10} KiB")


def live(server, folder):
    port = harness.free_port()
    out = f"{folder}/out.json"
    made = config(port, out, pod_delete_grace_period="1s")
    memory(server, made, port, folder)
    with Wick(server, made, port) as wick:
        asker = Asker(wick, out)
        wrong = asker.wrong([pod(number) for number in range(PODS)])
        TAP.check("500 pods: every container has its attributes, and no others", not wrong, wrong or "")
        unknown = asker.ask(["f" * 64, container_id(10000, 0)])
        TAP.check("containers of other nodes, or of nobody, have none",
                  all(set(v) == {"container.id", "service.namespace", "service.name", "wick.service.source"} for v in unknown.values()),
                  str(unknown))
        server.put(pod(0, restarts=1))
        old, new = container_id(0, 0, 0), container_id(0, 0, 1)
        TAP.check("a container before and after its restart", harness.wait_for(
            lambda: all("k8s.pod.name" in v for v in asker.ask([old, new]).values()), 10, 0.1))
        server.put(pod(0))
        changes(server, asker)
        gone = pod(101)
        server.delete(gone["metadata"]["uid"])
        TAP.check("a pod that is gone is forgotten after its time", asker.forgets(gone))
        faults(server, asker)
        gone = pod(102)
        with server.lock:
            server.pods.pop(gone["metadata"]["uid"])
        server.forget()
        server.expire_line = 1
        TAP.check("a pod that went unseen is gone with the next list", asker.forgets(gone))
        TAP.check("bookmarks were sent, lists came in pages", server.seen["bookmark"] > 3 and server.seen["page"] >= 2, str(server.seen))
        TAP.check("no batch waited for the API server", asker.slowest < 5, f"{asker.slowest:.2f} s")
        status = wick.stop()
        TAP.check("it ends at once", status == 0, str(status))
    TAP.check("the server has nothing to complain about", not server.wrong, str(server.wrong[:3]) if server.wrong else "")


SEED = """
receivers:
  profiling: {Tracers: "perl,php,python,hotspot,ruby,v8,dotnet,go", SamplesPerSecond: 20, BpfVerifierLogLevel: 1, VerboseMode: true, SendErrorFrames: false, OffCPUThreshold: 0}
processors:
  k8sattributes:
    wait_for_metadata: true
    wait_for_metadata_timeout: 10s
    auth_type: "serviceAccount"
    passthrough: false
    filter:
      node_from_env_var: KUBERNETES_NODE_NAME
    extract:
      metadata: [k8s.cluster.uid, k8s.node.name, k8s.pod.uid, k8s.pod.name, k8s.container.name, k8s.deployment.name, k8s.namespace.name,
                 service.namespace, service.name, service.version, service.instance.id, container.image.name, container.image.tag,
                 container.image.repo_digests]
      otel_annotations: true
    pod_association:
      - sources:
          - from: resource_attribute
            name: container.id
exporters:
  customprofilesexporter:
    ignore_profiles_without_container_id: true
    export_resource_attributes: true
    export_profile_attributes: true
    export_sample_attributes: true
    export_stack_frames: true
    export_stack_frame_types: [native, kernel, go, jvm, php, cpython]
service:
  pipelines:
    profiles: {receivers: [profiling], processors: [k8sattributes], exporters: [customprofilesexporter]}
"""


def seed(server):
    """The sources' own configuration, and a process of this machine in a cgroup as the kubelet makes them."""
    root = next((r for r in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids", "/sys/fs/cgroup")
                 if os.access(f"{r}/cgroup.procs", os.W_OK)), None)
    if not root:
        TAP.skip("the sources' configuration", "no cgroup can be made here")
        return
    path = f"{root}/wick-k8s-test-cri-containerd-x"
    inner = f"{path}/cri-containerd-{container_id(8, 0)}.scope"
    os.makedirs(inner)
    work = subprocess.Popen(["sh", "-c", f"echo $$ > {inner}/cgroup.procs; while :; do :; done"])
    wick = harness.Process([*around(server), harness.WICK, "--config=CONFIG", GATE], SEED, (), "wick")
    try:
        with wick:
            harness.wait_for(lambda: "k8s.pod.name" in wick.printed(), 30, 0.2)
            text, said = wick.printed(), wick.said()
            wick.stop()
    finally:
        work.kill()
        work.wait()
        time.sleep(0.2)
        os.rmdir(inner)
        os.rmdir(path)
    wanted = {k: v for k, v in expected(pod(8), 0).items() if k in SEED}
    lines = [f"  {k}: {v} (Str)" for k, v in wanted.items() if isinstance(v, str)]
    missing = [line for line in lines if line not in text]
    TAP.check("the sources' configuration: a process here has its pod", not missing and len(lines) >= 12, f"{missing} {said[-300:]}" if missing
              else f"{len(lines)} attributes")


def outside():
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        os.environ.pop(name, None)
    made = config(harness.free_port(), "/dev/null")
    wick = harness.Process([harness.WICK, "--config=CONFIG", GATE], json.dumps(made), (), "wick")
    result = subprocess.run([part for part in wick.command], capture_output=True, text=True, timeout=30, check=False)
    shutil.rmtree(wick.folder)
    TAP.check("outside of a cluster it does not start, and says why", result.returncode != 0 and "does not run in Kubernetes" in result.stderr,
              result.stderr[-200:])


def main():
    if os.geteuid():
        TAP.skip("k8s_attributes", "needs root to put a service account in place")
        TAP.end()
    with tempfile.TemporaryDirectory(prefix="wick-k8s-") as folder:
        os.chmod(folder, 0o755)
        server = kubernetes_fake.Server(folder, NODE)
        fill(server, PODS)
        live(server, folder)
        seed(server)
        server.close()
    outside()
    try:
        os.rmdir("/run/secrets")
    except OSError:
        pass
    TAP.end()


if __name__ == "__main__":
    main()
