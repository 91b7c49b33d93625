#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of the Helm that go.mod names, which is built once into the cache from the Go proxy.
# get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../go_peer.sh"
version=$(sed -n 's/^require .* v//p' "$here/go.mod")
build_peer "Helm $version" "helm-$version" helm "${1:-600}" helm.sh/helm/v3/cmd/helm
