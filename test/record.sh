#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How `wick record` starts, ends and reports: commands and their status, signals, filters, where it writes.
. "$(dirname "$0")/lib.sh"
cd "$WORK" || exit 1
unset SUDO_UID SUDO_GID

if ! is_root; then
	skip 'record' 'not root'
	finish
fi

# status WANT COMMAND...: the exit status is as wanted.
status() {
	status_want=$1
	shift
	"$@" >/dev/null 2>"$WORK/err"
	status_got=$?
	[ $status_got = "$status_want" ] || { echo "status $status_got"; cat "$WORK/err"; return 1; }
}

# rows FILE [OPTIONS]: what the report lists.
rows() {
	"$WICK" report --json "$@" | python3 -c 'import json, sys; [print(r["name"]) for r in json.load(sys.stdin)["rows"]]'
}

cat >burn.sh <<'END'
i=0
while [ $i -lt ${1:-200000} ]; do i=$((i + 1)); done
exit ${2:-0}
END

# On a machine that does nothing there may be nothing to sample.
sh burn.sh 1000000000 &
busy=$!
check 'a recording ends with its time' status 0 "$WICK" record -d 1 -o time.otlp
check 'it has samples' sh -c "[ -n \"\$('$WICK' report --json time.otlp | grep -o '\"name\"' | head -n 1)\" ]"
check 'the file is private' test "$(stat -c %a time.otlp)" = 600
SUDO_UID=65534 SUDO_GID=65534 "$WICK" record -q -d 0.1 -o owned.otlp
check 'the file belongs to the user of sudo' test "$(stat -c %u:%g owned.otlp)" = 65534:65534

check 'a process that does not exist is an error' status 1 "$WICK" record -d 1 -p 4194303 -o nobody.otlp
check '... which names it' grep -q 'there is no process 4194303' "$WORK/err"
check "a command's status is returned" status 7 "$WICK" record -F 997 -o command.pb.gz -- sh burn.sh 200000 7
check 'a signal is a status, too' status 143 "$WICK" record -q -o signal.pb.gz -- sh -c 'kill -TERM $$'
check 'a command that does not exist: 127' status 127 "$WICK" record -o none.pb.gz -- /nonexistent/command
check '... and nothing is written' test ! -e none.pb.gz
check 'only the command is sampled' test "$(rows command.pb.gz --by process | sort -u)" = "$(basename "$(readlink -f /bin/sh)")"
check 'options after the command are its own' status 3 "$WICK" record -q -o own.pb.gz sh -c 'exit 3' -d
check 'a format that the profile does not suit fails' status 1 "$WICK" record -q -F 997 -o none.afdo -- "${WICK%/*}/victims/v-bare" 0.3
check '... and what was recorded is kept' sh -c "'$WICK' report -n 1 none.afdo.otlp"
"$WICK" record -q -F 997 -o children.pb.gz -- sh -c 'sh burn.sh & perl -e "1 for 1..5e6" & wait'
check 'descendants are sampled' sh -c "'$WICK' report --by process children.pb.gz | grep -q perl"

"$WICK" record -d 100 -o interrupted.pb.gz 2>interrupted.err &
pid=$!
sleep 1.5
kill -INT $pid
wait $pid
check 'Ctrl-C is a normal end' test $? = 0
check 'Ctrl-C keeps what was taken' sh -c "'$WICK' report -n 1 interrupted.pb.gz"
check 'counters are shown by name' grep -q 'ticks  *clock ticks' interrupted.err
kill $busy

"$WICK" record -d 100 -o forwarded.pb.gz -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.1; done' 2>/dev/null &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
check 'a signal is passed on to the command' test $? = 9
check '... and the profile is written' test -s forwarded.pb.gz

sh burn.sh 100000000 &
burn=$!
"$WICK" record -q -F 199 -d 1 -p $burn -o pid.pb.gz
check '-p samples that process only' test "$("$WICK" report --json --by process pid.pb.gz | grep -c '"pid"')" = 1
sh burn.sh 300000 &
ends=$!
check '-p ends with the last of its processes' status 0 timeout 120 "$WICK" record -p $ends -o ended.pb.gz
check '-p and a command exclude each other' status 1 "$WICK" record -p $burn -o x.pb.gz -- true
kill $burn

"$WICK" record -q -F 199 -o - --format=folded -- sh burn.sh >pipe.folded
check '-o - writes to a pipe' grep -q ' [0-9][0-9]*$' pipe.folded
"$WICK" record -q -F 199 -o - -- sh burn.sh >pipe.pb.gz
check '-o - is pprof unless told otherwise' "$WICK" report --from=pprof pipe.pb.gz
for suffix in otlp json pb.gz folded; do
	"$WICK" record -q -F 199 -o format.$suffix -- sh burn.sh
	check "record writes .$suffix" sh -c "[ \"\$('$WICK' report -n 1 format.$suffix | wc -l)\" -ge 4 ]"
done
check 'a file that cannot be written is refused at once' status 1 timeout 5 "$WICK" record -o /nonexistent/x.pb.gz
check 'a name without a format is refused' status 1 "$WICK" record -d 1 -o out.xyz
check 'a frequency out of range is refused' status 1 "$WICK" record -F 10001
check '-q says nothing' sh -c "[ -z \"\$('$WICK' record -q -d 0.1 -o quiet.otlp 2>&1)\" ]"
check '-v tells when the first sample came' sh -c "'$WICK' record -v -F 997 -o v.otlp -- sh burn.sh 2>&1 | grep -q 'first sample after'"

# Several at once do not disturb each other.
"$WICK" record -q -d 1 -F 99 -o one.otlp &
one=$!
"$WICK" record -q -d 1 -F 199 -o two.otlp
two=$?
wait $one
check 'several wicks run at once' test "$?$two" = 00

# Wheels of Python have libraries without a build id, large ones. Now and then the child is sampled before it calls exec,
# as wick itself, whose files are in the cache: then once more.
cat >plain.c <<'END'
#include <time.h>
const volatile int attempt = ATTEMPT;
int main(void) { while (clock() < CLOCKS_PER_SEC / 4) continue; return 0; }
END
record_plain() {
	"$WICK" record -F 199 -o plain.otlp -- ./plain 2>plain.err
	grep -q ' 2  files_opened' plain.err # and the kernel's, which is in every process
}
for attempt in 1 2 3 4 5; do
	cc -O2 -static -Wl,--build-id=none -DATTEMPT=$attempt -o plain plain.c
	! record_plain || break
done
check 'rows of a new file are not in the cache' sh -c '! grep -q rows_from_cache plain.err'
for _ in 1 2 3 4 5; do
	! record_plain || break
done
check '... and are from then on, whether or not it has a build id' grep -q '1  rows_from_cache' plain.err

# Root's with nothing but what the documents name.
few='-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog,+checkpoint_restore'
check 'the capabilities that are named are enough' setpriv --bounding-set "$few" --no-new-privs \
	"$WICK" record -q -F 199 -o few.otlp -- sh burn.sh
check '... for named stacks' sh -c "'$WICK' report few.otlp | grep -q main"

# A group of our own, in each version of the hierarchy that there is.
cgroup_of() {
	group=$1/wick-test-$$
	mkdir "$group" || return 1
	sh -c 'echo $$ >"$1/cgroup.procs" && exec sh burn.sh 100000000' sh "$group" &
	burn=$!
	sleep 0.2
	"$WICK" record -q -F 199 -d 1 --cgroup "$group" -o cgroup.otlp
	r=$?
	kill $burn
	wait $burn
	rmdir "$group"
	[ $r = 0 ] && [ "$("$WICK" report --json --by process cgroup.otlp | grep -c '"pid"')" = 1 ]
}
for type in cgroup cgroup2; do
	mount=$(awk -v type=$type '$3 == type && (type == "cgroup2" || $4 ~ /(^|,)cpu(,|$)/) { print $2; exit }' /proc/mounts)
	if [ -n "$mount" ] && [ -w "$mount" ]; then
		check "--cgroup of $type samples its processes only" cgroup_of "$mount"
	else
		skip "--cgroup of $type" 'none is mounted that can be written to'
	fi
done

nobody="setpriv --reuid 65534 --clear-groups --inh-caps=-all --bounding-set=-all"
chmod 755 "$WORK"
$nobody "$WICK" record -d 1 -o /tmp/never.otlp 2>denied.err
check 'without privilege: status 1' test $? = 1
check '... and one sentence with what to do' grep -q 'CAP_BPF.*setcap' denied.err
check '... of one line' test "$(wc -l <denied.err)" = 1
finish
