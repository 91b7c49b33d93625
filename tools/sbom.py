#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py FILE LINKED LIBRARIES ROOT OUT: what is in the one file of `make dist`, from what the linker says it has taken (LINKED, by
ld --trace), with versions and licences: OUT.spdx.json (SPDX 2.3), and OUT.licences.txt, the whole texts. LIBRARIES is the
folder of tools/static_libraries.sh; ROOT has the other archives, "/" or that of a cross build. The same file makes the same bytes."""
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# Archive: the package that has it, what it is called, its licence. Those of LIBRARIES have their source's name as package.
KNOWN = {
    "libbpf.a": ("libbpf-dev", "libbpf", "LGPL-2.1-only OR BSD-2-Clause"),
    "libdw.a": ("libdw-dev", "elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    "libelf.a": ("libelf-dev", "elfutils", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    "liblzma.a": ("liblzma-dev", "xz-utils", "LicenseRef-public-domain"),
    "libiberty.a": ("libiberty-dev", "libiberty", "LGPL-2.1-or-later AND (GPL-2.0-or-later WITH GCC-exception-2.0)"),
    "libz.a": ("zlib1g-dev", "zlib", "Zlib"),
    "libzstd.a": ("libzstd-dev", "zstd", "BSD-3-Clause OR GPL-2.0-only"),
    "libyaml.a": ("libyaml-dev", "libyaml", "MIT"),
    "libpcre2-8.a": ("libpcre2-dev", "pcre2", "BSD-3-Clause"),
    "libnghttp2.a": ("libnghttp2-dev", "nghttp2", "MIT"),
    "libcrypt.a": ("libcrypt-dev", "libxcrypt", "LGPL-2.1-or-later"),
    "libc.a": ("libc6-dev", "glibc", "LGPL-2.1-or-later"),
    "libm.a": ("libc6-dev", "glibc", "LGPL-2.1-or-later"),
    "libmvec.a": ("libc6-dev", "glibc", "LGPL-2.1-or-later"),
    "libpthread.a": ("libc6-dev", "glibc", "LGPL-2.1-or-later"),
    "libgcc.a": ("libgcc-12-dev", "libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc_eh.a": ("libgcc-12-dev", "libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libcurl.a": ("curl", "curl", "curl"),
    "libssl.a": ("openssl", "openssl", "Apache-2.0"),
    "libcrypto.a": ("openssl", "openssl", "Apache-2.0"),
    "libsqlite3.a": ("sqlite3", "sqlite", "blessing"),
}
HEADERS = {"libxxhash-dev": ("xxhash", "BSD-2-Clause")}


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def seconds():
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    said = subprocess.run(["git", "-C", TOP, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(said.stdout or 0)


def linked(path):
    """Names of the archives of which something is in the file."""
    text = read(path).decode()
    names = {os.path.basename(found) for found in re.findall(r"^\(?(\S+\.a)\)?\S*$", text, re.M)}
    return {re.sub(r"^libm-[\d.]+\.a$", "libm.a", name) for name in names}


class Packages:
    """Of the distribution: on this machine as dpkg knows them, in a root of a cross build as they were unpacked there."""

    def __init__(self, libraries, root):
        self.root = root
        self.libraries = libraries
        self.built = {line.split()[0]: line.split()[1:] for line in read(libraries, "SOURCES").decode().splitlines()}

    def describe(self, package):
        """Its version, and the text on its licence."""
        if package in self.built:
            return self.built[package][0], read(self.libraries, "copyright", package)
        if package == "libgcc-12-dev" and self.root != "/":
            package = "libgcc-s1"
        folder = os.path.join(self.root, "usr/share/doc", package)
        if self.root == "/":
            said = subprocess.run(["dpkg-query", "-W", "-f", "${source:Version}", package], capture_output=True, text=True, check=True)
            version = said.stdout
        else:
            version = re.search(r"\((\S+)\)", gzip.decompress(read(folder, "changelog.Debian.gz"))[:200].decode())[1]
        return version, read(folder, "copyright")

    def checksum(self, package):
        return self.built.get(package, (None, None))[1]


def components(archives, packages):
    """One for each library, however many archives it has; in the order of names."""
    unknown = sorted(archives - KNOWN.keys())
    if unknown:
        sys.exit(f"sbom.py: {', '.join(unknown)} is linked, and nothing is known of its licence: add it to KNOWN")
    found = {KNOWN[name][1]: (KNOWN[name][0], KNOWN[name][2]) for name in archives}
    found.update({name: (package, licence) for package, (name, licence) in HEADERS.items()})
    for name, (package, licence) in sorted(found.items()):
        version, text = packages.describe(package)
        yield {"name": name, "version": version, "licence": licence, "text": text.decode(errors="replace"), "sum": packages.checksum(package)}


def spdx_package(part):
    identity = re.sub(r"[^A-Za-z0-9.-]", "-", part["name"])
    package = {"SPDXID": f"SPDXRef-{identity}", "name": part["name"], "versionInfo": part["version"], "downloadLocation": "NOASSERTION",
               "filesAnalyzed": False, "licenseConcluded": part["licence"], "licenseDeclared": part["licence"], "copyrightText": "NOASSERTION",
               "supplier": "Organization: Debian",
               "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": f"pkg:deb/debian/{part['name']}@{part['version'].replace('+', '%2B')}?arch=source"}]}
    if part["sum"]:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": part["sum"]}]
        package["comment"] = "The sum is that of the source, of which wick has built what it uses (tools/static_libraries.sh)."
    return package


def document(binary, version, parts):
    digest = hashlib.sha256(binary).hexdigest()
    wick = {"SPDXID": "SPDXRef-wick", "name": "wick", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "Apache-2.0 AND (GPL-2.0-only OR Apache-2.0)", "licenseDeclared": "Apache-2.0 AND (GPL-2.0-only OR Apache-2.0)",
            "copyrightText": "NOASSERTION", "supplier": "NOASSERTION", "primaryPackagePurpose": "APPLICATION",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    packages = [spdx_package(part) for part in parts]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-wick")] + [("SPDXRef-wick", "STATIC_LINK", p["SPDXID"]) for p in packages]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"wick-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/wick-{version}-{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds())), "creators": ["Tool: wick-sbom"]},
            "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "name": "public domain",
                                            "extractedText": "liblzma has been put into the public domain by its authors."}],
            "packages": [wick] + packages,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations]}


def main(path, linked_path, libraries, root, out):
    version = read(TOP, "VERSION").decode().strip()
    parts = list(components(linked(linked_path), Packages(libraries, root)))
    with open(out + ".spdx.json", "w", encoding="utf-8") as file:
        json.dump(document(read(path), version, parts), file, indent=1, sort_keys=True)
        file.write("\n")
    with open(out + ".licences.txt", "w", encoding="utf-8") as file:
        file.write(f"wick {version} is under the Apache License 2.0 (LICENSE); its kernel half under GPL-2.0-only OR Apache-2.0.\n"
                   "What it is linked with, and what its packages in Debian say of each. LGPL libraries can be replaced by\n"
                   "building wick again: all that is needed is in its source and in Debian's archives.\n")
        for part in parts:
            file.write(f"\n{'=' * 100}\n{part['name']} {part['version']}: {part['licence']}\n{'=' * 100}\n\n{part['text']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
