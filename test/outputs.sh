#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What comes out of a running pipeline: text, files, health, metrics, status pages, wick's own profile.
. "$(dirname "$0")/lib.sh"
GOLDEN=$ROOT/test/golden/text
cd "$WORK" || exit 1
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; umount "$WORK/small" 2>/dev/null; rm -rf "$WORK"' EXIT

# port: one that was free a moment ago.
port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

OTLP=$(port) HEALTH=$(port) METRICS=$(port) ZPAGES=$(port) PPROF=$(port)

# start EXPORTERS NAMES: a pipeline from OTLP/HTTP into these, with everything that can be asked; waits until it runs.
start() {
	cat >config.yaml <<-EOF
		receivers: {otlp: {protocols: {http: {endpoint: 127.0.0.1:$OTLP}}}}
		exporters: $1
		extensions:
		  health_check: {endpoint: 127.0.0.1:$HEALTH}
		  zpages: {endpoint: 127.0.0.1:$ZPAGES, expvar: {enabled: true}}
		  pprof: {endpoint: 127.0.0.1:$PPROF}
		service:
		  extensions: [health_check, zpages, pprof]
		  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: $METRICS}}}}]}}
		  pipelines: {profiles: {receivers: [otlp], exporters: [$2]}}
	EOF
	"$WICK" --config=config.yaml >stdout.txt 2>stderr.txt &
	pid=$!
	curl -s -o /dev/null --retry 50 --retry-all-errors --retry-delay 0 --retry-max-time 20 --fail \
		"http://127.0.0.1:$HEALTH/" || { sed 's/^/# /' stderr.txt; echo "not ok - wick starts with $2"; tap_failed=1; }
}

# stop: asks it to end and waits; its exit status.
stop() {
	kill -TERM "$pid" 2>kill.txt
	wait "$pid"
	stopped=$?
	pid=
	return $stopped
}

# post FILE: sends a profile, as JSON.
post() {
	curl -s --fail -o /dev/null -H 'content-type: application/json' --data-binary "@$1" \
		"http://127.0.0.1:$OTLP/v1development/profiles"
}

# get PORT PATH: the answer, with its status in the last line.
get() {
	curl -s -w '\n%{http_code}\n' "http://127.0.0.1:$1$2"
}

# metric NAME LABELS VALUE: within a few seconds.
metric() {
	for _ in $(seq 100); do
		curl -s "http://127.0.0.1:$METRICS/metrics" >metrics.txt
		grep -qxF "$1$2 $3" metrics.txt && return
		sleep 0.1
	done
	grep "^$1" metrics.txt
	return 1
}

# ---- Text ------------------------------------------------------------------------------------

start '{customprofilesexporter: }' customprofilesexporter
post "$GOLDEN/profile.json"
check 'customprofilesexporter counts samples' metric otelcol_exporter_sent_profile_samples '{exporter="customprofilesexporter"}' 4
check 'it ends well' stop
check 'customprofilesexporter prints what it should' diff -u "$GOLDEN/custom-default.txt" stdout.txt

start '{customprofilesexporter: {ignore_profiles_without_container_id: false, export_function_file: true}}' customprofilesexporter
post "$GOLDEN/profile.json"
stop
check 'customprofilesexporter prints files and lines' diff -u "$GOLDEN/custom-files.txt" stdout.txt

start '{debug: {verbosity: detailed, use_internal_logger: false}, debug/file: {verbosity: normal, use_internal_logger: false, output_paths: [debug.txt]}, debug/log: }' \
	'debug, debug/file, debug/log'
post "$GOLDEN/profile.json"
stop
printf 'Profiles\t{"resource profiles": 2, "sample records": 4}\n' >heading.txt
echo >empty.txt
cat heading.txt "$GOLDEN/debug-detailed.txt" empty.txt >want.txt
check 'debug prints details' diff -u want.txt stdout.txt
cat heading.txt "$GOLDEN/debug-normal.txt" empty.txt >want.txt
check 'debug prints a line for each profile into a file' diff -u want.txt debug.txt
check 'debug logs a line for each batch' grep -q 'debug/log	Profiles {"resource profiles": 2, "sample records": 4}$' stderr.txt

cat >config.yaml <<EOF
receivers: {customprofilesreceiver: {report_interval: 100ms}}
processors: {customprofilesexporter: {foo: bar}}
exporters: {customprofilesexporter: {export_stack_frame_types: [native, kernel], export_function_file: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [customprofilesreceiver], processors: [customprofilesexporter], exporters: [customprofilesexporter]}
EOF
"$WICK" --config=config.yaml --feature-gates=service.profilesSupport >stdout.txt 2>stderr.txt &
pid=$!
for _ in $(seq 100); do
	grep -q 'End Resource Profile' stdout.txt && break
	sleep 0.1
done
stop
check 'a made-up profile comes with a container' grep -qE '^  container.id: .+ \(Str\)$' stdout.txt
check 'it has passed the processor' grep -qx '  foo: bar (Str)' stdout.txt
check 'its frames are printed' grep -qE '^Instrumentation: native, Function: [^,]+, File: [^,]*, Line: [0-9]+, Column: [0-9]+$' stdout.txt

# ---- Files ------------------------------------------------------------------------------------

start '{file: {path: a.json}, file/proto: {path: a.bin, format: proto}, file/zstd: {path: a.zst, compression: zstd, compression_params: {level: 9}},
  file/group: {path: "group/*.json", group_by: {enabled: true, resource_attribute: host.name}}}' \
	'file, file/proto, file/zstd, file/group'
post "$GOLDEN/profile.json"
post "$GOLDEN/profile.json"
stop
cat >records.py <<'EOF'
# Splits a file into its records: lines, or each after four bytes of length.
import sys
kind, path, prefix = sys.argv[1:]
data = open(path, 'rb').read()
records = []
if kind == 'lines':
    assert data.endswith(b'\n')
    records = data.splitlines()
else:
    while data:
        length = int.from_bytes(data[:4], 'big')
        assert len(data) >= 4 + length
        records.append(data[4:4 + length])
        data = data[4 + length:]
for i, record in enumerate(records):
    open('%s%d' % (prefix, i), 'wb').write(record)
print(len(records))
EOF
# same_profile FILE: decodes to what was sent.
same_profile() {
	"$WICK" convert --format=json "$1" got.json && "$WICK" convert --format=json "$GOLDEN/profile.json" sent.json &&
		cmp got.json sent.json
}
check 'file writes a line for each batch' test "$(python3 records.py lines a.json json.)" = 2
check 'file writes what came, as JSON' same_profile json.1
check 'file frames protobuf by length' test "$(python3 records.py frames a.bin proto.)" = 2
check 'file writes what came, as protobuf' same_profile proto.1
check 'file frames what is compressed' test "$(python3 records.py frames a.zst zstd.)" = 2
check 'file writes what came, compressed' same_profile zstd.1
# twice FILE: wick report reads all batches of it.
twice() {
	total() { "$WICK" report --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'; }
	[ "$(total "$1")" = $((2 * $(total "$GOLDEN/profile.json"))) ]
}
for file in a.json a.bin a.zst; do check "report adds up all batches of $file" twice $file; done
check 'group_by makes a file for each value' test "$(ls group)" = h.json
python3 records.py lines group/h.json group. >count.txt
check 'a file of a group has its dictionary' sh -c "'$WICK' report group.0 | grep -q main"
check 'and nothing of the others' sh -c '! grep -q container.id.*8f3c group.0'

cat >large.py <<'EOF'
# The golden profile with an attribute of 300 KB.
import json, sys
profile = json.load(open(sys.argv[1]))
profile['resourceProfiles'][0]['resource']['attributes'].append({'key': 'ballast', 'value': {'stringValue': 'x' * 300000}})
json.dump(profile, open('large.json', 'w'))
EOF
python3 large.py "$GOLDEN/profile.json"
start '{file: {path: r/data.json, create_directory: true, rotation: {max_megabytes: 1, max_backups: 2}}}' file
for _ in 1 2 3 4 5 6 7 8; do post large.json; done
stop
check 'rotation names files by time' sh -c "ls r | grep -qE '^data-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}\.[0-9]{3}\.json$'"
check 'rotation keeps what it should' test "$(find r -type f | wc -l)" = 3
check 'no record is lost or cut' test "$(cat r/*.json | python3 -c 'import json, sys; print(len([json.loads(line) for line in sys.stdin]))')" = 8

start '{file: {path: killed.json, append: true}}' file
post "$GOLDEN/profile.json"
check 'before kill -9' metric otelcol_exporter_sent_profile_samples '{exporter="file"}' 4
kill -9 "$pid"
wait "$pid" 2>kill.txt
start '{file: {path: killed.json, append: true}}' file
post "$GOLDEN/profile.json"
stop
check 'a file survives kill -9' test "$(python3 records.py lines killed.json killed.)" = 2

if is_root && mkdir small && mount -t tmpfs -o size=1m tmpfs small 2>mount.txt; then
	start '{file: {path: small/data.bin, format: proto, retry_on_failure: {initial_interval: 100ms, max_interval: 200ms}}}' file
	head -c 700k /dev/zero >small/ballast
	for _ in 1 2 3; do post large.json; done
	check 'a full disk is an error that is told' \
		sh -c "for i in \$(seq 100); do curl -s http://127.0.0.1:$ZPAGES/debug/pipelinez | grep -q 'No space left' && exit; sleep 0.1; done; exit 1"
	check 'what a full disk refuses is not counted as sent' metric otelcol_exporter_sent_profile_samples '{exporter="file"}' 4
	check 'nothing half is left meanwhile' test "$(python3 records.py frames small/data.bin full.)" = 1
	rm small/ballast
	check 'it is written when there is room' metric otelcol_exporter_sent_profile_samples '{exporter="file"}' 12
	stop
	check 'every record is whole' test "$(python3 records.py frames small/data.bin full.)" = 3
	umount small
else
	skip 'a full disk' 'needs root to mount a small one'
fi

# ---- Health, metrics, pages ---------------------------------------------------------------------

start '{nop: , otlp_http: {endpoint: "http://127.0.0.1:9", retry_on_failure: {max_elapsed_time: 0}}}' 'nop, otlp_http'
post "$GOLDEN/profile.json"
get "$HEALTH" / >health.txt
check 'health_check says 200 while all run' grep -qx 200 health.txt
check 'its body is that of the Collector' grep -qE '^\{"status":"Server available","upSince":"20[^"]*Z","uptime":"[0-9.a-zµ]+s"\}$' health.txt
check 'what came in is counted' metric otelcol_receiver_accepted_profile_samples '{receiver="otlp",transport="http"}' 4
check 'what waits is counted' metric otelcol_exporter_queue_capacity '{exporter="otlp_http",data_type="profiles"}' 1000
for name in otelcol_process_uptime otelcol_process_cpu_seconds otelcol_process_memory_rss otelcol_exporter_queue_size \
	otelcol_exporter_sent_profile_samples otelcol_exporter_send_failed_profile_samples \
	otelcol_exporter_enqueue_failed_profile_samples otelcol_receiver_refused_profile_samples system_cpu_time \
	system_memory_usage system_cpu_load_average_1m process_memory_usage target_info; do
	check "metrics have $name" grep -qE "^$name[{ ]" metrics.txt
done
cat >exposition.py <<'EOF'
# Every line is one of the text exposition format; each family is described once, before its samples.
import re, sys
seen, name = set(), None
for line in open('metrics.txt'):
    line = line.rstrip('\n')
    if line.startswith('# HELP '):
        name = line.split(' ')[2]
        assert name not in seen, name
        seen.add(name)
    elif line.startswith('# TYPE '):
        assert line.split(' ')[2] == name and line.split(' ')[3] in ('counter', 'gauge'), line
    else:
        match = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*")*\})? (\S+)', line)
        assert match and match.group(1) == name, line
        float(match.group(3))
EOF
check 'metrics are well-formed' python3 exposition.py
cat >balanced.py <<'EOF'
# Every element that is opened is closed, in order.
import html.parser, sys
class Parser(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attributes):
        if tag not in ('meta', 'br', 'link'):
            self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack and self.stack.pop() == tag, (tag, self.getpos())
text = open(sys.argv[1]).read()
assert text.startswith('<!DOCTYPE html>')
Parser().feed(text)
assert not Parser.stack, Parser.stack
EOF
for page in servicez pipelinez extensionz featurez; do
	curl -s "http://127.0.0.1:$ZPAGES/debug/$page" >"$page.html"
	check "$page is HTML" python3 balanced.py "$page.html"
done
check 'pipelinez shows an exporter and its queue' grep -q '<code>otlp_http</code>.*queue 1 of 1000' pipelinez.html
curl -s "http://127.0.0.1:$ZPAGES/debug/expvarz" >vars.json
check 'expvarz is JSON' python3 -m json.tool vars.json
get "$ZPAGES" /debug/tracez >tracez.txt
check 'tracez is not there, and says why' grep -qx 404 tracez.txt

"$WICK" --config=config.yaml --set="receivers.otlp.protocols.http.endpoint=127.0.0.1:$(port)" >second.txt 2>&1
check 'a second one says that its port is taken' grep -q "127.0.0.1:$HEALTH" second.txt

kill -TERM "$pid"
for _ in $(seq 100); do
	get "$HEALTH" / >health.txt
	grep -qx 503 health.txt && break
	sleep 0.05
done
check 'health_check says 503 while it stops' grep -qx 503 health.txt
stop

# ---- wick's own profile ---------------------------------------------------------------------------

start '{debug: {verbosity: detailed, use_internal_logger: false, output_paths: [/dev/null]}}' debug
get "$PPROF" /debug/pprof/heap >heap.txt
check 'there is no heap profile, and it says so' grep -qx 404 heap.txt
get "$PPROF" '/debug/pprof/profile?seconds=0' >seconds.txt
check 'impossible seconds are refused' grep -qx 400 seconds.txt
if is_root; then
	curl -s -o self.pb.gz "http://127.0.0.1:$PPROF/debug/pprof/profile?seconds=3" &
	curl_pid=$!
	while kill -0 "$curl_pid" 2>kill.txt; do post large.json; done
	wait "$curl_pid"
	"$WICK" report -n 1000 self.pb.gz >self.txt
	check 'its own profile is a profile' grep -q '^samples ' self.txt
	check 'it has its own functions' grep -qE '(otlp|jsonread|exchange|work)[a-z_]*  wick$' self.txt
else
	skip 'its own profile' 'needs root'
fi
check 'it ends well after that' stop
finish
