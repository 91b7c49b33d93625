// SPDX-License-Identifier: Apache-2.0
#include "tracer/kernel_check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

int kernel_names_read(struct kernel_names *ret_names)
{
	struct utsname u;
	FILE *file;

	if (uname(&u) < 0)
		return -errno;
	snprintf(ret_names->release, sizeof(ret_names->release), "%s", u.release);
	snprintf(ret_names->version, sizeof(ret_names->version), "%s", u.version);
	ret_names->signature[0] = '\0';
	file = fopen("/proc/version_signature", "re");
	if (!file)
		return 0;
	if (!fgets(ret_names->signature, sizeof(ret_names->signature), file))
		ret_names->signature[0] = '\0';
	fclose(file);
	return 0;
}

static bool read_version(const char *text, struct kernel_version *version)
{
	struct kernel_version v = { 0 };

	if (sscanf(text, "%5u.%5u.%5u", &v.major, &v.minor, &v.patch) < 2)
		return false;
	*version = v;
	return true;
}

/* The word after a distribution's name: "... Debian 6.1.153-1 (2025-09-20)". */
static bool version_after(const char *text, const char *name, struct kernel_version *version)
{
	const char *at = strstr(text, name);

	return at && read_version(at + strlen(name), version);
}

/* "Ubuntu 6.2.0-39.40-generic 6.2.16": the last word is the upstream release it is based on. */
static bool last_version(const char *text, struct kernel_version *version)
{
	const char *last = strrchr(text, ' ');

	return last && read_version(last + 1, version);
}

/* Whose kernel a release name shows, where fixes arrive without the version telling. */
static bool is_backporter(const struct kernel_names *names)
{
	static const char *const marks[] = { ".el8", ".el9", ".el10", "-default", "-pve", "-generic", "uek" };

	if (names->signature[0])
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (strstr(names->release, marks[i]))
			return true;
	}
	return false;
}

static bool true_version(const struct kernel_names *names, struct kernel_version *version)
{
	return last_version(names->signature, version) || version_after(names->version, "Debian ", version) ||
	       read_version(names->release, version);
}

/* Upstream, by release: the range of the fault less the stable releases that have the fix. */
static bool has_fault(struct kernel_version v)
{
	if (v.major == 5)
		return v.minor >= 19;
	if (v.major != 6)
		return false;
	switch (v.minor) {
	case 0:
	case 2:
		return true;
	case 1:
		return v.patch < 36;
	case 3:
		return v.patch < 10;
	default:
		return false;
	}
}

enum kernel_verdict kernel_check(const struct kernel_names *names, struct kernel_version *ret_version)
{
	struct kernel_version v = { 0 };
	bool known = true_version(names, &v);

	if (ret_version)
		*ret_version = v;
	if (!known)
		return KERNEL_UNSURE;
	/* The fix came during 6.4's release candidates. */
	if (v.major == 6 && v.minor == 4 && v.patch == 0 && strstr(names->release, "-rc"))
		return KERNEL_UNSURE;
	/* RHEL 9 calls itself 5.14 and carries memory management and BPF of far later kernels. */
	if (v.major == 5 && v.minor == 14 && strstr(names->release, ".el9"))
		return KERNEL_UNSURE;
	if (!has_fault(v))
		return KERNEL_SAFE;
	return is_backporter(names) ? KERNEL_UNSURE : KERNEL_FREEZES;
}

const char *kernel_verdict_text(enum kernel_verdict verdict)
{
	switch (verdict) {
	case KERNEL_SAFE:
		return "";
	case KERNEL_UNSURE:
		return "this kernel may lack the fix of a fault (Linux 5.19 to 6.3) by which reading user memory from "
		       "BPF can "
		       "freeze the machine; make sure your distribution has taken \"mm: Fix copy_from_user_nofault()\"";
	case KERNEL_FREEZES:
		return "on this kernel (Linux 5.19 to 6.3 without the fix of copy_from_user_nofault) profiling can "
		       "freeze the "
		       "machine; update to 6.1.36, 6.3.10, 6.4 or later, or use --no-kernel-version-check if it has "
		       "the fix";
	}
	return "";
}
