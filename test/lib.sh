# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034
# For shell tests: `. test/lib.sh`, then check/skip for each claim, then finish.
# Downloads and builds of other projects go to $CACHE by pinned version and stay there between runs.
ROOT=$(cd "$(dirname "$0")/.." && pwd)
while [ ! -f "$ROOT/VERSION" ] && [ "$ROOT" != / ]; do ROOT=$(dirname "$ROOT"); done
BUILD=${WICK_BUILD:-$ROOT/build}
WICK=$BUILD/wick
CACHE=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$CACHE"
tap_failed=0

# check NAME COMMAND...: ok if the command succeeds; its output is shown if not.
check() {
	tap_name=$1
	shift
	if "$@" >"$WORK/check.out" 2>&1; then
		echo "ok - $tap_name"
	else
		sed 's/^/# /' "$WORK/check.out" | tail -n 40
		echo "not ok - $tap_name"
		tap_failed=1
	fi
}

# skip NAME REASON...
skip() {
	tap_name=$1
	shift
	echo "ok - $tap_name # SKIP $*"
}

is_root() {
	[ "$(id -u)" = 0 ]
}

finish() {
	exit $tap_failed
}
