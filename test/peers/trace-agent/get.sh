#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of Datadog's trace-agent as main.go has it, which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../go_peer.sh"
build_peer "Datadog's trace-agent" "trace-agent-$(cat "$here/go.mod" "$here/main.go" | cksum | cut -d ' ' -f 1)" trace-agent \
	"${1:-600}" -trimpath -ldflags='-s -w' .
