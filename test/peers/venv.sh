#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python that has what requirements.txt names, installing it once into the cache; 1 if it cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
version=$(cksum <"$here/requirements.txt" | cut -d ' ' -f 1)
venv=$cache/venv-peers-$version

mkdir -p "$cache"
exec 9>"$cache/venv-peers.lock"
flock 9
if [ ! -f "$venv/complete" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv" >&2
	timeout 300 "$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt" >&2
	touch "$venv/complete"
fi
echo "$venv/bin/python"
