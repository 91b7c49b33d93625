#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the command of the OTel eBPF profiler that go.mod names, which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
limit=${1:-600}
here=$(cd "$(dirname "$0")" && pwd)
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
version=$(sed -n 's/^require .* v//p' "$here/go.mod")
into=$cache/otel-profiler-$version

say() {
	echo "$1" >&2
	exit 1
}

mkdir -p "$into"
exec 9>"$into/lock"
flock -w "$limit" 9 || say "somebody else builds the OTel eBPF profiler $version for more than $limit s"
if [ ! -x "$into/profiler" ]; then
	command -v go >/dev/null || say "no Go to build the OTel eBPF profiler $version with"
	cp "$here/go.mod" "$into/"
	(cd "$into" && CGO_ENABLED=0 GOFLAGS='-mod=mod -buildvcs=false' timeout "$limit" nice go build -p 1 \
		-o profiler.new go.opentelemetry.io/ebpf-profiler) >&2 ||
		say "the OTel eBPF profiler $version could not be built within $limit s"
	mv "$into/profiler.new" "$into/profiler"
fi
[ "$into/unlimited" -nt "$here/unlimited.c" ] || ${CC:-cc} -O2 -Wall -o "$into/unlimited" "$here/unlimited.c" >&2
echo "$into/unlimited" "$into/profiler"
