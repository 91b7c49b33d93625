#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `wick top` on a real terminal (tmux): draws, obeys keys, follows the size, gives the terminal back however it ends.
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
profile=$ROOT/test/golden/otlp/ebpf-profiler-go.bin
socket=wick-top-$$
unset NO_COLOR TMUX

if ! command -v tmux >/dev/null; then
	skip 'top' 'no tmux'
	finish
fi
tmux -f /dev/null -L $socket new-session -d -x 90 -y 20 'PS1="ready " sh' || exit 1
trap 'tmux -L $socket kill-server 2>/dev/null; rm -rf "$WORK"' EXIT

pane() {
	tmux -L $socket capture-pane -p
}
keys() {
	tmux -L $socket send-keys "$@"
}
# until NAME PATTERN: the pane shows the pattern within 10 s.
until_shown() {
	for _ in $(seq 100); do
		pane | grep -q -- "$2" && break
		sleep 0.1
	done
	pane >"$WORK/pane"
	check "$1" grep -q -- "$2" "$WORK/pane"
}
top() {
	keys "clear; '$WICK' top $*; echo status=\$?; stty -a | tr ' ' '\\n' | grep icanon" Enter
}

until_shown 'the terminal is there' ready
top "$profile"
until_shown 'functions are shown' 'slices.partitionOrdered'
until_shown 'the last line has the keys' '^q quit'
check 'the screen is filled exactly' test "$(pane | wc -l)" = 20
keys p
until_shown 'p shows processes' '28044 goload.bin'
keys t
until_shown 't shows threads' 'by thread'
keys e
until_shown 'e shows executables' 'by executable'
keys f / f i b Enter
until_shown '/ filters' 'filter: fib'
until_shown '... the rows' 'main.fib'
check '... all of them' sh -c "! grep -q partitionOrdered '$WORK/pane'"
keys / Escape
until_shown 'Escape shows all rows again' 'slices.partitionOrdered'
keys Space
until_shown 'space pauses' 'paused'
keys '?'
until_shown '? helps' 'source lines'
keys '?' Space End
until_shown 'end scrolls to the last row' '0.00%'
keys Home
tmux -L $socket resize-window -x 60 -y 12
until_shown 'it follows the size of the terminal' 'q quit.*\.\.\.$'
check '... and fills it' test "$(pane | awk 'length > 60 { exit 1 } END { print NR }')" = 12
tmux -L $socket resize-window -x 90 -y 20
keys q
until_shown 'q quits' 'status=0'
until_shown '... and gives the terminal back' '^icanon'

for signal in INT TERM HUP; do
	top "$profile"
	until_shown "it runs before SIG$signal" '^q quit'
	pkill -$signal -P "$(tmux -L $socket display-message -p '#{pane_pid}')" wick
	until_shown "SIG$signal ends it" 'status=0'
	until_shown '... and gives the terminal back' '^icanon'
done
top "$profile"
until_shown 'it runs before SIGSEGV' '^q quit'
pkill -SEGV -P "$(tmux -L $socket display-message -p '#{pane_pid}')" wick
until_shown 'even a crash' 'status=139'
until_shown '... gives the terminal back' '^icanon'
top "$profile"
until_shown 'it runs before Ctrl-Z' '^q quit'
keys C-z
until_shown 'Ctrl-Z stops it' 'ready'
keys fg Enter
until_shown 'fg brings it back' '^q quit'
keys q

"$WICK" top -b --limit 3 "$profile" >"$WORK/batch" </dev/null
check 'a file in batch mode is one table' test "$(wc -l <"$WORK/batch")" = 7
if is_root; then
	"$WICK" top -b -n 2 -d 0.5 --limit 5 >"$WORK/batch" </dev/null
	check 'batch mode prints as many windows as asked for' test "$(grep -c '^wick top' "$WORK/batch")" = 2
	check 'without escape sequences' sh -c "! grep -q '$(printf '\033')' '$WORK/batch'"
	top '-d 0.5'
	until_shown 'live: windows come' 'samples, .* whole stacks'
	keys q
	until_shown 'live: q quits' 'status=0'
else
	skip 'top on this machine' 'not root'
fi
finish
