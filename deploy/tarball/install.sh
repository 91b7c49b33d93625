#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [--uninstall | --purge]: puts wick below PREFIX (/usr/local), and where there is systemd its unit, which it
# does not start. A configuration that is there is kept. --uninstall takes away what it has put there but the configuration; --purge
# that, too, and what was recorded. DESTDIR=DIR: into another root.
set -eu
cd "$(dirname "$0")"
PREFIX=${PREFIX:-/usr/local}
DESTDIR=${DESTDIR:-}
share=$DESTDIR$PREFIX/share
units=$DESTDIR/etc/systemd/system

put() {
	mkdir -p "$(dirname "$3")"
	cp "$2" "$3"
	chmod "$1" "$3"
}

reload() {
	[ -n "$DESTDIR" ] || [ ! -d /run/systemd/system ] || systemctl "$@"
}

install_all() {
	# Under another name first: the one that runs keeps its file.
	put 755 wick "$DESTDIR$PREFIX/bin/wick.new"
	mv "$DESTDIR$PREFIX/bin/wick.new" "$DESTDIR$PREFIX/bin/wick"
	put 644 wick.1 "$share/man/man1/wick.1"
	put 644 completion/bash "$share/bash-completion/completions/wick"
	put 644 completion/zsh "$share/zsh/site-functions/_wick"
	put 644 completion/fish "$share/fish/vendor_completions.d/wick.fish"
	for file in LICENSE licences.txt wick.spdx.json; do
		put 644 "$file" "$share/doc/wick/$file"
	done
	[ -e "$DESTDIR/etc/wick/config.yaml" ] || put 644 config.yaml "$DESTDIR/etc/wick/config.yaml"
	if [ -d "$DESTDIR/run/systemd/system" ] || [ -d "$DESTDIR/etc/systemd" ]; then
		sed "s|/usr/bin/wick|$PREFIX/bin/wick|" wick.service >wick.service.new
		put 644 wick.service.new "$units/wick.service"
		rm wick.service.new
		reload daemon-reload
		echo "Start it, now and at each boot: systemctl enable --now wick"
	fi
	echo "$PREFIX/bin/wick is $(cat VERSION); its page: sudo wick, then http://localhost:11000"
}

uninstall() {
	[ ! -e "$units/wick.service" ] || reload disable --now wick
	rm -f "$DESTDIR$PREFIX/bin/wick" "$share/man/man1/wick.1" "$share/bash-completion/completions/wick" \
		"$share/zsh/site-functions/_wick" "$share/fish/vendor_completions.d/wick.fish" "$units/wick.service"
	rm -rf "$share/doc/wick"
	reload daemon-reload
}

case ${1:-} in
'') install_all ;;
--uninstall) uninstall ;;
--purge)
	uninstall
	rm -rf "$DESTDIR/etc/wick" "$DESTDIR/var/lib/wick" "$DESTDIR/var/cache/wick"
	;;
*)
	echo "usage: $0 [--uninstall | --purge]" >&2
	exit 2
	;;
esac
