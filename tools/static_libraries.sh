#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# static_libraries.sh DIR: builds what the one file of `make dist` does not take from the distribution's archives, with
# what wick uses alone: libcurl (HTTP; the distribution's needs libraries that have no archive), OpenSSL (TLS), SQLite.
# From the distribution's source packages, which have its security fixes; DIR/SOURCES says which.
# Into DIR/include and DIR/lib, once: whoever comes second waits. TARGET, CC: for another machine than this one.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
dir=$(mkdir -p "$1" && cd "$1" && pwd)
# What the make that calls this was told is not meant for theirs. OpenSSL tells how it was compiled: not by whose cache.
unset MAKEFLAGS MAKEOVERRIDES MFLAGS
CC=${CC:-gcc} CC=${CC#ccache }
flags='-fPIE -ffunction-sections -fdata-sections'
# What moves bytes in OpenSSL is assembly, and curl waits for the network: size counts. SQLite is what the store waits for.
small='-Os' fast='-O2'

# Name, release and the sum of its source. Another release in the archive is to be looked at, then written here.
sources='curl 7.88.1 cdb38b72e36bc5d33d5b8810f8018ece1baa29a8f215b4495e495ded82bbf3c7
openssl 3.0.20 c80a01dfc70ece4dc21168932c37739042d404d46ccc81a5986dd75314ecda6f
sqlite3 3.40.1 aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655'

die() {
	echo "static_libraries.sh: $1" >&2
	exit 1
}

# What the archive of this machine's release has; apt checks its signatures.
fetch() {
	# shellcheck disable=SC2046
	"$tools/debs.sh" --source "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$PWD" $(echo "$sources" | cut -d ' ' -f 1) >/dev/null
	echo "$sources" | while read -r name release sum; do
		file=$(ls "${name}_$release".orig.tar.?z 2>/dev/null) || die "the archive has another release than $release: $(ls "$name"_*.dsc)"
		echo "$sum  $file" | sha256sum -c --quiet -
		dpkg-source --no-check -x "$name"_*.dsc "$name" >/dev/null
		cp "$name/debian/copyright" "$dir/copyright/$name"
		echo "$name $(sed -n 's/^Version: //p' "$name"_*.dsc | head -n 1) $sum"
	done >SOURCES.new
}

# Runs what follows the name of a log, and shows the log's end if it fails.
logged() {
	log=$dir/$1.log
	shift
	"$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed: $*"; }
}

options() {
	prefix=$1
	shift
	printf " $prefix%s" "$@"
}

# TLS for clients and servers, keys of RSA and elliptic curves; nothing that is loaded at run time.
build_openssl() (
	cd openssl
	case ${TARGET:-$(uname -m)} in
	x86_64*) machine=linux-x86_64 ;;
	aarch64*) machine=linux-aarch64 ;;
	*) die "no OpenSSL for $TARGET" ;;
	esac
	without=$(options no- shared tests engine afalgeng dso module legacy fips autoload-config cms cmp ct ts ocsp srp psk dtls \
		srtp nextprotoneg comp rfc3779 ui-console ssl3 ssl-trace aria bf blake2 camellia cast des dsa ec2m gost idea md4 \
		mdc2 ocb rc2 rc4 rc5 rmd160 scrypt seed siphash siv sm2 sm3 sm4 whirlpool)
	# shellcheck disable=SC2086
	logged openssl env CC="$CC" ./Configure $machine $without --prefix=/usr --openssldir=/usr/lib/ssl $small $flags
	logged openssl make -j2 build_generated
	logged openssl make -j2 libcrypto.a libssl.a
	cp -r include/openssl "$dir/include/"
	cp libcrypto.a libssl.a "$dir/lib/"
)

# The last two patches are for builds with other TLS libraries. What configure was made of is not to be made anew.
build_curl() (
	cd curl
	patch -R -p1 -s <debian/patches/99_nss.patch
	patch -R -p1 -s <debian/patches/90_gnutls.patch
	find . -name '*.in' -o -name configure -o -name aclocal.m4 | xargs touch
	without=$(options --disable- shared ftp file rtsp dict telnet tftp pop3 imap smb smtp gopher mqtt ldap ldaps manual ntlm \
		cookies alt-svc hsts netrc doh openssl-auto-load-config)$(options --without- brotli zstd libpsl libidn2 librtmp \
		libssh2 ca-bundle ca-path)
	# shellcheck disable=SC2086
	logged curl env CC="$CC" ./configure -q --enable-static --with-openssl="$dir" --with-nghttp2 --with-zlib $without \
		${TARGET:+--host=$TARGET} CFLAGS="$small $flags" LIBS="-lpthread -ldl"
	logged curl make -j2 -C lib
	cp -r include/curl "$dir/include/"
	cp lib/.libs/libcurl.a "$dir/lib/"
)

# Tables and indices; as the distribution has it where that matters to who keeps data.
build_sqlite() (
	cd sqlite3
	# The one file that it is compiled as is made here, for whatever machine.
	logged sqlite env CC=gcc ./configure --disable-shared
	logged sqlite make sqlite3.c
	# shellcheck disable=SC2086
	logged sqlite $CC $fast $flags $(options -DSQLITE_ THREADSAFE=1 SECURE_DELETE USE_URI=1 OMIT_LOAD_EXTENSION OMIT_JSON OMIT_DEPRECATED \
		OMIT_SHARED_CACHE OMIT_UTF16 OMIT_AUTHORIZATION OMIT_TRACE) -c sqlite3.c -o sqlite3.o
	ar rcD "$dir/lib/libsqlite3.a" sqlite3.o
)

exec 9>"$dir/lock"
flock 9
# By this very script: another one builds others.
if [ -e "$dir/SOURCES" ] && cmp -s "$tools/static_libraries.sh" "$dir/made-by"; then
	touch "$dir/SOURCES"
	exit
fi
rm -rf "$dir/SOURCES" "$dir/work" "$dir/include" "$dir/lib" "$dir/copyright" "$dir"/*.log
mkdir -p "$dir/work" "$dir/include" "$dir/lib" "$dir/copyright"
cd "$dir/work"
# Else OpenSSL tells when it was built.
export SOURCE_DATE_EPOCH=0
fetch
build_sqlite
build_openssl
build_curl
cp "$tools/static_libraries.sh" "$dir/made-by"
mv SOURCES.new "$dir/SOURCES"
rm -rf "$dir/work"
