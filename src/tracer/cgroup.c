// SPDX-License-Identifier: Apache-2.0
#include "tracer/cgroup.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <bpf/btf.h>

#include "base/buf.h"
#include "base/cleanup.h"

static void btf_freep(struct btf **btf)
{
	btf__free(*btf);
}

static void pclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* The index of a controller: its enumerator depends on how the kernel was configured. */
static int subsystem_index(const char *controller)
{
	_cleanup_(btf_freep) struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	const struct btf_enum *e;
	char name[64];
	int id;

	if (!btf)
		return -errno;
	id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	if (id < 0)
		return id;
	type = btf__type_by_id(btf, (u32)id);
	e = btf_enum(type);
	snprintf(name, sizeof(name), "%s_cgrp_id", controller);
	for (u32 i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, e[i].name_off), name))
			return e[i].val;
	return -ENOENT;
}

/* The controllers of a version 1 hierarchy stand among the mount options of its device. */
static int find_controller(dev_t device)
{
	_cleanup_(pclosep) FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096], wanted[32];

	if (!file)
		return -errno;
	snprintf(wanted, sizeof(wanted), " %u:%u ", major(device), minor(device));
	while (fgets(line, sizeof(line), file)) {
		char *options = strstr(line, " - cgroup "), *save = NULL;

		if (!options || !strstr(line, wanted))
			continue;
		options[strcspn(options, "\n")] = '\0';
		options = strrchr(options, ' ');
		for (char *word = strtok_r(options, " ,", &save); word; word = strtok_r(NULL, " ,", &save)) {
			int index = subsystem_index(word);

			if (index >= 0)
				return index;
		}
	}
	return -ENOENT;
}

int cgroup_find(const char *path, struct cgroup_filter *ret_filter, struct buf *why)
{
	struct cgroup_filter filter = { .subsystem = -1 };
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || statfs(path, &fs) < 0) {
		int error = errno;

		buf_addf(why, "cannot open the cgroup %s: %s", path, strerror(error));
		return -error;
	}
	if (fs.f_type == CGROUP_SUPER_MAGIC) {
		filter.subsystem = find_controller(st.st_dev);
		if (filter.subsystem < 0) {
			buf_addf(why, "%s is in a cgroup hierarchy without a controller; name the same group below "
				      "another, such as /sys/fs/cgroup/cpuacct", path);
			return filter.subsystem;
		}
	} else if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		buf_addf(why, "%s is not a cgroup; give its directory, such as /sys/fs/cgroup/system.slice", path);
		return -EINVAL;
	}
	filter.id = st.st_ino;
	*ret_filter = filter;
	return 0;
}
