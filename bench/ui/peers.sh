#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the viewers that the page is measured beside, by pinned version, and prints the directory. One that cannot be had is left out: bench.mjs
# says so.
set -u
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
peers=$cache/ui-peers-1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$peers"
cd "$peers" || exit
# Grafana's own fork of a table, which the flame graph does not show, is not in the registry.
[ -e package.json ] || echo '{"overrides":{"react-data-grid":"7.0.0-beta.47"}}' >package.json

install() {
	[ -e "$2" ] || npm install --no-audit --no-fund --legacy-peer-deps --prefix "$peers" "$1" >>npm.log 2>&1 || echo "cannot install $1: see $peers/npm.log" >&2
}
install playwright-core@1.65.0 node_modules/playwright-core
install speedscope@1.25.0 node_modules/speedscope
install d3@7.9.0 node_modules/d3
install d3-flame-graph@5.0.0 node_modules/d3-flame-graph
install esbuild@0.25.0 node_modules/esbuild
install react@18.3.1 node_modules/react
install react-dom@18.3.1 node_modules/react-dom
install @grafana/flamegraph@13.0.1 node_modules/@grafana/flamegraph
if [ -e node_modules/@grafana/flamegraph ] && [ ! -e grafana.js ]; then
	# Its button to a chat needs all of Grafana.
	echo 'export const OpenAssistantButton = () => null;' >assistant.js
	cp "$here/grafana.jsx" . &&
		node_modules/.bin/esbuild grafana.jsx --bundle --outfile=grafana.js --format=esm --loader:.svg=dataurl --loader:.ttf=dataurl --alias:@grafana/assistant=./assistant.js \
			--define:process.env.NODE_ENV='"production"' --log-level=error --minify >>npm.log 2>&1 ||
		echo "cannot build @grafana/flamegraph: see $peers/npm.log" >&2
fi
[ -x bin/pprof ] || GOBIN=$peers/bin go install github.com/google/pprof@v0.0.0-20260906184651-6331bc6350fe >>npm.log 2>&1 ||
	echo "cannot install pprof: see $peers/npm.log" >&2
echo "$peers"
