#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD SECONDS FILE_fuzz.c ...: runs each target over its corpus for that long, as many at a time as there are
# CPUs. A crash file is kept in BUILD. The same SEED (1) takes the same way each time, so that a change is judged by
# itself; other seeds find more.
set -u
build=$1 seconds=$2
shift 2

if [ $# -gt 1 ]; then
	printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" "$0" "$build" "$seconds"
	exit $(($? != 0))
fi

target=${1%.c}
name=$(basename "$target" _fuzz)
work=$build/corpus/$name
mkdir -p "$work" "test/corpus/$name"
log=$build/$name.log
if "$build/$target" -seed="${SEED:-1}" -max_total_time="$seconds" -rss_limit_mb=1024 -timeout=10 -verbosity=1 -print_final_stats=1 \
	-artifact_prefix="$build/$name-" "$work" "test/corpus/$name" >"$log" 2>&1; then
	echo "ok - fuzz $name ($(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs)"
else
	tail -n 30 "$log" >&2
	echo "not ok - fuzz $name"
	exit 1
fi
