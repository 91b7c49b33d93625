#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ESLint over the page and the scripts that test and measure it. Prints TAP; without the network and ESLint it is skipped.
set -u
cd "$(dirname "$0")/../.." || exit
version=9.39.5
export ESLINT=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/eslint-$version
logs=build/test-logs
mkdir -p "$logs"

if ! command -v npm >/dev/null; then
	echo 'ok - page lint # SKIP there is no npm'
	exit 0
fi
if [ ! -d "$ESLINT/node_modules/eslint" ]; then
	mkdir -p "$ESLINT"
	(cd "$ESLINT" && timeout 300 npm install --no-audit --no-fund "eslint@$version" "@eslint/js@$version") >"$logs/eslint-npm.log" 2>&1 || {
		rm -rf "$ESLINT"
		echo 'ok - page lint # SKIP eslint cannot be installed'
		exit 0
	}
fi
if node "$ESLINT/node_modules/eslint/bin/eslint.js" --config test/ui/eslint.config.mjs --max-warnings 0 ui test/ui test/browser bench/ui >"$logs/eslint.log" 2>&1; then
	echo 'ok - page lint'
else
	echo 'not ok - page lint'
	sed 's/^/# /' "$logs/eslint.log"
	exit 1
fi
