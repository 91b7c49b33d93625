#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# initramfs.sh ARCH FILE: all that a guest has: busybox, wick with its shared libraries, the victims, init and jobs.
set -eu
cd "$(dirname "$0")/../.."
arch=$1 file=$2

case $arch in
amd64)
	root='' triple=x86_64-linux-gnu build=build cc=gcc
	busybox=$(command -v busybox)
	;;
arm64)
	root=$(tools/cross-arm64.sh --sysroot)
	triple=aarch64-linux-gnu build=build/arm64 cc="aarch64-linux-gnu-gcc --sysroot=$root"
	busybox=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/busybox-arm64/bin/busybox
	[ -e "$busybox" ] || tools/debs.sh bookworm arm64 "${busybox%/bin/busybox}" busybox-static
	;;
esac
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/bin" "$stage/proc" "$stage/sys" "$stage/dev" "$stage/tmp" "$stage/root" \
	"$stage/var/cache" "$stage/etc" "$stage/bpf"
cp "$busybox" "$stage/bin/busybox"
cp test/vm/init "$stage/init"
cp test/vm/jobs "$stage/jobs"
echo 'root:x:0:0:root:/root:/bin/sh' >"$stage/etc/passwd"
"$triple-strip" -o "$stage/wick" "$build/wick"
find "$build/bpf" "$build/lang" "$build/kinds" -name '*.bpf.o' -exec cp {} "$stage/bpf" \; 2>/dev/null || true

# No frame pointers, and every call a call.
flags='-O2 -g -Wall -Wextra -Werror -fomit-frame-pointer -fno-optimize-sibling-calls'
victim() {
	output=$1
	shift
	# shellcheck disable=SC2086
	$cc $flags "$@" test/vm/victim.c -o "$stage/$output"
}
victim victim
victim victim-static -static

# What this machine cannot run by itself: signed return addresses, the unit tests, and runtimes.
if [ "$arch" = arm64 ]; then
	victim victim-pac -mbranch-protection=standard
	cp "$build/unit" "$stage/unit"
	mkdir "$stage/test"
	cp -r test/golden test/corpus "$stage/test"
	python=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/python-arm64
	if [ ! -e "$python/complete" ]; then
		tools/debs.sh bookworm arm64 "$python" python3.11-minimal libpython3.11-minimal libexpat1
		touch "$python/complete"
	fi
	cp -r "$python/lib" "$python/usr" "$stage"
	cp test/vm/victim.py "$stage"
fi

cp -r "$build/victims" "$stage/victims"
WICK_BUILD=$build test/vm/truth.py --script >"$stage/truth"

# shellcheck disable=SC2086
$cc -O2 -Wall -Wextra -Werror test/vm/programs.c -lbpf -o "$stage/programs"

# Shared libraries, followed from file to file.
add_library() {
	for dir in "/lib/$triple" "/usr/lib/$triple"; do
		[ -e "$root$dir/$1" ] || continue
		mkdir -p "$stage$dir"
		cp -L "$root$dir/$1" "$stage$dir/$1"
		add_needed "$stage$dir/$1"
		return
	done
	echo "initramfs.sh: $triple has no $1" >&2
	exit 1
}
add_needed() {
	for library in $(LC_ALL=C readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		case $library in libc.so | *musl*) continue ;; esac # musl
		[ -e "$stage/victims/$library" ] || [ -e "$stage/lib/$triple/$library" ] || [ -e "$stage/usr/lib/$triple/$library" ] || add_library "$library"
	done
}
add_needed "$stage/wick"
add_library libcurl.so.4 # opened when first needed
[ ! -e "$stage/unit" ] || add_needed "$stage/unit"
add_needed "$stage/programs"
[ ! -e "$stage/victim.py" ] || add_needed "$stage/usr/bin/python3.11"
add_needed "$stage/victim"
for victim in "$stage/victims"/*; do
	add_needed "$victim"
done

# The loaders that programs name; musl's is also its libc.
for program in "$stage/wick" "$stage/victims"/*; do
	LC_ALL=C readelf -l "$program" 2>/dev/null | sed -n 's/.*program interpreter: \(.*\)\]/\1/p'
done | sort -u | while read -r loader; do
	mkdir -p "$stage${loader%/*}"
	cp -L "$root$loader" "$stage$loader"
done

mkdir -p "${file%/*}"
(cd "$stage" && find . | cpio -o -H newc --quiet) >"$file"
