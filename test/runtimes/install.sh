#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh RUNTIME VERSION: gets a runtime for tests into the cache, if it is not there, and prints where it is.
# What cannot be had is told on standard error, with status 1.
set -eu
here=$(dirname "$(readlink -f "$0")")
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/runtimes
mkdir -p "$cache"

die() {
	echo "install.sh: $*" >&2
	exit 1
}

# JDK 17 is Debian's own (tools/deps.sh test); the others are Ubuntu's, whose C library is older than Debian's.
jdk() {
	if [ "$1" = 17 ]; then
		home=/usr/lib/jvm/java-17-openjdk-amd64
		[ -x $home/bin/java ] || die "no openjdk-17-jdk-headless: run tools/deps.sh test"
		echo $home
		return
	fi
	root=$cache/jdk-$1
	if [ ! -e "$root/done" ]; then
		rm -rf "$root"
		"$here/../../tools/debs.sh" jammy amd64 "$root" "openjdk-$1-jre-headless" >&2 || die "cannot get JDK $1"
		# Its configuration is linked to by absolute paths.
		find "$root" -type l | while read -r link; do
			case $(readlink "$link") in
			/etc/java*) ln -sfn "$root$(readlink "$link")" "$link" ;;
			esac
		done
		touch "$root/done"
	fi
	home=$root/usr/lib/jvm/java-$1-openjdk-amd64
	[ "$1" != 8 ] || home=$home/jre
	echo "$home"
}

# The judge of Java profiles: VERSION is its own.
async_profiler() {
	root=$cache/async-profiler-$1
	library=$root/linux-x64/libasyncProfiler.so
	if [ ! -e "$library" ]; then
		mkdir -p "$root"
		curl -sSfL --max-time 120 -o "$root/jar" \
			"https://repo1.maven.org/maven2/tools/profiler/async-profiler/$1/async-profiler-$1.jar" >&2 ||
			die "cannot get async-profiler $1"
		python3 -m zipfile -e "$root/jar" "$root" >&2
	fi
	[ -e "$library" ] || die "async-profiler $1 has no library for this machine"
	echo "$library"
}

case $1 in
jdk) jdk "$2" ;;
async-profiler) async_profiler "$2" ;;
*) die "no runtime $1" ;;
esac
