#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs.sh [--check] WICK: writes the tables of options in docs/config.md and the manual page anew, from what the binary
# knows; --check only says whether they are current.
set -eu
check=
if [ "$1" = --check ]; then
	check=1
	shift
fi
wick=$1
tools=$(dirname "$0")
docs=$tools/../docs
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# Puts $new where it belongs, or compares.
put() {
	if [ -z "$check" ]; then
		cp "$new" "$docs/$1"
	elif ! diff -u "$docs/$1" "$new"; then
		echo "docs/$1 is not current: run make docs" >&2
		exit 1
	fi
}

sed '/^<!-- generated/q' "$docs/config.md" >"$new"
echo >>"$new"
"$wick" components --options --format=markdown >>"$new"
sed -i '$d' "$new"	# the empty line behind the last table
put config.md
"$tools/man.py" "$wick" "$docs/man/wick.1" >"$new"
put man/wick.1
