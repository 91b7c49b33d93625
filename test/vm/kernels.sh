#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernels.sh NAME...: fetches the named kernels of kernels.list, once, and prints the path of each image.
# The pinned package is taken, or the newest of its series where the mirror no longer has that.
set -eu
cd "$(dirname "$0")/../.."
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/kernels

fetch() {
	suite=$1 arch=$2 package=$3 dir=$4
	rm -rf "$dir"
	tools/debs.sh "$suite" "$arch" "$dir" "$package" 2>/dev/null && return
	rm -rf "$dir"
	series=$(echo "$package" | sed -E 's/^(linux-image-[0-9]+\.[0-9]+).*-(cloud-[a-z0-9]+)$/\1.*-\2/')
	echo "# $package is gone, taking the newest $series" >&2
	tools/debs.sh "$suite" "$arch" "$dir" "$series"
}

for name in "$@"; do
	line=$(awk -v name="$name" '$1 == name' test/vm/kernels.list)
	[ -n "$line" ] || { echo "kernels.sh: kernels.list has no $name" >&2; exit 1; }
	# shellcheck disable=SC2086
	set -- $line
	dir=$cache/$4
	[ -e "$dir/.complete" ] || fetch "$3" "$2" "$4" "$dir"
	touch "$dir/.complete"
	ls "$dir"/boot/vmlinuz-*
done
