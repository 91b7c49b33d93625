#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# venv.sh [NAME]: prints the path of a Python that has what requirements.txt, or requirements-NAME.txt, names, installing it
# once into the cache; 1 if it cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
list=$here/requirements${1:+-$1}.txt
version=$(cksum <"$list" | cut -d ' ' -f 1)
venv=$cache/venv-${1:-peers}-$version

mkdir -p "$cache"
exec 9>"$cache/venv-${1:-peers}.lock"
flock 9
if [ ! -f "$venv/complete" ]; then
	rm -rf "$venv"
	python3 -m venv "$venv" >&2
	timeout 600 "$venv/bin/pip" install -q --disable-pip-version-check -r "$list" >&2
	touch "$venv/complete"
fi
echo "$venv/bin/python"
