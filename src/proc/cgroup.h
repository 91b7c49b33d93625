/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process runs, as the paths of its cgroups tell (/proc/PID/cgroup, v1
 * and v2): its container, pod and unit. Paths are made by container engines,
 * systemd and whoever has a cgroup delegated: nothing in them is trusted to be
 * more than text. The innermost that is found counts, since containers nest.
 *
 * No state.
 */
#ifndef PROC_CGROUP_H
#define PROC_CGROUP_H

#define CONTAINER_ID_BYTES 64
#define POD_UID_BYTES 36
#define CGROUP_NAME_BYTES 63

/* "" where there is none. */
struct cgroup_place {
	char container_id[CONTAINER_ID_BYTES + 1];
	char container_name[CGROUP_NAME_BYTES + 1];	/* where the path has it: LXC, systemd-nspawn */
	char group[CGROUP_NAME_BYTES + 1];	/* what an id alone is in: a namespace of containerd's */
	const char *runtime;			/* "docker", "containerd", "cri-o", "podman", "lxc" ...; static */
	char pod_uid[POD_UID_BYTES + 1];	/* of a static pod it is the hash of its configuration */
	char unit[CGROUP_NAME_BYTES + 1];	/* of systemd, without .service and instance; in a container its own */
};

/* The text is that of /proc/PID/cgroup, or some of its first lines. */
void cgroup_parse(const char *text, struct cgroup_place *ret_place);

/* Where the kernel counts its CPU time: "/path", or "cpuacct:/path" where that is version 1; "" if it is too long. */
#define CGROUP_CPU_BYTES 160
void cgroup_cpu_path(const char *text, char ret_path[CGROUP_CPU_BYTES]);

#endif
