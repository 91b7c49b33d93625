#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs as people run them, from their first instruction on: pip installs a big package, webpack builds a bundle, Maven
packages a project. What they need is fetched once into the cache. Go's is in lang_go.py."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from common import Tap, privileged_or_skip
from runtime_profile import check_real

CACHE = os.environ.get("WICK_TEST_CACHE", os.path.expanduser("~/.cache/wick-test"))
WHEEL = "sympy==1.13.3"
WEBPACK = ("webpack@5.101.3", "webpack-cli@6.0.1", "three@0.170.0")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>small</artifactId><version>1</version><packaging>jar</packaging>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
  <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
</project>
"""
CLASS = """package test;
public final class Small%d {
    public static java.util.Map<String, Integer> count(java.util.List<String> words) {
        java.util.Map<String, Integer> counts = new java.util.TreeMap<>();
        words.stream().map(String::trim).filter(w -> !w.isEmpty()).forEach(w -> counts.merge(w, 1, Integer::sum));
        return counts;
    }
}
"""


def run(command, cwd=None):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode:
        raise OSError((result.stderr.strip() or result.stdout.strip() or "failed").splitlines()[-1][:300])


def pip_install(tap, folder):
    wheels, target = os.path.join(CACHE, "wheels-" + WHEEL), os.path.join(folder, "target")
    environment = os.path.join(folder, "venv")
    run([sys.executable, "-m", "venv", environment])
    pip = os.path.join(environment, "bin", "pip")
    if not glob.glob(wheels + "/sympy*.whl"):
        run([pip, "download", "-q", "-d", wheels, WHEEL])
    check_real(tap, "pip install sympy",
               [pip, "install", "-q", "--no-index", "--find-links", wheels, "--target", target, WHEEL])


def webpack_build(tap, folder):
    directory = os.path.join(CACHE, "webpack-" + "-".join(WEBPACK).replace("@", ""))
    if not os.path.exists(directory + "/node_modules/.bin/webpack"):
        os.makedirs(directory, exist_ok=True)
        run(["npm", "install", "--no-audit", "--no-fund", *WEBPACK], cwd=directory)
    entry = os.path.join(directory, "entry.js")
    with open(entry, "w", encoding="ascii") as file:
        file.write("import * as all from 'three'; globalThis.all = all;\n")
    check_real(tap, "webpack build of three.js",
               ["node", directory + "/node_modules/.bin/webpack", "--mode", "production", "--entry", entry,
                "--output-path", os.path.join(folder, "dist")], cwd=directory)


def maven_package(tap, folder):
    if not shutil.which("mvn"):
        raise OSError("Maven is not installed")
    project = os.path.join(folder, "project")
    source = os.path.join(project, "src/main/java/test")
    os.makedirs(source)
    with open(os.path.join(project, "pom.xml"), "w", encoding="ascii") as file:
        file.write(POM)
    for number in range(400):
        with open(os.path.join(source, f"Small{number}.java"), "w", encoding="ascii") as file:
            file.write(CLASS % number)
    maven = ["mvn", "-q", "-B", "-Dmaven.repo.local=" + os.path.join(CACHE, "maven")]
    run([*maven, "package"], cwd=project)
    shutil.rmtree(os.path.join(project, "target"))
    check_real(tap, "mvn package", [*maven, "-o", "package"], cwd=project)


def main():
    tap = Tap()
    if privileged_or_skip(tap, "real programs"):
        for program in (pip_install, webpack_build, maven_package):
            with tempfile.TemporaryDirectory(prefix="wick-real-") as folder:
                try:
                    program(tap, folder)
                except (OSError, subprocess.SubprocessError) as error:
                    tap.skip(program.__name__, str(error))
    tap.end()


if __name__ == "__main__":
    main()
