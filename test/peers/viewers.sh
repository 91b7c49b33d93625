#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our files in the hands of viewers and compilers: speedscope (npm), Chromium for SVG and HTML, Perfetto's proto (PyPI),
# google/pprof, go build -pgo, llvm-profdata and clang. The Firefox Profiler is on no registry: its file is read by the rules
# of its format. The sources are requests of the OpenTelemetry eBPF profiler, and for compilers what wick records.
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

PYTHON=$(test/peers/venv.sh 2>/dev/null) || {
	skip viewers what requirements.txt names cannot be installed from PyPI
	exit 0
}
viewers() {
	"$PYTHON" test/peers/viewers.py "$@"
}

# ---- Viewers

PLAYWRIGHT=$(test/peers/npm.sh playwright-core 1.65.0 2>/dev/null) || PLAYWRIGHT=
speedscope=$(test/peers/npm.sh speedscope 1.25.0 2>/dev/null) || speedscope=
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || CHROMIUM=
export PLAYWRIGHT CHROMIUM
for file in test/golden/otlp/ebpf-profiler-*.bin; do
	name=$(basename "$file" .bin)
	for suffix in speedscope.json svg html firefox.json perfetto-trace pb.gz; do
		check "$name becomes $suffix" "$WICK" convert "$file" "$WORK/$name.$suffix"
	done
	check "the Firefox Profiler's rules find $name whole" viewers firefox "$file" "$WORK/$name.firefox.json"
	check "Perfetto's proto finds $name whole" viewers perfetto "$file" "$WORK/$name.perfetto-trace"
	if command -v go >/dev/null && go tool pprof -symbolize=none -raw "$WORK/$name.pb.gz" >"$WORK/raw" 2>/dev/null; then
		check "pprof finds $name whole" viewers pprof "$file" "$WORK/raw"
	else
		skip "pprof finds $name whole" no Go
	fi
	if [ "$PLAYWRIGHT" ] && [ "$speedscope" ] && [ "$CHROMIUM" ]; then
		timeout 120 node test/peers/viewers.mjs "$speedscope/node_modules/speedscope/dist/release/index.html" \
			"$WORK/$name.speedscope.json" "$WORK/saved.json" "$WORK/$name.svg" "$WORK/$name.html" \
			"$(viewers term "$file")" >"$WORK/found" 2>&1 || sed 's/^/# /' "$WORK/found"
		check "speedscope finds $name whole" viewers speedscope "$file" "$WORK/saved.json"
		check "flame graphs of $name zoom, and find what is in it" viewers shares "$file" "$WORK/found"
		rm -f "$WORK/saved.json"
	else
		skip "speedscope finds $name whole" no Chromium, or npm has no speedscope or playwright-core
	fi
done

# ---- Compilers

cat >"$WORK/hot.go" <<'END'
package main

import "fmt"

type shape interface{ area(n int) int }
type square struct{ side int }
type circle struct{ radius int }

func (s square) area(n int) int {
	sum := 0
	for i := 0; i < 8; i++ {
		sum += (n*s.side + i) ^ (n >> 3)
		sum ^= sum << 7
	}
	return sum
}

func (c circle) area(n int) int { return c.radius * n }

//go:noinline
func total(s shape, n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += s.area(i)
	}
	return sum
}

func main() {
	sum := 0
	for i := 0; i < 10000; i++ {
		sum += total(square{i}, 20000) + total(circle{i}, 3)
	}
	fmt.Println(sum)
}
END

# A call through an interface becomes one of the type that was seen, which go build does by a profile alone.
go_uses_it() {
	"$WICK" convert "$WORK/hot-go.otlp" "$WORK/default.pgo" &&
		go build -pgo="$WORK/default.pgo" -gcflags=-m=2 -o "$WORK/hot-go-2" "$WORK/hot.go" 2>&1 |
		grep 'PGO devirtualizing interface call s.area to square.area'
}

# sampled FILE: what LLVM counts in work() and what was inlined there.
sampled() {
	llvm-profdata show --sample --function=work "$1" | sed -n 's/^Function: work: \([0-9]*\), .*/\1/p'
}

# All samples whose innermost functions are work or mix; the kernel's interrupts are not. An instruction or two of it have
# no line, and count nowhere for a compiler: so many are left out.
in_work() {
	{
		"$WICK" convert "$WORK/hot-c.otlp" - --format=folded | sed -n 's/.*;work\(;mix\)\? \([0-9]*\)$/\2 1/p'
		"$WICK" report --by=line --json "$WORK/hot-c.otlp" |
			sed -n 's/.*"period": \([0-9]*\).*/period \1/p; s/.*"name": "\(work\|mix\)",.*"line": 0, "self": \([0-9]*\).*/\2 0/p'
	} | awk '$1 == "period" { period = $2; next } $2 { sum += $1; next } { lineless += $1 }
		END { printf "%d\n", sum - (lineless ? lineless / period : 0) + 0.5 }'
}

llvm_counts_alike() {
	"$WICK" convert "$WORK/hot-c.otlp" "$WORK/hot.afdo" &&
		llvm-profdata merge --sample "$WORK/hot.afdo" -o "$WORK/hot.prof" &&
		echo "$(sampled "$WORK/hot.prof") $(in_work)" &&
		[ "$(sampled "$WORK/hot.prof")" = "$(in_work)" ] && [ "$(in_work)" -gt 100 ]
}

clang_uses_it() {
	clang -O2 -g -fprofile-sample-use="$WORK/hot.prof" -Rpass-analysis=sample-profile -c -o "$WORK/hot.o" test/peers/hot.c 2>&1 |
		grep 'Applied [0-9]* samples from profile'
}

record() {
	"$WICK" record -q -F 997 -o "$1" -- "$2"
}

# ---- Lanes of threads

lanes() {
	"$WICK" record -q -e wall,lanes -o "$WORK/lanes.otlp" -- sh -c 'for i in 1 2 3 4; do sleep 0.1; done' &&
		"$WICK" convert "$WORK/lanes.otlp" "$WORK/lanes.firefox.json" &&
		"$WICK" convert "$WORK/lanes.otlp" "$WORK/lanes.perfetto-trace" &&
		viewers lanes "$WORK/lanes.firefox.json" "$WORK/lanes.perfetto-trace"
}

if ! is_root; then
	skip compilers and lanes not root: this machine cannot be profiled
	finish
fi
check "lanes of threads are the same for the Firefox Profiler and for Perfetto" lanes
if command -v go >/dev/null && go build -o "$WORK/hot-go" "$WORK/hot.go" 2>/dev/null; then
	check "wick records a program in Go" record "$WORK/hot-go.otlp" "$WORK/hot-go"
	check "go build -pgo uses the profile" go_uses_it
else
	skip "go build -pgo uses the profile" no Go
fi
if command -v clang >/dev/null && command -v llvm-profdata >/dev/null; then
	check "clang builds a program" clang -O2 -g -o "$WORK/hot-c" test/peers/hot.c
	check "wick records it" record "$WORK/hot-c.otlp" "$WORK/hot-c"
	check "llvm-profdata counts as wick does" llvm_counts_alike
	check "clang uses the profile" clang_uses_it
else
	skip "clang uses the profile" no clang or llvm-profdata
fi
finish
