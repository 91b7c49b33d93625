#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Debian package that `make deb` has made: what is in it, and that it runs with the rights of its unit and no others.
. "$(dirname "$0")/lib.sh"

deb=$(ls "$BUILD"/wick_"$(cat "$ROOT/VERSION")"_*.deb)
root=$WORK/root
unit=$root/lib/systemd/system/wick.service

holds() {
	dpkg-deb -x "$deb" "$root" && for file in usr/bin/wick etc/wick/config.yaml lib/systemd/system/wick.service \
		usr/share/man/man1/wick.1.gz usr/share/bash-completion/completions/wick usr/share/zsh/vendor-completions/_wick \
		usr/share/fish/vendor_completions.d/wick.fish usr/share/doc/wick/examples/wick.socket; do
		[ -s "$root/$file" ] || { echo "no $file"; return 1; }
	done
	dpkg-deb -I "$deb" conffiles | grep -qx /etc/wick/config.yaml
}

# In a bash of its own.
completes() {
	bash -c '. "$1"; COMP_WORDS=(wick record --freq); COMP_CWORD=2; _wick; [ "${COMPREPLY[*]}" = --frequency ] &&
		COMP_WORDS=(wick pri); COMP_CWORD=1; _wick; [ "${COMPREPLY[*]}" = print-config ]' \
		bash "$root/usr/share/bash-completion/completions/wick"
}

port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# As the unit starts it: its capabilities, its configuration, another port and folder.
samples() {
	at=127.0.0.1:$(port)
	capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | sed 's/CAP_/+/g; s/ /,/g' | tr 'A-Z' 'a-z')
	here=$(setpriv --dump | sed -n 's/^Capability bounding set: //p')
	kept=-all
	for one in $(echo "$capabilities" | tr ',' ' '); do
		case ",$here," in *,"${one#+}",*) kept=$kept,$one ;; esac
	done
	setpriv --bounding-set "$kept" --no-new-privs "$root/usr/bin/wick" run --config="$root/etc/wick/config.yaml" \
		--set=exporters.store.path="$WORK/store" --set=extensions.page.endpoint="$at" \
		--set=receivers.otlp.protocols.grpc.endpoint="$at" --set=receivers.otlp.protocols.http.endpoint="$at" \
		--set=service.telemetry.metrics.readers='[]' >"$WORK/log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		sleep 0.2
		total=$(curl -s "http://$at/api/v1/flame?from=now-5m&to=now" | python3 -c 'import json, sys; print(json.load(sys.stdin)["root"])' 2>/dev/null || echo 0)
		[ "$total" -gt 20 ] && break
	done
	kill $pid
	wait $pid
	cat "$WORK/log"
	[ "$total" -gt 20 ]
}

check 'the package holds what it should' holds
check 'its configuration is valid' "$root/usr/bin/wick" validate --config="$root/etc/wick/config.yaml"
check 'bash completes commands and options' completes
if command -v systemd-analyze >/dev/null; then
	sed -i "s|/usr/bin/wick|$root/usr/bin/wick|" "$unit"
	check 'systemd takes the unit' sh -c "systemd-analyze verify --man=no '$unit' 2>&1 | grep wick.service; [ \$? = 1 ]"
	cp "$root/usr/share/doc/wick/examples/wick.socket" "$(dirname "$unit")"
	check 'systemd takes the example of a socket' sh -c "systemd-analyze verify --man=no '$(dirname "$unit")/wick.socket' 2>&1 | grep -i wick; [ \$? = 1 ]"
	check 'its exposure is 4.5 at most' systemd-analyze security --offline=true --threshold=45 --no-pager "$unit"
else
	skip 'systemd takes the unit' 'systemd-analyze is not installed'
fi
if is_root; then
	check "it samples with the unit's rights" samples
else
	skip "it samples with the unit's rights" 'needs root'
fi
finish
