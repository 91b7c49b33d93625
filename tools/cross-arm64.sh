#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cross-arm64.sh [TARGET...]: builds wick for arm64 into build/arm64 with Debian's cross compiler. The arm64 libraries
# come into a directory of their own; this machine gets no foreign architecture.
# cross-arm64.sh --victims: builds the victims of the tests into build/arm64/victims.
# cross-arm64.sh --sysroot: only says where that directory is, after filling it.
set -eu
cd "$(dirname "$0")/.."

libraries='libc6-dev linux-libc-dev libbpf-dev libelf-dev libdw-dev liblzma-dev libiberty-dev zlib1g-dev libzstd-dev
libxxhash-dev libcurl4-openssl-dev libssl-dev libnghttp2-dev libyaml-dev libsqlite3-dev libpcre2-dev
libseccomp-dev libstdc++6'
sysroot=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/sysroot-arm64

# The list of libraries is the stamp: a new dependency fills the directory anew.
fill_sysroot() {
	[ "$(cat "$sysroot/.complete" 2>/dev/null)" != "$libraries" ] || return 0
	rm -rf "$sysroot"
	# shellcheck disable=SC2086
	tools/debs.sh --deps bookworm arm64 "$sysroot" $libraries
	# Links to /lib/... would lead to this machine's libraries.
	find "$sysroot" -type l -lname '/*' | while read -r link; do
		ln -snf "$sysroot$(readlink "$link")" "$link"
	done
	echo "$libraries" >"$sysroot/.complete"
}

# The programs that tests profile; what needs another compiler than gcc is left out.
cross_victims() {
	${MAKE:-make} -s -C test/victims O="$PWD/build/arm64/victims" X86='' CROSS_gcc="aarch64-linux-gnu-gcc --sysroot=$sysroot" \
		CROSS_strip=aarch64-linux-gnu-strip CROSS_clang=none CROSS_musl-gcc=none CROSS_rustc=none \
		CXX="aarch64-linux-gnu-g++ --sysroot=$sysroot -nostdinc++ -isystem /usr/aarch64-linux-gnu/include/c++/12"
}

cross_make() {
	TARGET=aarch64-linux-gnu ${MAKE:-make} O=build/arm64 TRIPLE=aarch64-linux-gnu CC="aarch64-linux-gnu-gcc --sysroot=$sysroot" \
		ROOT_OF_LIBRARIES="$sysroot" "$@"
}

case ${1:-} in
--sysroot)
	fill_sysroot
	echo "$sysroot"
	;;
--victims)
	fill_sysroot
	cross_victims
	;;
*)
	fill_sysroot
	cross_make "${@:-all}"
	;;
esac
