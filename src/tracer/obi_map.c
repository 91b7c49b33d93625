// SPDX-License-Identifier: Apache-2.0
#include "tracer/obi_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"

int obi_map_init(struct obi_map *map, const char *root, int threads_fd)
{
	*map = (struct obi_map){ .threads_fd = threads_fd };
	return asprintf(&map->path, "%s/%s", root, OBI_MAP_NAME) < 0 ? -ENOMEM : 0;
}

void obi_map_done(struct obi_map *map)
{
	free(TAKE(map->path));
}

/* The object that is pinned there, to be closed, and its number; -errno. */
static int open_pinned(const char *path, u32 *ret_id)
{
	LIBBPF_OPTS(bpf_obj_get_opts, options, .file_flags = BPF_F_RDONLY);
	int fd = bpf_obj_get_opts(path, &options);
	/* Of whatever it is: type and number are the first words that the kernel tells. */
	struct bpf_map_info info = { 0 };
	u32 bytes = sizeof(info);

	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &bytes)) {
		close(fd);
		return -EINVAL;
	}
	*ret_id = info.id;
	return fd;
}

static void take_out(struct obi_map *map)
{
	u32 zero = 0;

	if (map->state == OBI_USED)
		(void)bpf_map_delete_elem(map->threads_fd, &zero);	/* it is there */
}

void obi_map_look(struct obi_map *map)
{
	u32 zero = 0, id = 0;
	_cleanup_(closep) int fd = -1;

	if (!map->path)
		return;
	fd = open_pinned(map->path, &id);
	if (fd >= 0 && id == map->id)
		return;
	map->id = fd < 0 ? 0 : id;
	if (fd == -ENOENT || fd == -EACCES || fd == -EPERM) {
		take_out(map);
		map->state = OBI_ABSENT;
	} else if (fd >= 0 && !bpf_map_update_elem(map->threads_fd, &zero, &fd, BPF_ANY)) {
		map->state = OBI_USED;
		map->used++;
	} else {
		take_out(map);
		map->refused += map->state != OBI_REFUSED;
		map->state = OBI_REFUSED;
	}
}
