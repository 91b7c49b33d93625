#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fresh.sh [SUITE]: does README.md's way hold on a machine that never had wick? Makes a bare Debian root (debootstrap), and
# in it does what README.md says and nothing else: installs git, make and ca-certificates, clones the commit that is checked
# out, runs what `make run` and `make test` install, then builds all that `make test` builds and runs its steps that need
# neither other projects nor a kernel of their own. The root goes when it ends, unless KEEP=1.
# FRESH_STEPS names other steps of test/list.
set -eu
cd "$(dirname "$0")/.."
suite=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
steps=${FRESH_STEPS:-lint unit commands config sanitized fuzz rows}
root=$(mktemp -d "${TMPDIR:-/tmp}/wick-fresh-XXXXXX")
log=$PWD/${O:-build}/test-logs/fresh.log
mkdir -p "$(dirname "$log")"
: >"$log"
[ "$(id -u)" = 0 ] || { echo "fresh.sh needs root, for debootstrap and chroot" >&2; exit 1; }

finish() {
	for at in sys dev/pts dev proc; do
		! mountpoint -q "$root/$at" || umount -l "$root/$at"
	done
	[ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
}
trap finish EXIT

# stage TEXT COMMAND...: one TAP line, and the last lines of what it said if it failed.
passed=0
stage() {
	local text=$1 before
	shift
	before=$(wc -l <"$log")
	if "$@" >>"$log" 2>&1 </dev/null; then
		passed=$((passed + 1))
		echo "ok - fresh: $text"
	else
		tail -n "+$((before + 1))" "$log" | tail -n 25 | sed 's/^/# /'
		echo "not ok - fresh: $text"
		echo "$passed passed, 1 failed, 0 skipped"
		exit 1
	fi
}

# A login of root's own there: nothing of this shell's environment but how registries are reached.
inside() {
	env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		chroot "$root" /bin/bash -c "cd /root && $1"
}

make_root() {
	debootstrap --variant=minbase "$suite" "$root" "${MIRROR:-http://deb.debian.org/debian}"
	# How this machine reaches its packages is the machine's own, as on any other.
	cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
	rm -f "$root/etc/apt/apt.conf.d/"*docker*
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --make-rslave "$root/dev"
	mount --rbind /sys "$root/sys"
	mount --make-rslave "$root/sys"
}

clone() {
	git bundle create -q "$root/root/wick.bundle" HEAD
	inside 'git clone -q -b HEAD wick.bundle wick 2>/dev/null || git clone -q wick.bundle wick'
}

stage "a bare $suite root" make_root
stage 'what README.md wants first' inside 'apt-get update -qq && apt-get install -y -qq git make ca-certificates'
stage 'a clone' clone
stage 'make without its tools says what installs them' inside 'cd wick && ! make >out 2>&1 && cat out && grep -q "make deps" out'
stage 'make deps, make: what make run does first' inside 'cd wick && make deps && make -j2 && build/wick --version'
stage 'what make test installs' inside 'cd wick && tools/deps.sh build test kernels'
stage 'make test, its builds' inside 'cd wick && make -j2 test-build && make -j2 -C test/victims O=$PWD/build/victims'
for step in $steps; do
	stage "make test TEST=$step" inside "cd wick && grep -E '^(base|[a-z]+ +$step )' test/list >fresh.list && test/run.sh --list fresh.list"
done
echo "$passed passed, 0 failed, 0 skipped"
