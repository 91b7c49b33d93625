#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make image` makes and deploy/kubernetes says, tried without a cluster: containerd takes the image; kustomize puts the
folders together; each object is one by the schemas of Kubernetes, strictly; wick takes each configuration; and runc runs the
image with the rights, mounts, limits and variables of the DaemonSet and of the gateway's Deployment, until a page shows what
a program outside is doing. Prints TAP."""
import contextlib
import glob
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import common  # noqa: E402

FOLDERS = os.path.join(common.ROOT, "deploy", "kubernetes")
VICTIM = os.path.join(common.VICTIMS, "v-fp")
NODE = "node-7"
CAPABILITY_SYS_RESOURCE = 24
SPLIT = ("import json, sys, yaml\n"
         "json.dump([d for d in yaml.safe_load_all(sys.stdin) if d], sys.stdout)")


def run(*command, text=None, **options):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False, **options)


def image_path():
    found = glob.glob(os.path.join(common.BUILD, "wick-*-oci.tar"))
    return found[0] if found else None


def not_to_be_had():
    """On kernels from 5.11 on wick can do without this one; a machine that is itself a container may not have it to give."""
    with open("/proc/self/status") as file:
        bounding = next(int(line.split()[1], 16) for line in file if line.startswith("CapBnd:"))
    return () if bounding >> CAPABILITY_SYS_RESOURCE & 1 else ("SYS_RESOURCE",)


NOT_HERE = not_to_be_had()


# ---- The image --------------------------------------------------------------------------------


def unpack(path, root):
    """Its one layer; what it says of itself."""
    with tarfile.open(path) as archive:
        blob = lambda entry: archive.extractfile("blobs/" + entry["digest"].replace(":", "/")).read()
        manifest = json.loads(blob(json.load(archive.extractfile("index.json"))["manifests"][0]))
        config = json.loads(blob(manifest["config"]))
        (layer,) = manifest["layers"]
        with tarfile.open(fileobj=io.BytesIO(blob(layer))) as files:
            files.extractall(root, filter="fully_trusted") if hasattr(tarfile, "fully_trusted_filter") else files.extractall(root)
    return config, layer["size"]


def check_image(tap, path, work):
    again = os.path.join(work, "again.tar")
    run(os.path.join(common.ROOT, "tools", "image.py"), os.path.join(common.BUILD, "dist", "wick"),
        "arm64" if os.uname().machine == "aarch64" else "amd64", again)
    digests = []
    for file in (path, again):
        with open(file, "rb") as data:
            digests.append(hashlib.sha256(data.read()).hexdigest())
    tap.check_or_note("the image is the same bytes when it is made again", digests[0] == digests[1])
    tap.check_or_note("the image is 12 MB at most", os.path.getsize(path) <= 12_000_000, os.path.getsize(path))
    if not shutil.which("containerd"):
        tap.skip("containerd takes the image", "there is no containerd")
        return
    address = os.path.join(work, "containerd.sock")
    with open(os.path.join(work, "containerd.log"), "w") as log:
        daemon = subprocess.Popen(["containerd", "--root", os.path.join(work, "root"), "--state", os.path.join(work, "state"),
                                   "--address", address], stdout=log, stderr=log)
    try:
        for _ in range(300):
            if run("ctr", "-a", address, "version").returncode == 0:
                break
            time.sleep(0.1)
        said = run("ctr", "-a", address, "image", "import", path)
        tap.check_or_note("containerd takes the image", said.returncode == 0, said.stderr)
        name = run("ctr", "-a", address, "image", "ls", "-q").stdout.strip()
        said = run("ctr", "-a", address, "run", "--rm", name, "wick-version", "/wick", "--version")
        tap.check_or_note("... and runs what is in it", said.stdout.startswith("wick "), said.stderr)
    finally:
        daemon.terminate()
        daemon.wait(30)


# ---- The objects ------------------------------------------------------------------------------


def for_old_kubectl(folders, work):
    """Debian's kubectl has a kustomize that tells folders (`bases`) from files (`resources`): it gets a copy that does."""
    copy = os.path.join(work, "kubernetes")
    shutil.copytree(folders, copy)
    for path in glob.glob(os.path.join(copy, "*", "kustomization.yaml")):
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("resources:\n  - ../base\n", "bases:\n  - ../base\nresources:\n"))
    return copy


def objects(tap, folder, python, work):
    """What a folder comes to, by kind and name."""
    said = run("kubectl", "kustomize", os.path.join(FOLDERS, folder))
    if "must be a file" in said.stderr:
        said = run("kubectl", "kustomize", os.path.join(for_old_kubectl(FOLDERS, tempfile.mkdtemp(dir=work)), folder))
    tap.check_or_note(f"{folder}: kustomize puts it together", said.returncode == 0, said.stderr)
    return parsed(tap, folder, said.stdout, python)


def parsed(tap, folder, text, python):
    split = run(python, "-c", SPLIT, text=text)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        valid = run(os.path.join(os.path.dirname(python), "kubernetes-validate"), "--strict", "--quiet", file.name)
    tap.check_or_note(f"{folder}: each object is as Kubernetes has it", valid.returncode == 0 and split.returncode == 0,
          valid.stdout + valid.stderr)
    return {(o["kind"], o["metadata"]["name"]): o for o in json.loads(split.stdout or "[]")}


def check_references(tap, folder, found):
    """Selectors meet their pods, and what pods mount is there."""
    wrong = []
    for (kind, name), o in found.items():
        if kind in ("DaemonSet", "Deployment", "StatefulSet"):
            spec = o["spec"]["template"]["spec"]
            if o["spec"]["selector"]["matchLabels"].items() - o["spec"]["template"]["metadata"]["labels"].items():
                wrong.append(f"{kind} {name}: selects other pods")
            wrong += [f"{kind} {name}: no ConfigMap {v['configMap']['name']}" for v in spec.get("volumes", [])
                      if "configMap" in v and ("ConfigMap", v["configMap"]["name"]) not in found]
            account = spec.get("serviceAccountName")
            wrong += [f"{kind} {name}: no ServiceAccount {account}"] if account and ("ServiceAccount", account) not in found else []
    labels = [o["spec"]["template"]["metadata"]["labels"] for (kind, _), o in found.items() if "template" in o.get("spec", {})]
    for (kind, name), o in found.items():
        if kind == "Service" and not any(o["spec"]["selector"].items() <= of.items() for of in labels):
            wrong.append(f"Service {name}: selects no pod")
    tap.check_or_note(f"{folder}: what objects name is there", not wrong, wrong)


def check_configurations(tap, folder, found):
    for (kind, name), o in found.items():
        if kind == "ConfigMap":
            said = run(common.WICK, "validate", "--config=yaml:" + o["data"]["config.yaml"],
                       env={**os.environ, "CLICKHOUSE_URL": "http://localhost:8123", "K8S_NODE_NAME": NODE})
            tap.check_or_note(f"{folder}: wick takes the configuration of {name.rsplit('-', 1)[0]}", said.returncode == 0, said.stderr)


# ---- A pod, as the kubelet would have it started -------------------------------------------------


class Pod:
    """One container of a template, in a network of its own, by runc."""

    def __init__(self, work, workload, found, image, name):
        self.name = f"{name}-{os.getpid()}"
        self.bundle = os.path.join(work, name)
        spec = workload["spec"]["template"]["spec"]
        (self.container,) = spec["containers"]
        os.makedirs(os.path.join(self.bundle, "rootfs"))
        config, _ = unpack(image, os.path.join(self.bundle, "rootfs"))
        with open(os.path.join(self.bundle, "config.json"), "w") as file:
            json.dump(self.oci(spec, found, config["config"]), file)

    def environment(self, image):
        """The API server, of which every pod is told, does not answer here: profiles must not wait for it."""
        known = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
        for entry in self.container.get("env", []):
            value = NODE if "valueFrom" in entry else entry["value"]
            for key, earlier in known.items():
                value = value.replace(f"$({key})", earlier)
            known[entry["name"]] = value
        return image["Env"] + [f"{key}={value}" for key, value in known.items()]

    def mounts(self, spec, found):
        kinds = {v["name"]: v for v in spec["volumes"]}
        for mount in self.container["volumeMounts"]:
            volume = kinds[mount["name"]]
            path = os.path.join(self.bundle, "volume-" + mount["name"])
            os.mkdir(path)
            os.chmod(path, 0o777)   # as the kubelet makes an emptyDir
            if "configMap" in volume:
                os.chmod(path, 0o755)
                for key, text in found[("ConfigMap", volume["configMap"]["name"])]["data"].items():
                    with open(os.path.join(path, key), "w") as file:
                        file.write(text)
            yield {"destination": mount["mountPath"], "type": "bind", "source": path,
                   "options": ["rbind", "ro" if mount.get("readOnly") else "rw"]}

    def account(self, spec):
        """The token of the service account, and the certificate of the API server."""
        if not spec.get("automountServiceAccountToken"):
            return
        path = os.path.join(self.bundle, "account")
        os.mkdir(path)
        for name, text in (("token", "t"), ("namespace", "wick")):
            with open(os.path.join(path, name), "w") as file:
                file.write(text)
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", os.path.join(path, "ca.crt"))
        yield {"destination": "/var/run/secrets/kubernetes.io/serviceaccount", "type": "bind", "source": path,
               "options": ["rbind", "ro"]}

    def oci(self, spec, found, image):
        rights = self.container["securityContext"]
        names = ["CAP_" + name for name in rights["capabilities"].get("add", []) if name not in NOT_HERE]
        user = rights.get("runAsUser", 0)
        # A container that starts as another user than root has capabilities only as far as it may get them by exec.
        sets = {"bounding": names, **({} if user else {"effective": names, "permitted": names})}
        namespaces = ["mount", "ipc", "uts", "network"] + ([] if spec.get("hostPID") else ["pid"])
        return {
            "ociVersion": "1.0.2", "hostname": "wick-x7k2p",
            "root": {"path": "rootfs", "readonly": rights["readOnlyRootFilesystem"]},
            "process": {"user": {"uid": user, "gid": user}, "cwd": "/", "args": image["Entrypoint"] + self.container["args"],
                        "env": self.environment(image), "capabilities": sets,
                        "noNewPrivileges": not rights["allowPrivilegeEscalation"]},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                       {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]},
                       *self.mounts(spec, found), *self.account(spec)],
            "linux": {"namespaces": [{"type": kind} for kind in namespaces],
                      "resources": {"memory": {"limit": memory(self.container["resources"]["limits"]["memory"])}},
                      "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
                      "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]}}

    def __enter__(self):
        self.log = open(os.path.join(self.bundle, "log"), "w+")
        self.process = subprocess.Popen(["runc", "run", "--bundle", self.bundle, self.name], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        return self

    def __exit__(self, *_):
        run("runc", "kill", self.name, "TERM")
        try:
            self.status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.status = "does not end"
            run("runc", "delete", "--force", self.name)
            self.process.wait(30)

    def pid(self):
        said = run("runc", "state", self.name)
        return json.loads(said.stdout)["pid"] if said.returncode == 0 else 0

    def get(self, path, port):
        """As a probe, or `kubectl port-forward`, asks: from the machine, in the pod's network. None if nothing answers."""
        said = run("nsenter", "-t", str(self.pid()), "-n", "curl", "-sf", "-m", "10", f"http://localhost:{port}{path}")
        return said.stdout if said.returncode == 0 else None

    def waits(self, ask):
        """What `ask` answers, once that is something."""
        for _ in range(150):
            answer = ask()
            if answer or self.process.poll() is not None:
                return answer
            time.sleep(0.2)
        return None

    def said(self):
        self.log.flush()
        with open(self.log.name) as file:
            return file.read()


def memory(text):
    return int(text[:-2]) << {"Mi": 20, "Gi": 30}[text[-2:]]


def functions(pod, wanted):
    """Are functions of a program outside on the page, by name?"""
    answer = pod.get("/api/v1/top?from=now-5m&to=now&process=v-fp", 11000)
    return answer and wanted <= {row[0] for row in json.loads(answer)["rows"]}


@contextlib.contextmanager
def victim():
    process = subprocess.Popen([VICTIM, "60"], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def check_agent(tap, found, image, work):
    with victim(), Pod(work, found[("DaemonSet", "wick")], found, image, "agent") as pod:
        port = pod.container["ports"][0]["containerPort"]
        good = pod.waits(lambda: pod.get(pod.container["livenessProbe"]["httpGet"]["path"], port))
        tap.check_or_note("simple: the agent's probe is answered", good, pod.said())
        tap.check_or_note("simple: its page names functions of a program outside",
              pod.waits(lambda: functions(pod, {"leaf_a", "middle", "outer"})), pod.said())
        hosts = pod.get("/api/v1/values?label=host&from=now-5m&to=now", 11000)
        tap.check_or_note("simple: the machine is the node", hosts and NODE in hosts and "wick-x7k2p" not in hosts, hosts)
    tap.check_or_note("simple: it ends when it is told to", pod.status == 0, f"{pod.status}: {pod.said()}")


def check_gateway(tap, found, image, work):
    """Without ClickHouse, which test/peers has: it starts as nobody, with nothing, and its probes answer."""
    with Pod(work, found[("Deployment", "wick-gateway")], found, image, "gateway") as pod:
        good = pod.waits(lambda: pod.get("/", 13133))
        tap.check_or_note("gateway: it runs as another user than root, without a right, and its probe is answered", good, pod.said())
        status = run("grep", "-E", "^(Uid|CapEff):", f"/proc/{pod.pid()}/status").stdout.split()
        tap.check_or_note("... and is what it says", status[1:2] == ["65532"] and status[-1:] == ["0" * 16], status)
    tap.check_or_note("gateway: it ends when it is told to", pod.status == 0, f"{pod.status}: {pod.said()}")


def main():
    tap = common.Tap()
    if not common.privileged_or_skip(tap, "images"):
        tap.end()
    python = run(os.path.join(HERE, "..", "peers", "venv.sh"), "kubernetes").stdout.strip()
    image = image_path()
    if not python or not image or not shutil.which("runc") or not shutil.which("kubectl"):
        tap.skip("images and Kubernetes", "needs an image (make image), runc, kubectl, and Python packages")
        tap.end()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        check_image(tap, image, work)
        found = {}
        for folder in ("simple", "pyroscope", "gateway"):
            found[folder] = objects(tap, folder, python, work)
            check_references(tap, folder, found[folder])
            check_configurations(tap, folder, found[folder])
        check_agent(tap, found["simple"], image, work)
        check_gateway(tap, found["gateway"], image, work)
    tap.end()


if __name__ == "__main__":
    main()
