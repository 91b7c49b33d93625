#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the command of the OTel eBPF profiler that go.mod names, which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../go_peer.sh"
version=$(sed -n 's/^require .* v//p' "$here/go.mod")
profiler=$(build_peer "the OTel eBPF profiler $version" "otel-profiler-$version" profiler "${1:-600}" \
	go.opentelemetry.io/ebpf-profiler)
unlimited=${profiler%/*}/unlimited
[ "$unlimited" -nt "$here/unlimited.c" ] || ${CC:-cc} -O2 -Wall -o "$unlimited" "$here/unlimited.c" >&2
echo "$unlimited" "$profiler"
