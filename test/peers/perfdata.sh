#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our perf.data in the hands of the distribution's perf, of a program that draws what perf script prints, and the
# exporter that writes such files: at kill -9, on a full disk, beside another one.
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; umount "$WORK/small" 2>/dev/null; rm -rf "$WORK"' EXIT

if ! perf version >/dev/null 2>&1; then
	skip perf.data no perf
	exit 0
fi
PYTHON=$(test/peers/venv.sh 2>/dev/null) || {
	skip perf.data what requirements.txt names cannot be installed from PyPI
	exit 0
}
viewers() {
	"$PYTHON" test/peers/viewers.py "$@"
}

# script FILE: all of each stack, without a look at inlined functions, which the file has.
script() {
	perf script -i "$1" -F comm,pid,tid,cpu,time,period,event,ip,sym --max-stack 9000 --no-inline
}

# ---- Profiles of other agents: C, Go, Java, JavaScript, Python

flamegraph=$(test/peers/npm.sh flamegraph 1.3.0 2>/dev/null) || flamegraph=

# Its SVG has the function with most time; it cuts names at their first parenthesis.
drawn() {
	perf script -i "$1" --max-stack 9000 --no-inline >"$WORK/perf.txt" 2>/dev/null &&
		node "$flamegraph/node_modules/flamegraph/bin/flamegraph.js" -t perf <"$WORK/perf.txt" >"$WORK/perf.svg" &&
		grep -q -F "$(viewers term "$2" | sed -e 's/(.*//' -e 's/\\//g' -e 's/&/\&amp;/g')" "$WORK/perf.svg"
}

finds_all() {
	script "$WORK/$1.data" >"$WORK/script.txt" && viewers perf "$2" "$WORK/script.txt"
}

finds_top() {
	perf report -i "$WORK/$1.data" --stdio --no-children --sort sym -g none >"$WORK/report.txt" &&
		viewers perf-top "$2" "$WORK/report.txt"
}

# What the header says, and that perf has nothing to complain about.
has_header() {
	perf report -i "$1" --stdio --header-only >"$WORK/header.txt" 2>&1 && cat "$WORK/header.txt" &&
		grep -q '^# perf version : wick ' "$WORK/header.txt" && grep -q '^# event : name = samples' "$WORK/header.txt" &&
		grep -q '^# time of first sample : ' "$WORK/header.txt" && grep -q '^# clockid: realtime' "$WORK/header.txt" &&
		perf report -i "$1" --stdio 2>&1 >"$WORK/out.txt" | sed 's/^/perf: /' | tee "$WORK/complaints" &&
		[ ! -s "$WORK/complaints" ]
}

for file in test/golden/otlp/ebpf-profiler-*.bin; do
	name=$(basename "$file" .bin)
	check "$name becomes perf.data" "$WICK" convert "$file" "$WORK/$name.data"
	check "perf script finds totals, top functions and all stacks of $name" finds_all "$name" "$file"
	check "perf report finds the top functions of $name" finds_top "$name" "$file"
	check "perf report reads the header of $name" has_header "$WORK/$name.data"
	if [ "$flamegraph" ]; then
		check "a flame graph of perf script shows $name" drawn "$WORK/$name.data" "$file"
	else
		skip "a flame graph of perf script shows $name" npm has no flamegraph
	fi
done
if command -v stackcollapse-perf.pl >/dev/null; then
	check "stackcollapse-perf.pl reads it" sh -c \
		"perf script -i '$WORK/ebpf-profiler-c.data' --no-inline | stackcollapse-perf.pl | grep -q ';main;'"
else
	skip "stackcollapse-perf.pl reads it" FlameGraph is not installed
fi

# ---- The exporter

CONFIG=$WORK/config.yaml
PAYLOAD=test/golden/otlp/ebpf-profiler-c.bin
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# config OPTIONS: from OTLP/HTTP to perf.data files.
config() {
	cat >"$CONFIG" <<-END
	receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$PORT"}}}}
	exporters: {perfdata: {$1}}
	service:
	  telemetry: {metrics: {level: none}}
	  pipelines: {profiles: {receivers: [otlp], exporters: [perfdata]}}
	END
}

start() {
	: >"$WORK/log"
	"$WICK" --config="$CONFIG" 2>"$WORK/log" &
	pid=$!
	waited 'grep -q "Everything is ready" "$WORK/log"'
}

# waited CONDITION: until it holds, for 20 s.
waited() {
	waited_tries=0
	until eval "$1"; do
		waited_tries=$((waited_tries + 1))
		if [ $waited_tries -gt 400 ]; then
			cat "$WORK/log"
			return 1
		fi
		sleep 0.05
	done
}

post() {
	curl -s -o /dev/null --fail --max-time 20 --data-binary "@$PAYLOAD" -H 'Content-Type: application/x-protobuf' \
		"http://127.0.0.1:$PORT/v1development/profiles"
}

# stop SIGNAL
stop() {
	kill "-$1" "$pid"
	wait "$pid" 2>/dev/null
	pid=
}

# total DIRECTORY: the weight of all samples of its files, as perf reads them.
total() {
	find "$1" -name 'perf-*.data' -exec perf script -i {} -F period \; | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# Twelve batches, in files of about a megabyte, and what is left at the end.
keeps_all() {
	config "path: $WORK/all, interval: 1h, max_megabytes: 1"
	start || return 1
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do post || return 1; done
	stop TERM
	mkdir -p "$WORK/one" && cp "$WORK/ebpf-profiler-c.data" "$WORK/one/perf-1.data"
	ls -l "$WORK/all"
	echo "$(total "$WORK/all") is 12 times $(total "$WORK/one")?"
	[ "$(total "$WORK/all")" = $((12 * $(total "$WORK/one"))) ] && [ "$(find "$WORK/all" -name 'perf-*.data' | wc -l)" -gt 1 ]
}
check "every sample is in one of its files" keeps_all

rotates_by_time() {
	config "path: $WORK/time, interval: 1s"
	start || return 1
	post && waited '[ "$(find "$WORK/time" -name "perf-*.data" | wc -l)" = 1 ]' || return 1
	post && waited '[ "$(find "$WORK/time" -name "perf-*.data" | wc -l)" = 2 ]' || return 1
	stop TERM
	[ "$(find "$WORK/time" -type f | wc -l)" = 2 ]
}
check "an interval ends without a further batch" rotates_by_time

# Killed while it writes one file after the other; each that is there is whole.
is_whole_at_kill() {
	config "path: $WORK/killed, interval: 1s, max_megabytes: 1"
	for round in 1 2 3 4 5 6; do
		start || return 1
		(while post; do :; done) &
		poster=$!
		waited "[ \$(find '$WORK/killed' -name 'perf-*.data' | wc -l) -ge $((2 * round)) ]" || return 1
		sleep "0.0$((round * 13 % 10))"
		stop KILL
		wait "$poster"
	done
	ls -la "$WORK/killed"
	for file in "$WORK/killed"/perf-*.data; do
		perf report -i "$file" --stdio >"$WORK/out.txt" 2>"$WORK/complaints" || return 1
		[ ! -s "$WORK/complaints" ] || { cat "$WORK/complaints"; return 1; }
	done
	start && stop TERM
	[ ! -e "$WORK/killed/.perf.data.unfinished" ]
}
check "files are whole at any kill -9, and what was left is removed" is_whole_at_kill

refuses_second() {
	config "path: $WORK/shared, interval: 1h"
	start || return 1
	sed -i 's/otlp: {protocols.*/nop: }/; s/receivers: \[otlp\]/receivers: [nop]/' "$CONFIG"
	timeout 20 "$WICK" --config="$CONFIG" 2>"$WORK/second"
	second=$?
	cat "$WORK/second"
	stop TERM
	[ $second = 1 ] && grep -q "writes to $WORK/shared; give each a path of its own" "$WORK/second"
}
check "two wicks do not share a directory" refuses_second

# A full disk holds up nothing, and costs nothing that memory has room for.
survives_full_disk() {
	mkdir -p "$WORK/small" && mount -t tmpfs -o size=1m none "$WORK/small" || return 1
	head -c 1000000 /dev/zero >"$WORK/small/filler"
	config "path: $WORK/small, interval: 1s"
	start || return 1
	post && waited 'grep -q "cannot write a file to .*No space left on device" "$WORK/log"' || return 1
	find "$WORK/small" -name 'perf-*' | grep . && return 1
	rm "$WORK/small/filler"
	waited '[ -n "$(find "$WORK/small" -name "perf-*.data")" ]' || return 1
	stop TERM
	echo "$(total "$WORK/small") is $(total "$WORK/one")?"
	[ "$(total "$WORK/small")" = "$(total "$WORK/one")" ]
}
if is_root && mkdir -p "$WORK/small" && mount -t tmpfs -o size=1m none "$WORK/small" 2>/dev/null; then
	umount "$WORK/small"
	check "a file that a full disk had no room for is written when it has" survives_full_disk
else
	skip "a file that a full disk had no room for is written when it has" no tmpfs can be mounted
fi

# ---- A program of this machine: perf names its functions and shows their code

# Stacks as folded lines without the process, sorted; both sides name what is in the program.
stacks_of_program() {
	sed -n 's/^.*;\(main;work\(;mix\)\?\)\( .*\)$/\1/p' | sort | uniq -c
}

inlines_are_frames() {
	script "$WORK/hot.data" | awk '/^\t/ { stack = (stack ? $2 ";" stack : $2); next }
		NF == 0 && stack { print ";" stack " 1"; stack = "" }' | stacks_of_program >"$WORK/perf.stacks"
	"$WICK" convert "$WORK/hot.otlp" - --format=folded |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); for (i = 0; i < n; i++) print $0 " 1" }' | stacks_of_program >"$WORK/wick.stacks"
	cat "$WORK/perf.stacks" "$WORK/wick.stacks"
	grep -q 'main;work;mix' "$WORK/wick.stacks" && cmp "$WORK/perf.stacks" "$WORK/wick.stacks"
}

# Lines of code with a share of the samples.
is_annotated() {
	perf annotate -i "$WORK/hot.data" --stdio -s work >"$WORK/annotated" 2>/dev/null
	grep -E '^ +[1-9][0-9]*\.[0-9]+ +: +[0-9a-f]+: ' "$WORK/annotated" | tee "$WORK/hot.lines"
	[ -s "$WORK/hot.lines" ]
}

has_build_id() {
	perf buildid-list -i "$WORK/hot.data" | grep -F "$(readelf -n "$WORK/hot" | sed -n 's/.*Build ID: //p') $WORK/hot"
}

if ! is_root; then
	skip "perf annotate shows code" not root: this machine cannot be profiled
	finish
fi
check "a program is built" gcc -O2 -g -Wl,--build-id -o "$WORK/hot" test/peers/hot.c
check "wick records it" "$WICK" record -q -F 997 -o "$WORK/hot.otlp" -- "$WORK/hot"
check "it becomes perf.data" "$WICK" convert "$WORK/hot.otlp" "$WORK/hot.data"
check "stacks are the same, with what is inlined" inlines_are_frames
check "perf annotate shows its code" is_annotated
check "perf buildid-list has its build id" has_build_id
check "wick records perf.data" "$WICK" record -q -F 997 -o "$WORK/perf.data" -- "$WORK/hot"
check "perf report reads that" perf report -i "$WORK/perf.data" --stdio
finish
