// SPDX-License-Identifier: Apache-2.0
#include "proc/cgroup.h"

#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OUTER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abffff"
#define UID "2f9000e3-f733-4dfe-917e-c12b1627d186"
#define UID_ "2f9000e3_f733_4dfe_917e_c12b1627d186"
#define HASH "5dbc1a9c8f5a4b7e9d0c1b2a39485766"
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"

static const struct {
	const char *text, *id, *name, *runtime, *pod, *unit;
} cases[] = {
	/* Docker */
	{ "0::/system.slice/docker-" ID ".scope\n", ID, "", "docker", "", "" },
	{ "12:memory:/docker/" ID "\n0::/\n", ID, "", "docker", "", "" },
	{ "0::/system.slice/docker-" ID ".scope/init.scope\n", ID, "", "docker", "", "" },
	{ "0::/system.slice/docker-" ID ".scope/system.slice/nginx.service\n", ID, "", "docker", "", "nginx" },
	/* Kubernetes with containerd */
	{ "0::" POD "cri-containerd-" ID ".scope\n", ID, "", "containerd", UID, "" },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope\n",
	  ID, "", "containerd", UID, "" },
	{ "11:cpu:/kubepods/burstable/pod" UID "/" ID "\n", ID, "", "", UID, "" },
	{ "0::/kubepods/pod" HASH "/" ID "\n", ID, "", "", HASH, "" },
	{ "4:memory:/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID "\n",
	  ID, "",
	  "containerd", UID, "" },
	/* ... CRI-O, and the process that watches a container */
	{ "0::" POD "crio-" ID ".scope/container\n", ID, "", "cri-o", UID, "" },
	{ "3:cpu:/kubepods/besteffort/pod" UID "/crio-" ID "\n", ID, "", "cri-o", UID, "" },
	{ "0::" POD "crio-conmon-" ID ".scope\n", "", "", "", UID, "" },
	/* ... and cri-dockerd */
	{ "0::" POD "docker-" ID ".scope\n", ID, "", "docker", UID, "" },
	/* Podman, as root and as a user */
	{ "0::/machine.slice/libpod-" ID ".scope/container\n", ID, "", "podman", "", "" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope\n",
	  ID, "", "podman", "", "" },
	{ "0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "", "", "" },
	{ "7:pids:/libpod_parent/libpod-" ID "\n", ID, "", "podman", "", "" },
	/* containerd without Kubernetes */
	{ "0::/system.slice/nerdctl-" ID ".scope\n", ID, "", "containerd", "", "" },
	{ "0::/k8s.io/c1\n", "", "", "", "", "" },
	/* ECS on machines and on Fargate */
	{ "9:cpu:/ecs/" HASH "/" ID "\n", ID, "", "", "", "" },
	{ "9:cpu:/ecs/" HASH "/" HASH "-4025466147\n", HASH "-4025466147", "", "ecs", "", "" },
	{ "9:cpu:/ecs/" HASH "/" HASH "-40x\n", "", "", "", "", "" },
	/* Containers with names */
	{ "0::/lxc.payload.web1/system.slice/nginx.service\n", "", "web1", "lxc", "", "nginx" },
	{ "5:cpu:/lxc/web1\n", "", "web1", "lxc", "", "" },
	{ "0::/lxc.monitor.web1\n", "", "", "", "", "" },
	{ "0::/machine.slice/systemd-nspawn@db.service/payload\n", "", "db", "systemd-nspawn", "", "" },
	/* Others */
	{ "0::/garden/" UID "\n", UID, "", "garden", "", "" },
	{ "0::/system.slice/garden.service/garden/" UID "\n", UID, "", "garden", "", "" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-" UID ".scope\n", "", "", "", "", "" },
	{ "0::/docker/buildkit/uqg41hwl7ws5ocy9a8jqi9ylq\n", "uqg41hwl7ws5ocy9a8jqi9ylq", "", "buildkit", "", "" },
	/* A cluster in a container: the innermost counts */
	{ "0::/system.slice/docker-" OUTER ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	  ".slice/cri-containerd-" ID ".scope\n", ID, "", "containerd", UID, "" },
	{ "2:cpu:/docker/" OUTER "/kubelet/kubepods/besteffort/pod" UID "/" ID "\n", ID, "", "", UID, "" },
	/* Units of systemd */
	{ "1:name=systemd:/system.slice/nginx.service\n0::/\n", "", "", "", "", "nginx" },
	{ "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n", "", "", "", "", "postgresql" },
	{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox@1f.service\n",
	  "", "", "", "", "firefox" },
	{ "0::/user.slice/user-0.slice/session-3.scope\n", "", "", "", "", "" },
	{ "0::/init.scope\n", "", "", "", "", "" },
	/* Nothing, and no text of that kind */
	{ "0::/\n", "", "", "", "", "" },
	{ "", "", "", "", "", "" },
	{ "::::\n0\n0:\n\n:/x.service", "", "", "", "", "" },
	{ "0::/docker-0" ID ".scope", "", "", "", "", "" },
	/* Of several hierarchies that which tells most */
	{ "4:memory:/system.slice/a.service\n3:cpu:/docker/" ID "\n0::/\n", ID, "", "docker", "", "" },
};

TEST(cgroup_paths_tell_containers_pods_and_units)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cgroup_place place;

		cgroup_parse(cases[i].text, &place);
		if (strcmp(place.container_id, cases[i].id) || strcmp(place.container_name, cases[i].name) ||
		    strcmp(place.runtime, cases[i].runtime) || strcmp(place.pod_uid, cases[i].pod) ||
		    strcmp(place.unit, cases[i].unit))
			FAIL("%s: id %s, name %s, runtime %s, pod %s, unit %s", cases[i].text, place.container_id,
			     place.container_name, place.runtime, place.pod_uid, place.unit);
	}
}

TEST(cgroup_names_that_are_long_or_no_text_are_cut_and_cleaned)
{
	struct cgroup_place place;

	cgroup_parse("0::/lxc.payload.0123456789012345678901234567890123456789012345678901234567890123456\n", &place);
	EQ(strlen(place.container_name), CGROUP_NAME_BYTES);
	cgroup_parse("0::/a\tb\xff.service\n", &place);
	STREQ(place.unit, "a?b?");
}

TEST(cgroup_knows_where_cpu_time_is_counted)
{
	static const struct {
		const char *text, *path;
	} counted[] = {
		{ "0::/system.slice/nginx.service\n", "/system.slice/nginx.service" },
		{ "0::/\n", "/" },
		{ "4:memory:/a\n2:cpu,cpuacct:/b/c\n0::/d\n", "cpuacct:/b/c" },
		{ "0::/d\n2:cpuacct:/\n", "cpuacct:/" },
		{ "5:xcpuacct:/a\n", "" },
		{ "0::", "" },
		{ "0::relative\n", "" },
		{ "nothing\n0::/x", "/x" },
		{ "", "" },
	};
	char path[CGROUP_CPU_BYTES], text[1024];

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		cgroup_cpu_path(counted[i].text, path);
		STREQ(path, counted[i].path);
	}
	snprintf(text, sizeof(text), "0::/%0500d\n", 0);
	cgroup_cpu_path(text, path);
	STREQ(path, "");
}
