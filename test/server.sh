#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The server by itself, asked by curl and openssl: protocols, TLS, limits, the status of what is refused. Prints TAP.
. "$(dirname "$0")/lib.sh"
tool=$BUILD/test/tools/http_server
for program in curl openssl python3; do
	if ! command -v $program >/dev/null; then
		skip "server" "$program is not installed"
		finish
	fi
done
make -C "$ROOT" O="$BUILD" "$tool" >/dev/null || { echo 'not ok - build'; exit 1; }
trap 'stop; rm -rf "$WORK"' EXIT

# start OPTION=VALUE...: a server, whose address is in $at, its port in $port. stop: ends it; counters go to $WORK/out.
start() {
	rm -f "$WORK/in" "$WORK/out"	# what the one before said is not to be read
	mkfifo "$WORK/in"
	"$tool" "$@" <"$WORK/in" >"$WORK/out" 2>"$WORK/err" &
	pid=$!
	exec 8>"$WORK/in"
	for _ in $(seq 200); do
		[ -s "$WORK/out" ] && break
		kill -0 $pid 2>/dev/null || break
		sleep 0.05
	done
	at=$(head -n 1 "$WORK/out")
	port=${at##*:}
}
stop() {
	exec 8>&-
	wait $pid
}
ask() { curl -s -m 20 "$@"; }
status() { ask -o /dev/null -w '%{http_code}' "$@"; }
# gives WANT COMMAND...: its output is that.
gives() {
	want=$1
	shift
	got=$("$@")
	[ "$got" = "$want" ] || { echo "got \"$got\", not \"$want\""; return 1; }
}
# refused WHY OPTION...: the tool does not start, and says why.
refused() {
	want=$1
	shift
	"$tool" "$@" </dev/null 2>"$WORK/why" && return 1
	grep -F "$want" "$WORK/why" || { cat "$WORK/why"; return 1; }
}
# counted TEXT: after stop, a counter's line starts so.
counted() { grep -F "$1" "$WORK/out" || { cat "$WORK/out"; return 1; }; }
head -c 3000000 /dev/urandom >"$WORK/blob"
gzip -k "$WORK/blob"
printf '\0\0\0\0\5hello' >"$WORK/call"

start body_max=4000000
for version in --http1.1 --http2-prior-knowledge; do
	check "$version: a request" gives hello ask $version "$at/hello"
	check "$version: HEAD has no body" gives 200-0 ask -I -o /dev/null -w '%{http_code}-%{size_download}' $version "$at/hello"
	check "$version: a large body" gives 3000000 ask $version --data-binary "@$WORK/blob" "$at/count"
	check "$version: it comes back unharmed" eval "ask $version --data-binary '@$WORK/blob' '$at/echo' | cmp - '$WORK/blob'"
	check "$version: gzip" gives 3000000 ask $version -H 'content-encoding: gzip' --data-binary "@$WORK/blob.gz" "$at/count"
	check "$version: broken gzip" gives 400 status $version -H 'content-encoding: gzip' --data-binary 'x' "$at/count"
	check "$version: an unknown encoding" gives 415 status $version -H 'content-encoding: br' -d x "$at/count"
	check "$version: a large answer" gives 8388608 ask $version -o /dev/null -w '%{size_download}' "$at/big"
	check "$version: an unknown path" gives 404 status $version "$at/nothing"
	check "$version: a wrong method" gives 405 status $version -X PUT "$at/hello"
	check "$version: the right ones are told" eval "ask $version -i -X PUT '$at/hello' | grep -qi '^allow: GET'"
	check "$version: a body that is too large" gives 413 status $version -H 'expect:' --data-binary "@$WORK/blob" \
		--data-binary "@$WORK/blob" "$at/count"
done
check 'headers that are too large' gives 431 status -H "x: $(printf '%070000d' 0)" "$at/hello"
check 'chunks' gives 3000000 ask -H 'transfer-encoding: chunked' --data-binary "@$WORK/blob" "$at/count"
check 'chunks that are too many' gives 413 status -H 'transfer-encoding: chunked' -H 'expect:' --data-binary "@$WORK/blob" \
	--data-binary "@$WORK/blob" "$at/count"
check '100-continue' gives 3000000 ask -H 'expect: 100-continue' --data-binary "@$WORK/blob" "$at/count"
check '100-continue is not said to what is refused' gives 404 status -H 'expect: 100-continue' --data-binary "@$WORK/blob" "$at/no"
check 'a connection serves many' gives 10000 ask -o /dev/null -o /dev/null -o /dev/null -o /dev/null -o /dev/null \
	-w '%{num_connects}' "$at/hello" "$at/nothing" "$at/hello?1" "$at/hello?2" "$at/hello?3"

# shellcheck disable=SC2054
grpc=(--http2-prior-knowledge -H content-type:\ application/grpc -H te:\ trailers --data-binary "@$WORK/call" -i)
trailers() { ask "${grpc[@]}" "$@" | tr -d '\r\0' | grep -a -o 'grpc-.*' | paste -sd' '; }
check 'gRPC' gives 'grpc-status: 0' trailers "$at/test.Echo/Say"
check 'gRPC: a status, and its text' gives 'grpc-status: 3 grpc-message: no: 100 %25 wrong%0A' trailers "$at/test.Echo/Fail"
check 'gRPC: an unknown method' gives 'grpc-status: 12 grpc-message: unknown method No for service test.Echo' \
	trailers "$at/test.Echo/No"
check 'gRPC: packed, but not how' gives 'grpc-status: 13 grpc-message: Bad message' trailers --data-binary $'\1' "$at/test.Echo/Say"
check 'gRPC: by HTTP/1.1' gives 505 status --http1.1 -H 'content-type: application/grpc' -d x "$at/test.Echo/Say"
check 'gRPC: another content type' gives 415 status --http2-prior-knowledge -d x "$at/test.Echo/Say"
check 'by ::1 too' gives hello ask "[::1]:$port/hello"
stop
check 'refusals are counted' counted 'wick_server_refused_total{reason="body_too_large"} 3'
check '... and bodies are let go of' eval '! grep wick_server_body_bytes "$WORK/out"'

first=$port
start "endpoint=localhost:$first"
check 'a port that is taken' refused "localhost:$first: the address is in use: process $pid (http_server) has it" \
	"endpoint=localhost:$first"
stop

start "unix=$WORK/socket"
check 'a unix socket' gives hello ask --unix-socket "$WORK/socket" http://x/hello
{ kill -9 $pid && wait $pid; } 2>/dev/null
start "unix=$WORK/socket"
check 'a stale one is replaced' gives hello ask --unix-socket "$WORK/socket" http://x/hello
check 'one that is in use is not' eval '! "$tool" "unix=$WORK/socket" </dev/null'
check '... and still answers' gives hello ask --unix-socket "$WORK/socket" http://x/hello
stop
check 'it is gone when the server is' test ! -e "$WORK/socket"

# ---- TLS ----------------------------------------------------------------------------------------
# certificate NAME AUTHORITY SUBJECT
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$WORK/$1.key" -out "$WORK/$1.csr" -subj "/CN=$3" &&
		printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' >"$WORK/ext" &&
		openssl x509 -req -in "$WORK/$1.csr" -CA "$WORK/$2.pem" -CAkey "$WORK/$2.key" -CAcreateserial -days 2 \
			-extfile "$WORK/ext" -out "$WORK/$1.pem"
}
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout "$WORK/$1.key" -out "$WORK/$1.pem" -subj "/CN=$1"
}
{ authority ca && authority other && certificate server ca one && certificate client ca client && certificate stranger other x; } \
	>"$WORK/openssl.log" 2>&1 || { sed 's/^/# /' "$WORK/openssl.log"; echo 'not ok - certificates'; exit 1; }

cp "$WORK/server.pem" "$WORK/live.pem"
cp "$WORK/server.key" "$WORK/live.key"
start cert="$WORK/live.pem" key="$WORK/live.key" reload_ms=50
tls() { ask --cacert "$WORK/ca.pem" "$@"; }
url=https://localhost:$port
check 'TLS: HTTP/1.1' gives hello tls --http1.1 "$url/hello"
check 'TLS: HTTP/2 by ALPN' gives 2 tls --http2 -o /dev/null -w '%{http_version}' "$url/hello"
check 'TLS: a large body' eval "tls --data-binary '@$WORK/blob' '$url/echo' | cmp - '$WORK/blob'"
check 'TLS: a large body by HTTP/1.1' eval "tls --http1.1 --data-binary '@$WORK/blob' '$url/echo' | cmp - '$WORK/blob'"
check 'TLS: a large answer' gives 8388608 tls -o /dev/null -w '%{size_download}' "$url/big"
check 'TLS: 1.1 is refused' eval "! tls --tls-max 1.1 '$url/hello'"
check 'TLS: 1.2 is not' gives hello tls --tls-max 1.2 "$url/hello"
check 'TLS: plain HTTP is told so' gives 400 status "http://localhost:$port/hello"
subject() { openssl s_client -connect "localhost:$port" </dev/null 2>/dev/null | openssl x509 -noout -subject; }
check 'TLS: the certificate' gives 'subject=CN = one' subject
certificate second ca two >/dev/null 2>&1
echo broken >"$WORK/live.pem"
for _ in $(seq 100); do [ -s "$WORK/err" ] && break; sleep 0.05; done
check 'TLS: one that is broken is told of' grep -q "tls: cannot read the certificate $WORK/live.pem: no start line" "$WORK/err"
check 'TLS: ... and the old one stays' gives 'subject=CN = one' subject
cp "$WORK/second.key" "$WORK/live.key"
cp "$WORK/second.pem" "$WORK/live.pem"
for _ in $(seq 100); do [ "$(subject)" = 'subject=CN = two' ] && break; sleep 0.05; done
check 'TLS: a new one is used without a restart' gives 'subject=CN = two' subject
stop
check 'TLS: both are counted' eval 'counted "wick_server_tls_reloads_total{outcome=\"failed\"}" && counted "wick_server_tls_reloads_total{outcome=\"ok\"} "'

start cert="$WORK/server.pem" key="$WORK/server.key" client_ca="$WORK/ca.pem" min_version=1.3
url=https://localhost:$port
check 'mTLS: with a certificate' gives hello tls --cert "$WORK/client.pem" --key "$WORK/client.key" "$url/hello"
check 'mTLS: without one' eval "! tls '$url/hello'"
check "mTLS: with a stranger's" eval "! tls --cert '$WORK/stranger.pem' --key '$WORK/stranger.key' '$url/hello'"
check 'TLS: 1.2 is refused when 1.3 is the least' eval "! tls --tls-max 1.2 --cert '$WORK/client.pem' --key '$WORK/client.key' '$url/hello'"
stop
check 'mTLS: handshakes that fail are counted' counted 'wick_server_closed_total{reason="tls"}'
check 'TLS: a missing file' refused "cannot read the certificate /none: no such file" cert=/none key=/none
check "TLS: another's key" refused 'key values mismatch' cert="$WORK/server.pem" key="$WORK/client.key"
check 'TLS: no such version' refused 'min_version is 1.2 or 1.3, not 1.1, which is broken' cert="$WORK/server.pem" \
	key="$WORK/server.key" min_version=1.1
check 'no such endpoint' refused 'is no endpoint; write host:port' endpoint=localhost

# ---- Slow and rude peers --------------------------------------------------------------------------
start request_ms=300 idle_ms=300
check 'slow peers' python3 - "$port" <<'END'
import socket, sys
port = int(sys.argv[1])
def dial(data):
    s = socket.create_connection(('127.0.0.1', port), timeout=10)
    s.sendall(data)
    return s
def read_all(s):
    out = b''
    while True:
        try:
            d = s.recv(65536)
        except ConnectionResetError:
            d = b''
        if not d:
            return out
        out += d
assert b' 408 ' in read_all(dial(b'GET /hello HTTP/1.1\r\nhost: localhost\r\n')), 'headers that do not end'
assert b' 408 ' in read_all(dial(b'POST /count HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nabc')), 'a body that does not end'
s = dial(b'POST /count HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\nabc')
answer = read_all(s)
assert b' 200 ' in answer and answer.endswith(b'\r\n\r\n3\n'), 'idle after an answer'
preface = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\4\0\0\0\0\0'
assert read_all(dial(preface)), 'idle HTTP/2: settings, GOAWAY'
END
stop
check 'they are counted' eval 'counted "wick_server_refused_total{reason=\"too_slow\"} 2" && counted "wick_server_closed_total{reason=\"idle\"} 2"'

start request_ms=60000
check 'rude peers' python3 - "$port" <<'END'
import socket, struct, sys
port = int(sys.argv[1])
preface = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\4\0\0\0\0\0'
def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload
def talk(data, until=None):
    s = socket.create_connection(('127.0.0.1', port), timeout=10)
    out = b''
    try:
        s.sendall(data)
        while True:
            d = s.recv(65536)
            out += d
            if not d or (until and until in out):
                break
    except (ConnectionResetError, BrokenPipeError):
        pass
    return out
def goaway(out):
    at = 0
    while at + 9 <= len(out):
        length = int.from_bytes(out[at:at + 3], 'big')
        if out[at + 3] == 7 and at + 9 + length <= len(out):
            return int.from_bytes(out[at + 13:at + 17], 'big')
        at += 9 + length
# GET /hello: method GET, scheme http, path literal
head = b'\x82\x86\x04\x06/hello\x41\x01x'
reset = b''.join(frame(1, 5, i, head) + frame(3, 0, i, b'\0\0\0\x08') for i in range(1, 2001, 2))
assert goaway(talk(preface + reset)) == 11, 'rapid reset'
large = head + (b'\x40\x01y\x7f\xc1\xb7\x02' + b'z' * 40000) * 2
parts = [large[i:i + 16384] for i in range(0, len(large), 16384)]
sent = frame(1, 1, 1, parts[0]) + b''.join(frame(9, 4 * (p is parts[-1]), 1, p) for p in parts[1:])
assert b'431' in talk(preface + sent, b'431'), 'headers that are too large'
assert goaway(talk(preface + frame(1, 5, 2, head))) == 1, 'an even stream'
assert goaway(talk(preface + frame(0, 0, 1, b'x'))) == 1, 'DATA without HEADERS'
assert goaway(talk(preface + frame(1, 5, 1, b'\xff\xff\xff\xff\xff'))) == 9, 'broken HPACK'
assert goaway(talk(preface + frame(9, 4, 1, b''))) == 1, 'CONTINUATION alone'
assert goaway(talk(preface + frame(4, 0, 0, b'\0\0\0\0\0\1') * 3000)) in (11, None), 'SETTINGS flood'
assert goaway(talk(preface + frame(6, 0, 0, b'12345678') * 30000)) in (11, None), 'PING flood'
assert b' 400 ' in talk(b'\x16\x03\x01\0\x05hello\r\n\r\n'), 'TLS without TLS'
assert b' 400 ' in talk(b'\0' * 100 + b'\r\n\r\n'), 'nothing at all'
assert b' 431 ' in talk(b'GET / HTTP/1.1\r\nhost: localhost\r\nx: ' + b'y' * 300000), 'headers without end'
END
check 'it still serves' gives hello ask "$at/hello"
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$pid/status; }
for _ in 1 2 3; do ask -o /dev/null --data-binary "@$WORK/blob" "$at/echo"; done
before=$(rss)
for _ in $(seq 30); do ask -o /dev/null --data-binary "@$WORK/blob" "$at/echo"; done
after=$(rss)
check 'memory stays' test $((after - before)) -lt 4096
ask "$at/never" >"$WORK/never" -w '%{http_code}' 8>&- &
asker=$!
for _ in $(seq 100); do grep -q never "$WORK/out" && break; sleep 0.05; done
stop
wait $asker
check 'what is open is answered at the end' gives 'the server is shutting down 503' paste -sd' ' "$WORK/never"
check 'resets are counted' counted 'wick_server_closed_total{reason="too_many_resets"} 1'
finish
