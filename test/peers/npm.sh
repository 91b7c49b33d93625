#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npm.sh PACKAGE VERSION: prints the directory that has the package in its node_modules, installing it once into the cache;
# 1 if it cannot.
set -eu
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
directory=$cache/$1-$2

mkdir -p "$cache"
exec 9>"$cache/npm.lock"
flock 9
if [ ! -d "$directory/node_modules/$1" ]; then
	mkdir -p "$directory"
	cd "$directory"
	timeout 300 npm install --no-audit --no-fund "$1@$2" >&2 || { rm -rf "$directory"; exit 1; }
fi
echo "$directory"
