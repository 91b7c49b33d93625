#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Go programs: names, lines and inlined calls as the runtime itself tells them; stacks of a known chain of calls.
# GO names other toolchains than the installed one, by their go command. Prints TAP.
. "$(dirname "$0")/lib.sh"
lines_dump=$BUILD/test/tools/lines_dump
for tool in ${GO:-go} gcc nm strip; do
	if ! command -v "$tool" >/dev/null; then
		skip "go" "$tool is not installed"
		finish
	fi
done
make -C "$ROOT" O="$BUILD" "$lines_dump" >/dev/null || { echo 'not ok - build'; exit 1; }
export GOTOOLCHAIN=local GOFLAGS=-buildvcs=false

# build GO OUT VICTIM FLAGS...
build() {
	local go=$1 out=$2 victim=$3 allow=
	shift 3
	# The runtime's own function is not for everybody, since 1.23.
	[[ $("$go" version) =~ go1\.(19|20|21|22)[.\ ] ]] || allow=-ldflags=-checklinkname=0
	(cd "$ROOT/test/victims/go" && "$go" build ${allow:+"$allow"} "$@" -o "$out" "./$victim")
}

# Nearly all: the runtime leaves out wrappers, does not name the first function, and we ask for addresses in padding.
same_lines() {
	local total different
	total=$(wc -l <"$WORK/theirs")
	different=$(diff "$WORK/theirs" "$WORK/ours" | grep -c '^<')
	echo "$different of $total differ"
	diff "$WORK/theirs" "$WORK/ours" | head -n 10
	[ "$total" -gt 1000 ] && [ $((different * 100)) -le "$total" ]
}

# compare GO FLAGS...: a stripped copy is named as the running program names itself.
compare() {
	local go=$1
	shift
	symbol() { nm "$WORK/frames" | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
	build "$go" "$WORK/frames" frames "$@" || return 1
	"$WORK/frames" 97 "$(symbol main.main)" "$(symbol runtime.text)" "$(symbol runtime.etext)" >"$WORK/theirs" || return 1
	strip -o "$WORK/stripped" "$WORK/frames"
	cut -d' ' -f1 "$WORK/theirs" | "$lines_dump" lines "$WORK/stripped" | sed '$d' >"$WORK/ours"
	same_lines
}

# whole LEAF CHAIN: at least 99 % of the samples in LEAF have exactly that chain, up to the goroutine's first function.
# The first ones, of which one of the stacks was copied, may be cut: not more than 3 %.
whole() {
	awk -v leaf="$1" -v chain="$2" '
		{ n = $NF; sub(/ [0-9]+$/, ""); gsub(/;[^;]*_\[k\]/, "") }
		$0 !~ ";" leaf "$" { next }
		{ all += n }
		/;\[truncated\];/ { cut += n; next }
		$0 ~ "^[^;]*;" chain "$" { good += n; next }
		!shown++ { print "not: " $0 }
		END { print good + 0 " good, " cut + 0 " cut of " all + 0
		      exit !(all > 100 && cut <= all * 0.03 && good >= (all - cut) * 0.99) }' "$WORK/chain.folded"
}

live() {
	timeout 60 "$WICK" record -q -F 997 -f folded -o "$WORK/chain.folded" -- "$WORK/chain" 6s || return 1
	[ -s "$WORK/chain.folded" ]
}

goroutine='runtime[.]goexit;(main[.]main[.]gowrap1;)?main[.]main[.]func1;main[.]work;'
for go in ${GO:-go}; do
	version=$("$go" env GOVERSION)
	check "$version: lines and inlined calls" env CGO_ENABLED=0 bash -c "$(declare -f); WORK=$WORK ROOT=$ROOT lines_dump=$lines_dump; compare $go"
	check "$version: ... of a PIE" env CGO_ENABLED=0 bash -c "$(declare -f); WORK=$WORK ROOT=$ROOT lines_dump=$lines_dump; compare $go -buildmode=pie"
	if ! is_root; then
		skip "$version: stacks" "not root"
		continue
	fi
	check "$version: build" build "$go" "$WORK/chain" chain
	check "$version: record" live
	check "$version: the caller of a leaf without a frame" whole 'main[.]leaf' \
		"${goroutine}main[.]generic[[][.][.][.][]];main[.]inlined;main[.]leaf"
	check "$version: through a change of stack and a deep recursion" whole '__vdso_clock_gettime' \
		"${goroutine}(main[.]deep;)+main[.]clockLeaf;main[.]clock;time[.]Now;.*__vdso_clock_gettime"
	check "$version: from Go to C and back" whole 'main[.]leafOfC' \
		"${goroutine}(main[.]work[.]func1;)?main[.]_Cfunc_c_outer;(runtime[.]cgocall;)?runtime[.]asmcgocall;[^;]*c_outer;c_outer;c_inner;go_back;crosscall2;runtime[.]cgocallback;.*main[.]go_back;main[.]leafOfC"
done
finish
