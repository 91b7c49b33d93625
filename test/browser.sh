#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of a wick that profiles this machine, looked at in Chromium; and its answers, counted again. Prints TAP.
# Screenshots stay in build/test-logs.
set -u
cd "$(dirname "$0")/.." || exit
export WICK=${WICK:-$PWD/build/wick}
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
version=1.65.0
export PLAYWRIGHT=$cache/playwright-core-$version
logs=build/test-logs
mkdir -p "$logs"

if [ "$(id -u)" != 0 ]; then
	echo 'ok - page # SKIP not root: this machine cannot be profiled'
	exit 0
fi
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
	echo 'ok - page # SKIP there is no Chromium'
	exit 0
}
export CHROMIUM
if [ ! -d "$PLAYWRIGHT/node_modules/playwright-core" ]; then
	mkdir -p "$PLAYWRIGHT"
	(cd "$PLAYWRIGHT" && timeout 300 npm install --no-audit --no-fund "playwright-core@$version") >"$logs/npm.log" 2>&1 || {
		rm -rf "$PLAYWRIGHT"
		echo 'ok - page # SKIP playwright-core cannot be installed'
		exit 0
	}
fi
axe=axe-core-4.14.0
if [ ! -f "$cache/$axe/node_modules/axe-core/axe.min.js" ]; then
	mkdir -p "$cache/$axe"
	(cd "$cache/$axe" && timeout 300 npm install --no-audit --no-fund "axe-core@${axe#axe-core-}") >>"$logs/npm.log" 2>&1 || rm -rf "${cache:?}/$axe"
fi
[ -f "$cache/$axe/node_modules/axe-core/axe.min.js" ] && export AXE="$cache/$axe/node_modules/axe-core/axe.min.js"

work=$(mktemp -d)
trap 'kill $wick $victim $locked 2>/dev/null; wait; rm -rf "$work"' EXIT
locked=
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
build/victims/v-gcc-O2 240 >/dev/null &
victim=$!
"$WICK" --listen="127.0.0.1:$port" --max-cpu=1000 --store.path="$work/store" --set=receivers.profiling.samples_per_second=97 2>"$work/log" &
wick=$!
tries=0
while ! curl -sf "http://127.0.0.1:$port/api/v1/top?rows=100" | grep -q native; do
	tries=$((tries + 1))
	if [ $tries = 100 ] || ! kill -0 $wick 2>/dev/null; then
		echo 'not ok - wick shows its first samples'
		sed 's/^/# /' "$work/log"
		exit 1
	fi
	sleep 0.2
done
echo 'ok - wick shows its first samples'
sleep 3

status=0
timeout 200 node test/browser/page.mjs "http://127.0.0.1:$port" leaf_a "$logs" "$PWD/build/victims/v-gcc-O2" || status=1
timeout 150 node test/browser/hand.mjs "http://127.0.0.1:$port" leaf_a "$logs" || status=1
timeout 120 node test/browser/links.mjs "http://127.0.0.1:$port" leaf_a $victim "$logs" || status=1
timeout 150 node test/browser/hurts.mjs "http://127.0.0.1:$port" "$logs" || status=1
timeout 150 node test/browser/numbers.mjs "http://127.0.0.1:$port" || status=1
timeout 60 test/browser/exports.py "http://127.0.0.1:$port" "$WICK" "$work" || status=1
timeout 150 node test/browser/offers.mjs "http://127.0.0.1:$port" "$logs" || status=1
"$WICK" doctor --duration=0 --store.path="$work/store" | grep -q 'reaches back: blocks [0-9.]* \(seconds\|minutes\)' &&
	echo 'ok - doctor reads a store that is in use' || { echo 'not ok - doctor reads a store that is in use'; status=1; }
"$WICK" report -n 20 "$logs/page-export.pb.gz" | grep -q leaf_a &&
	echo 'ok - what was exported can be read' || { echo 'not ok - what was exported can be read'; status=1; }
if command -v go >/dev/null; then
	go tool pprof -top -nodecount=20 "$logs/page-export.pb.gz" 2>"$work/pprof" | grep -q leaf_a &&
		echo 'ok - pprof reads it' || { echo 'not ok - pprof reads it'; sed 's/^/# /' "$work/pprof"; status=1; }
else
	echo 'ok - pprof reads it # SKIP there is no go'
fi
[ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "http://127.0.0.1:$port/")" = 403 ] &&
	echo 'ok - a foreign name is refused' || { echo 'not ok - a foreign name is refused'; status=1; }
"$WICK" --listen="127.0.0.1:$port" --store.path="$work/store" 2>"$work/second"
[ $? = 1 ] && grep -q "is in use" "$work/second" && echo 'ok - a second wick is told of the first' ||
	{ echo 'not ok - a second wick is told of the first'; sed 's/^/# /' "$work/second"; status=1; }
"$WICK" --listen="127.0.0.1:$((port + 1))" --store.path="$work/locked" --set=extensions.page.token=a+SECRET 2>"$work/locked.log" &
locked=$!
tries=0
until curl -s -o /dev/null "http://127.0.0.1:$((port + 1))/" || [ $tries = 100 ]; do
	tries=$((tries + 1))
	sleep 0.2
done
timeout 60 node test/browser/token.mjs "http://127.0.0.1:$((port + 1))" a+SECRET || status=1
kill $locked
kill -TERM $wick
wait $wick
[ $? = 0 ] && echo 'ok - it ends well' || { echo 'not ok - it ends well'; sed 's/^/# /' "$work/log"; status=1; }
wick=
exit $status
