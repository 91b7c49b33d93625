#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of the OpenTelemetry Collector of manifest.yaml, which is built once into the cache by the Collector's
# own builder. That takes minutes: get.sh SECONDS gives up after so many, with status 1 and the reason on stderr.
set -eu
limit=${1:-900}
here=$(cd "$(dirname "$0")" && pwd)
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
version=$(sed -n 's/^  version: //p' "$here/manifest.yaml")
into=$cache/otelcol-$version
stamp=$into/complete-$(cksum <"$here/manifest.yaml" | cut -d ' ' -f 1)
ends=$(($(date +%s) + limit))

left() {
	left=$((ends - $(date +%s)))
	[ "$left" -gt 0 ] && echo "$left" || echo 1
}

say() {
	echo "$1" >&2
	exit 1
}

mkdir -p "$into"
exec 9>"$into/lock"
flock -w "$limit" 9 || say "somebody else builds the OpenTelemetry Collector $version for more than $limit s"
if [ -f "$stamp" ]; then
	echo "$into/otelcol"
	exit
fi
command -v go >/dev/null || say "no Go to build the OpenTelemetry Collector $version with"
export CGO_ENABLED=0 GOFLAGS='-mod=mod -buildvcs=false'
if [ ! -x "$into/builder" ]; then
	GOBIN=$into timeout "$(left)" nice go install "go.opentelemetry.io/collector/cmd/builder@v$version" >&2 ||
		say "the builder of the OpenTelemetry Collector $version could not be installed"
fi
sed "s#^dist:#&\n  output_path: $into/src#" "$here/manifest.yaml" >"$into/manifest.yaml"
timeout "$(left)" nice "$into/builder" --skip-compilation --config "$into/manifest.yaml" >&2 ||
	echo 'the builder failed; its output is tried all the same' >&2
(cd "$into/src" && timeout "$(left)" nice go build -p 1 -trimpath -ldflags='-s -w' -tags grpcnotrace -o ../otelcol .) >&2 ||
	say "the OpenTelemetry Collector $version could not be built within $limit s"
touch "$stamp"
echo "$into/otelcol"
