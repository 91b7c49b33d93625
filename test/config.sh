#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `wick validate` says of configurations, word for word: test/golden/config/bad/X.yaml gives X.txt and status 1,
# good/X.yaml gives X.txt (nothing, if there is none) and status 0; command lines give cli/X.txt. UPDATE=1 writes those
# anew: read the difference before you commit it.
. "$(dirname "$0")/lib.sh"
cd "$ROOT/test/golden/config" || exit 1
unset WICK_TEST_NOT_SET NODE_NAME DD_AGENT_HOST
export LC_ALL=C TZ=UTC WICK_TEST_HOST=collector WICK_TEST_PORT=4317 WICK_TEST_TOKEN=s3cret

# matches WANT GOT: equal; without a file WANT, GOT is empty.
matches() {
	if [ -n "${UPDATE:-}" ]; then
		rm -f "$1"
		[ ! -s "$2" ] || cp "$2" "$1"
	fi
	[ -f "$1" ] || set -- /dev/null "$2"
	diff -u "$1" "$2"
}

# validated STATUS FOLDER/NAME.yaml
validated() {
	validated_name=${2%.yaml}
	(cd "${2%/*}" && timeout 20 "$WICK" validate --config="${2##*/}") >"$WORK/out" 2>&1 </dev/null
	validated_got=$?
	check "$validated_name: what is said" matches "$validated_name.txt" "$WORK/out"
	check "$validated_name: status $1" test "$validated_got" = "$1"
}

# golden NAME STATUS ARGUMENTS...: what is printed is as cli/NAME.txt says.
golden() {
	golden_name=$1 golden_status=$2
	shift 2
	(cd cli && timeout 20 "$WICK" "$@") >"$WORK/out" 2>"$WORK/err" </dev/null
	golden_got=$?
	{
		echo "\$ wick $*"
		cat "$WORK/out"
		sed 's/^/stderr: /' "$WORK/err"
	} >"$WORK/said"
	check "$golden_name: wick $*" matches "cli/$golden_name.txt" "$WORK/said"
	check "$golden_name: status $golden_status" test "$golden_got" = "$golden_status"
}

# again FILE: what print-config prints is printed as the same again, as YAML and as JSON.
again() {
	"$WICK" print-config --mode=unredacted --config="$1" >"$WORK/1.yaml" 2>/dev/null &&
		"$WICK" print-config --mode=unredacted --config="$WORK/1.yaml" >"$WORK/2.yaml" 2>/dev/null &&
		diff -u "$WORK/1.yaml" "$WORK/2.yaml" &&
		"$WICK" print-config --mode=unredacted --format=json --config="$1" >"$WORK/1.json" 2>/dev/null &&
		python3 -m json.tool "$WORK/1.json" >/dev/null &&
		"$WICK" print-config --mode=unredacted --config="$WORK/1.json" >"$WORK/3.yaml" 2>/dev/null &&
		diff -u "$WORK/1.yaml" "$WORK/3.yaml"
}

for file in bad/*.yaml; do
	validated 1 "$file"
done
for file in good/*.yaml; do
	validated 0 "$file"
	check "$file: prints as the same again" again "$file"
done
check 'at least 40 broken configurations' test "$(find bad -name '*.yaml' | wc -l)" -ge 40

golden no-file 1 validate --config=nowhere.yaml
golden http-source 1 validate --config=https://config.example/agent.yaml
golden unset-source 1 validate --config=env:WICK_TEST_NOT_SET
golden directory 0 print-config --config=directory --config=site.yaml
golden directory-empty 1 validate --config=directory/empty
golden directory-bad 1 validate --config=directory --config=file:directory/bad
golden merge 0 print-config --config=base.yaml --config=file:site.yaml --set=exporters.debug.verbosity=normal
golden merge-wipes 1 print-config --config=base.yaml --config='yaml:exporters:'
golden yaml-source 0 print-config --config=base.yaml --config='yaml:exporters::debug::verbosity: normal'
golden page-and-sent 0 print-config --listen=:12000 --samples-per-second=97 -collection-agent=h:1 -disable-tls
golden append 0 print-config --feature-gates=confmap.enableMergeAppendOption --config=base.yaml --config=site.yaml
golden single-dash 0 print-config -config=base.yaml -set=exporters.debug.verbosity=normal
golden json 0 print-config --format=json --config=base.yaml
golden redacted 0 print-config --config=secrets.yaml
golden unredacted 0 print-config --mode=unredacted --config=secrets.yaml
golden older-name 0 print-initial-config --config=base.yaml
golden no-validate 0 print-config --validate=false --config=../bad/unknown-option.yaml
golden set-unknown 1 validate --config=base.yaml --set=exporters.debug.verbosty=normal
golden set-no-value 1 validate --config=base.yaml --set=exporters.debug
golden gate 0 validate --config=base.yaml --feature-gates=service.profilesSupport
golden gate-unknown 1 validate --config=base.yaml --feature-gates=service.profileSupport
golden flags 0 print-config -collection-agent=collector:4317 -disable-tls -samples-per-second=50 -t=all -v
golden flags-otlp 0 print-config --enable-profiling-otlp --profiling-otlp-endpoint=collector:4317 --profiling-otlp-insecure
golden flags-datadog 0 print-config --enable-profiling-datadog --profiling-datadog-service=shop --profiling-datadog-env=prod --profiling-interval=30
golden flags-perfdata 0 print-config --enable-profiling-perfdata --profiling-perfdata-path=/var/lib/profiles --profiling-interval=30
golden flags-for-the-page 0 print-config -samples-per-second=50
golden flags-value 1 validate -collection-agent=collector:4317 -samples-per-second=many
golden flags-unknown 1 validate -colection-agent=collector:4317
golden options 0 components --options batch
golden options-unknown 1 components --options bacth

for file in "$ROOT"/deploy/*.yaml; do
	check "deploy/${file##*/} is valid" "$WICK" validate --config="$file"
done
check 'docs/config.md and the manual page are current' "$ROOT/tools/docs.sh" --check "$WICK"
"$WICK" components >"$WORK/components"
check 'components prints YAML' "$WICK" print-config --validate=false --config="$WORK/components"
finish
