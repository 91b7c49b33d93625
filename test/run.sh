#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--all] [--list FILE] [NAME]: what `make test` does once everything is installed. Runs the steps of test/list, or those
# whose name contains NAME; --all adds the long ones. Every step prints TAP; its whole output is kept in build/test-logs.
# Two lanes run beside each other, each in the order of the list: the `live` steps, which watch this machine, one at a time,
# and, with what they leave of the CPUs, the `test` steps, which do not. LANES=1: one after the other. The `quiet` steps come
# when both are done: they measure what wick itself uses, which is more on a machine where others drive it out of the caches.
# A `live` or `quiet` step that fails runs once more, when nothing else does, since others share the machine that it watches. One that
# passes then is told of, with its cause from test/FLAKY; more than three of them are a failure.
# What a step leaves running is ended when it ends.
# The last line is `N passed, M failed, K skipped`; the status is 1 if something failed or nothing ran. build/test-logs/times
# has a line for each step: its name, seconds, seconds of CPU time, and what passed, failed and was skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
export WICK_BUILD=${O:-$PWD/build}
logs=$WICK_BUILD/test-logs
lanes=${LANES:-$(nproc)}
mkdir -p "$logs"
state=$(mktemp -d) || exit 1
run=$$-$RANDOM
SLOWEST_SHOWN=12
LAST_LINES=8		# of a step that failed without saying what
REPEATS_MAX=3		# steps that pass at their second try only; with more of them a run has failed

all='' list=test/list
while :; do
	case ${1:-} in
	--all) all=all ;;
	--list)
		list=$2
		shift
		;;
	*) break ;;
	esac
	shift
done
only=${1:-}

# end_left MARK: ends the processes that have it in their environment, in whatever session they are, and names them.
end_left() {
	local environ pid
	for environ in $(grep -lszxF "$1" /proc/[0-9]*/environ); do
		pid=${environ//[!0-9]/}
		echo "# left running: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid"
	done 2>/dev/null
}

finish() {
	end_left "WICK_TEST_RUN=$run" >/dev/null
	rm -rf "$state"
}
trap finish EXIT
# shellcheck disable=SC2046
trap 'kill $(jobs -p) 2>/dev/null; exit 1' INT TERM HUP

# count NAME LOG STATUS: adds one step's TAP to the totals.
count() {
	local name=$1 log=$2 status=$3 line step_passed=0 step_failed=0 step_skipped=0 cpu

	while IFS= read -r line; do
		case $line in
		'not ok '*)
			step_failed=$((step_failed + 1))
			echo "$name: ${line#not ok }" >>"$state/failures"
			;;
		'ok '*'# SKIP'* | '1..0 # SKIP'*)
			step_skipped=$((step_skipped + 1))
			echo "$name: ${line#ok }" >>"$state/skips"
			;;
		'ok '*) step_passed=$((step_passed + 1)) ;;
		esac
	done <"$log"
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		step_failed=$((step_failed + 1))
		echo "$name: ended by its time limit" >>"$state/failures"
	elif [ "$status" != 0 ] && [ $step_failed = 0 ]; then
		step_failed=1
		{
			echo "$name: status $status, and the last it said was"
			tail -n $LAST_LINES "$log" | sed 's/^/    /'
		} >>"$state/failures"
	elif [ $((step_passed + step_failed + step_skipped)) = 0 ]; then
		step_failed=1
		echo "$name: it checked nothing" >>"$state/failures"
	fi
	cpu=$(awk '{ s += $1 + $2 } END { printf "%d", s + 0.5 }' "$state/$name.cpu")
	echo "$name $seconds $cpu $step_passed $step_failed $step_skipped" >>"$state/times"
	printf '   %d passed, %d failed, %d skipped, %d s (CPU %d s)\n' $step_passed $step_failed $step_skipped $seconds "$cpu"
}

# attempt NAME LIMIT LOG COMMAND: runs it to its end or limit.
attempt() {
	local name=$1 limit=$2 log=$3 status started=$SECONDS TIMEFORMAT='%U %S'
	{
		time WICK_TEST_RUN=$run WICK_TEST_STEP=$run-$name timeout -k 10 "$limit" bash -c "$4" >"$log" 2>&1 </dev/null
	} 2>>"$state/$name.cpu"
	status=$?
	seconds=$((SECONDS - started))
	end_left "WICK_TEST_STEP=$run-$name" | tee -a "$log" | sed "s/^# left running: /$name: /" >>"$state/left"
	return $status
}

# step TIER NAME LIMIT COMMAND: runs it, shows what is not a plain ok, or puts it off.
step() {
	local tier=$1 name=$2 limit=$3 command=$4 log=$logs/$2.log status seconds reason

	attempt "$name" "$limit" "$log" "$command"
	status=$?
	echo "== $name"
	if [ $status != 0 ] && [[ $tier = live || $tier = quiet ]]; then
		mv "$log" "$log.first"
		reason=$(grep -m 1 '^not ok' "$log.first" || echo "status $status")
		printf '%s\t%s\n' "$name" "$reason" >>"$state/repeats"
		echo "once $name $limit $command" >>"$state/again"
		echo "   failed after $seconds s, will run once more: $reason"
		tail -n $LAST_LINES "$log.first" | sed 's/^/     /'
		return
	fi
	if [ $status = 0 ]; then
		grep -E '^not ok|# SKIP' "$log"
	else
		grep -vE '^ok ' "$log" | tail -n 60
	fi
	count "$name" "$log" "$status"
}

# steps: those of standard input. What each one says comes out whole.
steps() {
	local tier name limit command
	while read -r tier name limit command; do
		step "$tier" "$name" "$limit" "$command" >"$state/$name.text"
		flock "$state" cat "$state/$name.text"
	done
}

# chosen TIER: its lines of the list. What everything needs is always among them.
chosen() {
	awk -v tier="$1" -v only="$only" '$1 == tier && (tier == "base" || only == "" || index($2, only))' "$list"
}

# told TITLE FILE: what was gathered there, if anything.
told() {
	[ -s "$state/$2" ] || return 0
	printf '\n%s %d:\n' "$1" "$(grep -c '^[^ ]' "$state/$2")"
	sed 's/^/  /' "$state/$2"
}

# missed TIER ...: a step whose lane has died has failed.
missed() {
	local tier name
	for tier; do
		chosen "$tier"
	done | while read -r _ name _; do
		grep -q "^$name " "$state/times" && continue
		echo "$name: it did not run" >>"$state/failures"
		echo "$name 0 0 0 1 0" >>"$state/times"
	done
}

# judge_repeats: those that passed at their second try, with what test/FLAKY says of each; too many are a failure.
judge_repeats() {
	local name reason cause many=0
	[ -s "$state/repeats" ] || return 0
	while IFS=$'\t' read -r name reason; do
		awk -v name="$name" '$1 == name && $5 == 0 { found = 1 } END { exit !found }' "$state/times" || continue
		many=$((many + 1))
		cause=$(sed -n "s/^$name:[[:space:]]*//p" test/FLAKY)
		echo "$name: $reason"
		echo "    ${cause:-its cause is not in test/FLAKY: find it, and write it there}"
	done <"$state/repeats" >"$state/flaky"
	[ $many -gt $REPEATS_MAX ] || return 0
	echo "repeats: $many steps passed at their second try only, more than $REPEATS_MAX" >>"$state/failures"
	echo "repeats 0 0 0 1 0" >>"$state/times"
}

# run_lanes: all steps but the base.
run_lanes() {
	(
		renice -n 5 $BASHPID >/dev/null
		steps < <(chosen test)
	) &
	[ "$lanes" -gt 1 ] || wait
	steps < <(chosen live) &
	wait
	steps < <(chosen quiet) &
	wait
	[ -z "$all" ] || { steps < <(chosen all) & }
	wait
	[ ! -s "$state/again" ] || { steps <"$state/again" & }
	wait
	missed test live quiet $all
	judge_repeats
}

# summary: the totals, and what a reader should know of.
summary() {
	cp "$state/times" "$logs/times"
	printf '\nSLOWEST of %d s (CPU %d s):\n' $SECONDS "$(awk '{ s += $3 } END { print s + 0 }' "$state/times")"
	sort -k 2nr "$state/times" | head -n $SLOWEST_SHOWN | awk '{ printf "  %-12s %4d s (CPU %d s)\n", $1, $2, $3 }'
	told SKIPPED skips
	told 'LEFT RUNNING, and ended,' left
	told 'PASSED AT THE SECOND TRY ONLY' flaky
	told FAILED failures
	awk '{ p += $4; f += $5; s += $6 } END { print p + 0 " passed, " f + 0 " failed, " s + 0 " skipped"; exit f != 0 || p + s == 0 }' \
		"$state/times"
}

main() {
	: >"$state/times"
	if ! awk '{ print $2 }' "$list" | grep -qF -- "$only"; then
		echo "No step of $list has $only in its name."
		exit 1
	fi
	steps < <(chosen base) &
	wait
	missed base
	if [ -s "$state/failures" ]; then
		echo "Without $(sed -n 's/:.*//p;q' "$state/failures") the rest cannot run."
	else
		run_lanes
	fi
	summary
	exit
}
main
