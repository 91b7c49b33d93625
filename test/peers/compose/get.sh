#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of the reader of compose files beside it (main.go), which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../go_peer.sh"
version=$(sed -n 's/^require .* v//p' "$here/go.mod")
build_peer "Docker's reader of compose files $version" "compose-$version" compose "${1:-600}" .
