#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# debs.sh [--deps] SUITE ARCH DIR PACKAGE...: downloads packages of another Debian suite or architecture, or of Ubuntu,
# with --deps also all that they depend on, and unpacks them into DIR. It has apt lists of its own, made from the
# mirror that this machine already uses; the machine's apt and dpkg are left as they are, and root is not needed.
# debs.sh --source SUITE DIR PACKAGE...: their sources, as they were uploaded.
# A package may be a pattern (linux-image-6.1.*-cloud-amd64): the newest that matches.
set -eu

deps='' types=deb
case $1 in
--deps) deps=yes && shift ;;
--source)
	types=deb-src suite=$2 dir=$3
	shift 3
	set -- "$suite" source "$dir" "$@"
	;;
esac
suite=$1 arch=$2 dir=$3
shift 3

apt=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/apt/$suite-$arch
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources.d" "$dir"
# Two tests may want packages of one suite at a time.
exec 8>"$apt/lock"
flock 8

# Where this machine gets Debian from: the archive, and the security archive where it has one.
mirror() {
	# shellcheck disable=SC2016
	apt-get indextargets 'Created-By: Packages' 'Component: main' --format '$(RELEASE) $(REPO_URI)' |
		awk -v security="$1" '($1 ~ /-security$/) == security { print $2; exit }'
}
archive=$(mirror 0)
security=$(mirror 1)
[ -n "$archive" ] || { echo "debs.sh: apt on this machine knows no Debian mirror" >&2; exit 1; }

stanza() {
	printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\n' "$types" "$1" "$2"
	[ "$arch" = source ] || printf 'Architectures: %s\n' "$arch"
	printf 'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n'
}
# Ubuntu's keys are in no package of Debian: what it has is only ever run by tests.
ubuntu() {
	printf 'Types: deb\nURIs: http://archive.ubuntu.com/ubuntu\nSuites: %s %s-updates\n' "$1" "$1"
	printf 'Components: main universe\nArchitectures: %s\nTrusted: yes\n\n' "$arch"
}
sources() {
	case $suite in
	xenial | bionic | focal | jammy | noble | questing | resolute | stonking) ubuntu "$suite" ;;
	experimental) stanza "$archive" sid && stanza "$archive" experimental ;; # what it lacks is sid's
	sid | *-*) stanza "$archive" "$suite" ;; # neither it nor backports have a security archive
	*)
		stanza "$archive" "$suite"
		[ -z "$security" ] || [ "$arch" = source ] || stanza "$security" "$suite-security"
		;;
	esac
}
sources >"$apt/sources.d/mirror.sources"
: >"$apt/status"

machine=$arch
[ "$arch" != source ] || machine=amd64
private() {
	command=$1
	shift
	"$command" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources.d" \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Dir::State::status="$apt/status" \
		-o APT::Architecture="$machine" -o APT::Architectures="$machine" -o APT::Sandbox::User= \
		-o APT::Get::AllowUnauthenticated=false -o Debug::NoLocking=1 "$@"
}
# Lists of a day's age are good enough: what we fetch is pinned or "the newest".
if [ -z "$(find "$apt/lists" \( -name '*Packages*' -o -name '*Sources*' \) -mtime -1 | head -n 1)" ]; then
	private apt-get update
fi
if [ "$arch" = source ]; then
	cd "$dir" && private apt-get source --download-only "$@"
	exit
fi

wanted=
for package in "$@"; do
	case $package in
	*\**)
		name=$(private apt-cache pkgnames | grep -xE "$(echo "$package" | sed 's/[.+]/\\&/g; s/\*/.*/g')" |
			grep -v -- -unsigned | sort -V | tail -n 1)
		[ -n "$name" ] || { echo "debs.sh: $suite has no $package for $arch" >&2; exit 1; }
		wanted="$wanted $name"
		;;
	*) wanted="$wanted $package" ;;
	esac
done

rm -rf "$apt/debs"
mkdir -p "$apt/debs"
if [ -n "$deps" ]; then
	rm -f "$apt/cache/archives/"*.deb
	# shellcheck disable=SC2086
	private apt-get -y --no-install-recommends --download-only install $wanted >/dev/null
	mv "$apt/cache/archives/"*.deb "$apt/debs"
else
	# shellcheck disable=SC2086
	(cd "$apt/debs" && private apt-get download $wanted)
fi
for deb in "$apt/debs/"*.deb; do
	dpkg-deb -x "$deb" "$dir"
done
rm -rf "$apt/debs"
