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
trap 'kill $wick $victim $locked $young 2>/dev/null; wait; rm -rf "$work"' EXIT
locked= young=
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

# Whoever uses a page waits most of the time, for windows, answers and pictures: two of them at a time. Each part prints how long it took.
url="http://127.0.0.1:$port" status=0
part() {
	limit=$1 name=$2 began=$(date +%s)
	shift 2
	timeout "$limit" "$@" || parts_status=1
	echo "# $name: $(($(date +%s) - began)) s"
}
# beside FIRST SECOND: both at once, until both are done.
beside() {
	(parts_status=0; "$1"; exit $parts_status) &
	first=$!
	(parts_status=0; "$2"; exit $parts_status) &
	second=$!
	wait $first || status=1
	wait $second || status=1
}
# Those that count, show one range twice, or look whether nothing was kept, are done before others send profiles of their own.
looks() { part 200 page node test/browser/page.mjs "$url" leaf_a "$logs" "$PWD/build/victims/v-gcc-O2"; }
counts() {
	part 150 files node test/browser/files.mjs "$url" "$logs"
	part 60 exports test/browser/exports.py "$url" "$WICK" "$work"
	part 150 status node test/browser/status.mjs "$logs"
	part 150 numbers node test/browser/numbers.mjs "$url"
}
touches() {
	part 200 hand node test/browser/hand.mjs "$url" leaf_a "$logs"
	part 120 links node test/browser/links.mjs "$url" leaf_a $victim "$logs"
}
sends() {
	part 150 offers node test/browser/offers.mjs "$url" "$logs"
	part 150 annotations node test/browser/annotations.mjs "$url" "$logs"
	part 150 sequence node test/browser/sequence.mjs "http://127.0.0.1:$((port + 2))" "$logs" "$PWD/build/victims/v-inline"
}
# Little else is seen beside what these two send.
hurts() { part 150 hurts node test/browser/hurts.mjs "$url" "$logs"; }
starts() { part 150 start node test/browser/start.mjs "$url" "$logs"; }
beside looks counts
# One that has not yet spent its time for lines on the browser's libraries: what a line has is looked at there.
"$WICK" --listen="127.0.0.1:$((port + 2))" --max-cpu=1000 --store.path="$work/young" --page.source="$PWD/test/victims" --set=receivers.profiling.samples_per_second=97 2>"$work/young.log" &
young=$!
beside touches sends
kill $young
young=
beside hurts starts
# What is sent here has other types: all pages have another switch from then on.
waits() { part 150 waits node test/browser/waits.mjs "$url" "$logs"; }
lanes() { part 150 lanes node test/browser/lanes.mjs "$url" "$logs"; }
beside waits lanes
# Of its own, since values of two rates beside each other are shown as time.
boosts() { part 90 boosts node test/browser/boosts.mjs "$url" "$logs"; }
parts_status=0
boosts
[ $parts_status = 0 ] || status=1
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
