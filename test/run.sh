#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--all] [NAME]: what `make test` does once everything is installed. Runs the steps of test/list in order, or those
# whose name contains NAME; --all adds the long ones. Every step prints TAP; its whole output is kept in build/test-logs.
# A `live` step that fails runs once more, since others share the machine that it watches; what failed at first is told of.
# The last line is `N passed, M failed, K skipped`; the status is 1 if something failed or nothing ran.
set -u
cd "$(dirname "$0")/.." || exit 1
export WICK_BUILD=${O:-$PWD/build}
logs=$WICK_BUILD/test-logs
mkdir -p "$logs"

all=
if [ "${1:-}" = --all ]; then
	all=1
	shift
fi
only=${1:-}
passed=0 failed=0 skipped=0
skips=() failures=() repeats=()

# count NAME LOG STATUS: adds one step's TAP to the totals.
count() {
	local name=$1 log=$2 status=$3 line step_passed=0 step_failed=0 step_skipped=0

	while IFS= read -r line; do
		case $line in
		'not ok '*)
			step_failed=$((step_failed + 1))
			failures+=("$name: ${line#not ok }")
			;;
		'ok '*'# SKIP'* | '1..0 # SKIP'*)
			step_skipped=$((step_skipped + 1))
			skips+=("$name: ${line#ok }")
			;;
		'ok '*) step_passed=$((step_passed + 1)) ;;
		esac
	done <"$log"
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		step_failed=$((step_failed + 1))
		failures+=("$name: ended by its time limit")
	elif [ "$status" != 0 ] && [ $step_failed = 0 ]; then
		step_failed=1
		failures+=("$name: status $status without saying what failed")
	elif [ $((step_passed + step_failed + step_skipped)) = 0 ]; then
		step_failed=1
		failures+=("$name: it checked nothing")
	fi
	passed=$((passed + step_passed)) failed=$((failed + step_failed)) skipped=$((skipped + step_skipped))
	printf '   %d passed, %d failed, %d skipped, %d s\n' $step_passed $step_failed $step_skipped $((SECONDS - started))
}

# step TIER NAME LIMIT COMMAND: runs it, shows what is not a plain ok.
step() {
	local tier=$1 name=$2 limit=$3 log=$logs/$2.log status

	shift 3
	echo "== $name"
	started=$SECONDS
	timeout -k 10 "$limit" bash -c "$*" >"$log" 2>&1 </dev/null
	status=$?
	if [ $status != 0 ] && [ "$tier" = live ]; then
		mv "$log" "$log.first"
		repeats+=("$name: $(grep -m 1 '^not ok' "$log.first" || echo "status $status")")
		echo "   failed, once more: ${repeats[-1]}"
		timeout -k 10 "$limit" bash -c "$*" >"$log" 2>&1 </dev/null
		status=$?
	fi
	if [ $status = 0 ]; then
		grep -E '^not ok|# SKIP' "$log"
	else
		grep -vE '^ok ' "$log" | tail -n 60
	fi
	count "$name" "$log" "$status"
}

while read -r tier name limit command; do
	case $tier in
	'' | '#'*) continue ;;
	all) [ -n "$all" ] || continue ;;
	esac
	case $name in *"$only"*) ;; *) [ "$tier" = base ] || continue ;; esac
	step "$tier" "$name" "$limit" "$command"
	if [ "$tier" = base ] && [ $failed != 0 ]; then
		echo "Without $name the rest cannot run."
		break
	fi
done <test/list

[ ${#skips[@]} = 0 ] || printf '\nSKIPPED %d:\n' ${#skips[@]}
printf '  %s\n' ${skips+"${skips[@]}"} | sed '/^ *$/d'
[ ${#repeats[@]} = 0 ] || printf '\nREPEATED %d (failed at first):\n' ${#repeats[@]}
printf '  %s\n' ${repeats+"${repeats[@]}"} | sed '/^ *$/d'
[ ${#failures[@]} = 0 ] || printf '\nFAILED %d:\n' ${#failures[@]}
printf '  %s\n' ${failures+"${failures[@]}"} | sed '/^ *$/d'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ $((passed + skipped)) != 0 ]
