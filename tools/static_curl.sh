#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# static_curl.sh DIR: builds libcurl.a with what wick uses of it alone (HTTP over OpenSSL and nghttp2) into DIR, from the
# distribution's source package, which has its security fixes. The distribution's own archive cannot be linked: it
# needs libraries that have none.
set -eu
dir=$(mkdir -p "$1" && cd "$1" && pwd)
release=7.88.1
sum=cdb38b72e36bc5d33d5b8810f8018ece1baa29a8f215b4495e495ded82bbf3c7

# A list of sources beside the system's, for the same archive and release; apt checks its signatures.
apt_source() {
	. /etc/os-release
	mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v -e security | head -n 1)
	mkdir -p parts lists cache
	: >empty
	echo "deb-src $mirror $VERSION_CODENAME main" >sources.list
	set -- -qq -o "Dir::Etc::sourcelist=$PWD/sources.list" -o "Dir::Etc::sourceparts=$PWD/parts" \
		-o "Dir::State::lists=$PWD/lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root
	apt-get "$@" update
	apt-get "$@" --download-only source "curl"
	ls curl_$release.orig.tar.gz >/dev/null 2>&1 || {
		echo "static_curl.sh: the archive has another curl than $release: $(ls curl_*.dsc)" >&2
		exit 1
	}
	echo "$sum  curl_$release.orig.tar.gz" | sha256sum -c --quiet -
}

# The last two patches are for builds with other TLS libraries. What configure was made of is not to be made anew.
unpack() {
	rm -rf curl-$release
	dpkg-source --no-check -x curl_*.dsc curl-$release >/dev/null
	cd curl-$release
	patch -R -p1 -s <debian/patches/99_nss.patch
	patch -R -p1 -s <debian/patches/90_gnutls.patch
	find . -name '*.in' -o -name configure -o -name aclocal.m4 | xargs touch
}

cd "$dir"
apt_source
unpack
without=
for what in ftp file rtsp dict telnet tftp pop3 imap smb smtp gopher mqtt ldap ldaps manual ntlm cookies alt-svc hsts netrc doh; do
	without="$without --disable-$what"
done
for what in brotli zstd libpsl libidn2 librtmp libssh2 ca-bundle ca-path; do
	without="$without --without-$what"
done
# shellcheck disable=SC2086
./configure -q --disable-shared --enable-static --with-openssl --with-nghttp2 --with-zlib $without \
	${TARGET:+--host=$TARGET} CFLAGS="-O2 -fPIE -ffunction-sections -fdata-sections" >../configure.log 2>&1 ||
	{ tail -n 5 ../configure.log >&2; exit 1; }
make -s -j2 -C lib >../make.log 2>&1 || { tail -n 5 ../make.log >&2; exit 1; }
rm -rf ../include
cp -r include ../include
cp lib/.libs/libcurl.a ../libcurl.a
