#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of Datadog's trace-agent as main.go has it, which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
limit=${1:-600}
here=$(cd "$(dirname "$0")" && pwd)
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
into=$cache/trace-agent-$(cat "$here/go.mod" "$here/main.go" | cksum | cut -d ' ' -f 1)

say() {
	echo "$1" >&2
	exit 1
}

mkdir -p "$into"
exec 9>"$into/lock"
flock -w "$limit" 9 || say "somebody else builds Datadog's trace-agent for more than $limit s"
if [ ! -x "$into/trace-agent" ]; then
	command -v go >/dev/null || say "no Go to build Datadog's trace-agent with"
	cp "$here/go.mod" "$here/main.go" "$into/"
	(cd "$into" && CGO_ENABLED=0 GOFLAGS='-mod=mod -buildvcs=false' timeout "$limit" nice go build -p 1 -trimpath \
		-ldflags='-s -w' -o trace-agent.new .) >&2 || say "Datadog's trace-agent could not be built within $limit s"
	mv "$into/trace-agent.new" "$into/trace-agent"
fi
echo "$into/trace-agent"
