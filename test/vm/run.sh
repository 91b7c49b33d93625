#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [--all] [--unit] [KERNEL...]: boots the kernels of kernels.list (without arguments those marked "ci") under
# qemu, lets wick profile programs there whose stacks are known, and judges the profiles here. Prints TAP; what came
# from a guest stays in build/vm/KERNEL. --unit: only the verifier and, on arm64-6.1, the unit tests.
set -u
cd "$(dirname "$0")/../.." || exit
here=test/vm

BOOT_SECONDS=1200	# a guest that needs longer hangs
SAMPLES_MIN=300		# of about 3,000, on a shared machine that emulates two processors
WHOLE_PERCENT=99	# of the samples in a victim's code
SECONDS_OF_WAITS=6	# as in jobs
START_PERCENT=90	# of all samples of a victim: the rest is exec, the loader, exit

count=0 failed=0
report() { # report STATUS TEXT: one line of TAP
	count=$((count + 1))
	[ "$1" = 0 ] || { failed=$((failed + 1)); printf 'not '; }
	echo "ok $count - $2"
}
leave_out() { # leave_out TEXT: what cannot be had here
	count=$((count + 1))
	echo "ok $count - $1 # SKIP it cannot be fetched"
}
explain() { # explain FILE: at most 20 lines of it as TAP comments
	[ ! -s "$1" ] || cut -c 1-400 "$1" | head -n 20 | sed 's/^/#   /'
}

boot() { # boot ARCH CPU IMAGE INITRAMFS LOG
	case $1 in
	amd64) set -- "$5" qemu-system-x86_64 -M q35 -cpu "$2" -kernel "$3" -initrd "$4" -append console=ttyS0 ;;
	arm64) set -- "$5" qemu-system-aarch64 -M virt -cpu "$2" -kernel "$3" -initrd "$4" -append console=ttyAMA0 ;;
	esac
	log=$1
	shift
	append="$(eval echo "\${$#}") quiet panic=-1 unit=$unit jobs=$jobs"
	timeout $BOOT_SECONDS "$@" -accel tcg -smp 2 -m 1024 -nographic -no-reboot -net none -append "$append" \
		</dev/null >"$log" 2>&1
}

# judge DIR NAME CHAIN [ALL_PERCENT [WHOLE_PERCENT]]: is the profile NAME there, and does each stack match CHAIN?
judge() {
	dir=$1 name=$2 chain=$3 all_percent=${4:-$START_PERCENT} whole_percent=${5:-$WHOLE_PERCENT}
	if [ "$(cat "$dir/$name.status" 2>/dev/null)" != 0 ] || [ ! -s "$dir/$name.folded" ]; then
		report 1 "$kernel $name: wick record exits with $(cat "$dir/$name.status" 2>/dev/null)"
		explain "$dir/$name.err"
		return
	fi
	rm -f "$dir/$name.bad"
	# shellcheck disable=SC2046
	set -- $(awk -v chain="$chain" -v bad="$dir/$name.bad" -f $here/whole.awk "$dir/$name.folded")
	ok=1
	[ "$2" -lt $SAMPLES_MIN ] || [ $(($1 * 100)) -lt $(($2 * whole_percent)) ] ||
		[ $(($1 * 100)) -lt $(($3 * all_percent)) ] || ok=0
	report $ok "$kernel $name: $1 of $2 stacks whole, of $3 samples"
	[ $ok = 0 ] || { explain "$dir/$name.bad"; explain "$dir/$name.err"; }
}

judge_unit() { # judge_unit DIR
	[ "$(cat "$1/unit.status" 2>/dev/null)" = 0 ]
	ok=$?
	report $ok "$kernel unit: $(tail -n 1 "$1/unit.out")"
	[ $ok = 0 ] || { grep '^not ok' "$1/unit.out" >"$1/unit.bad"; explain "$1/unit.err"; explain "$1/unit.bad"; }
}

judge_truth() { # judge_truth DIR: each line of another test's TAP becomes one of ours
	machine=x86_64 build=build without=''
	[ "$arch" = amd64 ] || machine=aarch64 build=build/arm64
	# There fexecve() refuses a memfd.
	[ "$kernel" != amd64-5.10 ] || without=v-memfd
	WICK_BUILD=$build $here/truth.py "$1" $machine $without >"$1/truth.tap" 2>&1 || [ -s "$1/truth.tap" ]
	while IFS= read -r tap; do
		case $tap in
		'ok - '*) report 0 "$kernel ${tap#ok - }" ;;
		'not ok - '*) report 1 "$kernel ${tap#not ok - }" ;;
		*) echo "# $tap" | cut -c 1-400 ;;
		esac
	done <"$1/truth.tap"
	grep -q 'ok - ' "$1/truth.tap" || { report 1 "$kernel truth"; explain "$1/truth.err"; }
}

judge_all() { # judge_all DIR
	start='(^|;)_start;([^;]*;)([^;]*;)?main;'
	end='(;|$)'
	flat="victim_a;victim_b;victim_c;victim_spin$end"

	[ $unit = 0 ] || judge_unit "$1"
	[ "$(cat "$1/programs.status" 2>/dev/null)" = 0 ]
	report $? "$kernel programs"
	explain "$1/programs.out"
	[ $jobs = 1 ] || return

	for name in version doctor; do
		[ "$(cat "$1/$name.status" 2>/dev/null)" = 0 ]
		report $? "$kernel $name"
	done
	judge "$1" flat "$start$flat"
	# Until its tables are there, a stack is copied, and the copy does not hold 1000 frames.
	judge "$1" deep "${start}victim_deep[*]1000;victim_spin$end" 85 90
	judge "$1" signal "${start}victim_signal;(victim_spin;([^;]*;)*victim_handler;)?victim_spin$end"
	judge "$1" threads "(^|;)([^;]*;)?[^;]*;victim_thread;$flat"
	judge "$1" fork "${start}victim_fork;([^;]*;)*($flat|[^;]*fork)"
	for name in waits wall; do
		judge "$1" $name "${start}victim_waits;(([^;]*;)*victim_nap;|([^;]*;)*[^;]*(wait|fork|clone))"
		# It tells of all of their time, not only of what it has seen.
		awk -v all=$((2 * SECONDS_OF_WAITS)) '{ ns += $NF } END { exit ns < 0.9e9 * all || ns > 1.5e9 * all }' "$1/$name.folded"
		report $? "$kernel $name: two processes have waited for $SECONDS_OF_WAITS seconds each"
	done
	for name in probe_user probe_field probe_kernel; do
		judge "$1" $name "${start}victim_waits;([^;]*;)*victim_nap$end"
	done
	judge "$1" static "$start$flat"
	case $kernel in
	*-pac)
		grep -qw paca "$1/cpu.out"
		report $? "$kernel: the processor signs return addresses"
		;;
	esac
	case $kernel in
	arm64-*)
		judge "$1" pac "$start$flat"
		# Until it is taken up, its functions do not show.
		# Now and then the interpreter is on its way to the next function.
		on_the_way='([^v;][^;]*;)*[^v;][^;]*$'
		judge "$1" python ";PyEval_EvalCode;<module>;victim_main;victim_sort;($on_the_way|([^;]*;)+victim_key;($on_the_way|victim_spin$end))" 0
		;;
	esac
	judge "$1" running "$start$flat" 0
	judge "$1" pid "$start$flat"
	judge "$1" cgroup "$start$flat"
	judge_truth "$1"
}

try() { # try KERNEL
	kernel=$1
	line=$(awk -v name="$kernel" '$1 == name' $here/kernels.list)
	# shellcheck disable=SC2086
	set -- $line
	[ $# = 6 ] || { report 1 "$kernel: is not in kernels.list"; return; }
	arch=$2 cpu=$5 dir=build/vm/$kernel unit=0
	# One kernel of the architecture that cannot run them here is enough.
	[ "$kernel" != arm64-6.1 ] || unit=1
	rm -rf "$dir"
	mkdir -p "$dir"
	image=$($here/kernels.sh "$kernel") || { leave_out "$kernel"; return; }
	[ "$arch" = amd64 ] || tools/cross-arm64.sh --sysroot >/dev/null || { leave_out "$kernel: libraries"; return; }
	$here/initramfs.sh "$arch" "$dir/initramfs.cpio" || { report 1 "$kernel: no initramfs"; return; }
	boot "$arch" "$cpu" "$image" "$dir/initramfs.cpio" "$dir/console.log"
	tr -d '\r' <"$dir/console.log" | sed -n 's/^@@//p' >"$dir/base64"
	if [ "$(tail -n 1 "$dir/base64")" != "done" ]; then
		report 1 "$kernel: boots, runs and powers off"
		tail -n 20 "$dir/console.log" >"$dir/end.log"
		explain "$dir/end.log"
		return
	fi
	sed '$d' "$dir/base64" | base64 -d | tar -xz -C "$dir"
	report $? "$kernel: boots, runs and powers off"
	judge_all "$dir"
}

[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP the guests are built on x86-64"; exit 0; }
when=ci jobs=1
while :; do
	case ${1:-} in
	--all) when=all ;;
	--unit) jobs=0 ;;
	*) break ;;
	esac
	shift
done
# shellcheck disable=SC2046
[ $# != 0 ] || set -- $(awk -v when=$when '!/^#/ && NF && (when == "all" || $6 == when) { print $1 }' $here/kernels.list)

{
	make -s -j2 build/wick
	make -s -j2 -C test/victims O="$PWD/build/victims"
	case "$*" in
	*arm64*)
		tools/cross-arm64.sh -s -j2 build/arm64/wick build/arm64/unit &&
			tools/cross-arm64.sh --victims
		;;
	esac
} >&2
# Emulation on a busy machine can starve a guest for seconds: what fails is tried once more, and told of either way.
for guest; do
	before=$failed
	first=$(mktemp)
	try "$guest" >"$first"
	if [ "$failed" != "$before" ]; then
		echo "# $guest is booted once more; what failed the first time:"
		sed -n '/^not ok/,/^ok/{/^ok/!s/^/#   /p}' "$first"
		count=$((count - $(grep -cE '^(not )?ok' "$first"))) failed=$before
		try "$guest"
	else
		cat "$first"
	fi
	rm -f "$first"
done
echo "1..$count"
[ $failed = 0 ]
