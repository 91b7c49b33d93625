#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh VERSION [embedded]: compiles Victim.cs for a .NET (test/runtimes/install.sh), and prints the directory that Victim.dll
# is in; its PDB is beside it, or in it.
set -eu
here=$(dirname "$(readlink -f "$0")")
home=$("$here/../../runtimes/install.sh" dotnet "$1")
sdk=$("$here/../../runtimes/install.sh" dotnet sdk)
framework=$(echo "$home"/shared/Microsoft.NETCore.App/*/)
into=${home%/usr/lib/dotnet}/tmp/victim${2:+-$2}
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1

mkdir -p "$into"
exec 9>"$into/lock"
flock 9
echo "$into"
done=$into/Victim.runtimeconfig.json
[ ! -e "$done" ] || [ "$here/Victim.cs" -nt "$done" ] || exit 0
references=
for dll in "$framework"System*.dll "$framework"Microsoft*.dll "$framework"netstandard.dll "$framework"mscorlib.dll; do
	case $dll in
	*.Native.dll | *.DiaSymReader*) ;;
	*) references="$references -r:$dll" ;;
	esac
done
# The compiler alone: MSBuild would leave servers behind, and ask for packages.
# shellcheck disable=SC2086
"$sdk/dotnet" exec "$sdk"/sdk/*/Roslyn/bincore/csc.dll -nologo -noconfig -nostdlib -optimize+ "-debug:${2:-portable}" \
	-deterministic -out:"$into/Victim.dll" $references "$here/Victim.cs" >&2
printf '{ "runtimeOptions": { "framework": { "name": "Microsoft.NETCore.App", "version": "%s" } } }\n' \
	"$(basename "$framework")" >"$done"
