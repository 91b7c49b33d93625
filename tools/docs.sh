#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs.sh [--check] WICK: writes the tables of options in docs/config.md anew, from what the binary knows; --check only
# says whether they are current.
set -eu
check=
if [ "$1" = --check ]; then
	check=1
	shift
fi
wick=$1
file=$(dirname "$0")/../docs/config.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT
sed '/^<!-- generated/q' "$file" >"$new"
echo >>"$new"
"$wick" components --options --format=markdown | sed -e '$d' >>"$new"
if [ -n "$check" ]; then
	diff -u "$file" "$new" || {
		echo "docs/config.md is not current: run make docs" >&2
		exit 1
	}
else
	cp "$new" "$file"
fi
