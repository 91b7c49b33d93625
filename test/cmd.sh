#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the commands that need no privilege print, against test/golden/cmd/*.txt. UPDATE=1 writes those anew: read the
# difference before you commit it.
. "$(dirname "$0")/lib.sh"
cd "$ROOT/test/golden/cmd" || exit 1
unset NO_COLOR SUDO_UID SUDO_GID
export LC_ALL=C TZ=UTC TERM=xterm

# golden NAME STATUS ARGUMENTS...: wick's output, error output and exit status are as NAME.txt says.
golden() {
	golden_name=$1 golden_status=$2
	shift 2
	"$WICK" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null
	golden_got=$?
	{
		echo "\$ wick $*"
		cat "$WORK/out"
		sed 's/^/stderr: /' "$WORK/err"
	} >"$WORK/$golden_name.txt"
	[ -z "${UPDATE:-}" ] || cp "$WORK/$golden_name.txt" "$golden_name.txt"
	check "$golden_name: wick $*" diff -u "$golden_name.txt" "$WORK/$golden_name.txt"
	check "$golden_name: exit status $golden_status" test "$golden_got" = "$golden_status"
}

# json NAME ARGUMENTS...: what is printed parses.
json() {
	json_name=$1
	shift
	"$WICK" "$@" >"$WORK/$json_name.json"
	check "$json_name is JSON: wick $*" python3 -m json.tool "$WORK/$json_name.json"
}

# no_controls FILE: nothing in it can move a cursor.
no_controls() {
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80[\xaa-\xae]' "$1"
}

golden help 0 --help
golden help-report 0 help report
golden help-convert 0 convert --help
check 'the version is that of the file VERSION' test "$("$WICK" --version)" = "wick $(cat "$ROOT/VERSION")"
golden unknown-command 1 reprot
golden unknown-option 1 report --tre before.json
golden bad-value 1 report --min-percent 101 before.json
golden bad-choice 1 report --by proces before.json
golden bad-format 1 convert --format=pprf before.json out
golden no-format 1 convert before.json out.xyz
golden missing-operand 1 diff before.json
golden missing-file 1 report nowhere.pb.gz
golden not-a-profile 1 report no-profile.bin

golden report 0 report before.json
golden report-limit 0 report -n 2 before.json
golden report-physical 0 report --no-inline before.json
golden report-line 0 report --by line before.json
golden report-executable 0 report --by executable before.json
golden report-process 0 report --by=process before.json
golden report-thread 0 report -b thread before.json
golden report-tree 0 report --tree before.json
golden report-tree-process 0 report --tree --by process --min-percent=5 before.json
golden report-json 0 report --json before.json
golden report-tree-json 0 report --tree --json --by thread before.json
golden report-focus 0 report --focus handle --ignore '/^mem/' before.json
golden report-hide-tree 0 report --tree --hide kind=kernel --collapse before.json
golden bad-focus 1 report --focus '/(/' before.json
golden report-type 1 report --type colour before.json
golden diff 0 diff before.json after.json
golden diff-total 0 diff --total -n 4 before.json after.json
golden diff-executable 0 diff --by executable before.json after.json
golden diff-json 0 diff --json -n 2 before.json after.json

json report report --json before.json
json report-tree report --json --tree before.json
json diff diff --json before.json after.json
json doctor doctor --json

for view in '' --tree '--by thread' '--by line' --json; do
	# shellcheck disable=SC2086
	"$WICK" report $view before.json >"$WORK/view"
	check "hostile names are escaped: report $view" no_controls "$WORK/view"
done

# Leaving out what is not there goes by the call tree, and is to say the same.
for view in '' '--by process' '--by thread' '--by line' '--by executable' --no-inline --json --tree '--tree --by executable'; do
	# shellcheck disable=SC2086
	"$WICK" report $view before.json >"$WORK/whole"
	# shellcheck disable=SC2086
	"$WICK" report $view --ignore nothing-like-it before.json >"$WORK/narrowed"
	check "the tree adds up to the table: report $view" cmp "$WORK/whole" "$WORK/narrowed"
done

# Every format holds what the table of functions needs, in both directions and through pipes.
for format in otlp json pprof folded; do
	# A folded line starts with the process, and has at least one frame.
	left_out=
	[ $format != folded ] || left_out='nostack server worker'
	"$WICK" convert before.json - --format=$format >"$WORK/piped.$format"
	"$WICK" convert --from=$format - "$WORK/back.otlp" <"$WORK/piped.$format"
	"$WICK" report --json "$WORK/back.otlp" >"$WORK/$format.json"
	# shellcheck disable=SC2086
	check "convert keeps the functions through $format" \
		python3 "$ROOT/test/same_functions.py" "$WORK/report.json" "$WORK/$format.json" $left_out
done
for suffix in otlp json pb.gz folded folded.gz otlp.zst; do
	check "convert writes .$suffix" "$WICK" convert before.json "$WORK/named.$suffix"
	check "report reads .$suffix" "$WICK" report "$WORK/named.$suffix"
	check ".$suffix is private" test "$(stat -c %a "$WORK/named.$suffix")" = 600
done

check 'a closed pipe is not success' sh -c "! '$WICK' report before.json >/dev/full"
check 'no colour without a terminal' no_controls "$WORK/report.txt"
# script(1) gives a terminal of 80 columns.
script -qec "stty cols 80 rows 24; '$WICK' report before.json" /dev/null </dev/null >"$WORK/terminal" 2>&1
check 'colour on a terminal' grep -q "$(printf '\033')" "$WORK/terminal"
NO_COLOR=1 script -qec "stty cols 80 rows 24; '$WICK' report before.json" /dev/null </dev/null | tr -d '\r' >"$WORK/terminal"
check 'no colour with NO_COLOR' no_controls "$WORK/terminal"
check 'lines fit the terminal' awk 'length > 80 { exit 1 }' "$WORK/terminal"
if command -v mandoc >/dev/null; then
	check 'the manual page is well formed' mandoc -Tlint -Wwarning "$ROOT/docs/man/wick.1"
else
	skip 'the manual page is well formed' 'no mandoc'
fi
finish
