// SPDX-License-Identifier: Apache-2.0
#include "proc/containers.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/lock.h"
#include "base/thread.h"
#include "proc/cgroup.h"
#include "proc/engine_api.h"
#include "proc/engine_socket.h"

#define WAYS 4			/* of a set */
#define SETS (CONTAINERS_KEPT / WAYS)
#define FAILED_NS 60000000000ull
#define LABEL_BYTES 100
#define PAUSE_MS 5		/* between containers: whoever has a cgroup delegated can invent any number of them */

static const char *const usual_sockets[] = {
	"docker:/run/docker.sock", "docker:/run/podman/podman.sock", "cri:/run/containerd/containerd.sock",
	"cri:/run/k3s/containerd/containerd.sock", "cri:/var/snap/microk8s/common/run/containerd.sock",
	"cri:/run/crio/crio.sock",
};

enum entry_state { ENTRY_NONE, ENTRY_ASKED, ENTRY_KNOWN, ENTRY_UNKNOWN };

struct entry {
	char id[CONTAINER_ID_BYTES + 1];
	enum entry_state state;
	u64 time_ns;			/* when it was asked for */
	u64 again_ns;			/* UNKNOWN since somebody failed: it may be asked for again then; 0: never */
	struct container_about *about;	/* KNOWN */
};

/* A container that is to be asked for. */
struct wanted {
	char id[CONTAINER_ID_BYTES + 1], name_space[CGROUP_NAME_BYTES + 1];
	bool by_docker, by_cri;
};

struct engine {
	char *path;
	bool is_docker;
	u64 resting_ns;		/* until then it is not asked */
};

struct containers {
	struct engine engines[CONTAINER_SOCKETS_MAX];
	u32 engine_count;
	struct container_labels labels;		/* owned */
	int stop_fd;
	struct thread thread;			/* the owner's alone */
	pthread_mutex_t lock;			/* of what follows */
	pthread_cond_t more;
	bool is_over;
	struct wanted waiting[CONTAINERS_WAITING];
	u32 first, waiting_count;
	struct containers_stats stats;
	struct entry entries[SETS][WAYS];
};

/* ---- Options ----------------------------------------------------------------------------------- */

/* The path behind docker: or cri:, NULL if it is neither. */
static const char *path_of(const char *socket, bool *ret_is_docker)
{
	const char *colon = strchr(socket, ':');
	size_t len = colon ? (size_t)(colon - socket) : 0;

	*ret_is_docker = len == 6 && !memcmp(socket, "docker", 6);
	if (!*ret_is_docker && !(len == 3 && !memcmp(socket, "cri", 3)))
		return NULL;
	return colon[1] == '/' && strlen(colon + 1) < sizeof(((struct sockaddr_un *)0)->sun_path) ? colon + 1 : NULL;
}

int containers_check(const struct containers_options *o, struct buf *why)
{
	bool is_docker;

	if (o->socket_count > CONTAINER_SOCKETS_MAX || o->labels.count > CONTAINER_LABELS_MAX) {
		buf_addf(why, "there are more than %d sockets of engines, or labels of containers",
			 CONTAINER_SOCKETS_MAX);
		return -EINVAL;
	}
	for (u32 i = 0; i < o->socket_count; i++) {
		if (path_of(o->sockets[i], &is_docker))
			continue;
		buf_addf(why, "\"%.80s\" is no socket of an engine; write docker:/PATH or cri:/PATH", o->sockets[i]);
		return -EINVAL;
	}
	for (u32 i = 0; i < o->labels.count; i++) {
		if (*o->labels.at[i] && !strchr(o->labels.at[i], '=') && strlen(o->labels.at[i]) <= LABEL_BYTES)
			continue;
		buf_addf(why, "\"%.40s\" is not the key of a label", o->labels.at[i]);
		return -EINVAL;
	}
	return 0;
}

static int copy_options(struct containers *c, const struct containers_options *o)
{
	const char *const *sockets = o->socket_count ? o->sockets : usual_sockets;
	u32 count = o->socket_count ? o->socket_count : sizeof(usual_sockets) / sizeof(*usual_sockets);
	char **labels = calloc(o->labels.count + 1, sizeof(*labels));

	c->labels.at = (const char *const *)labels;
	if (!labels)
		return -ENOMEM;
	for (u32 i = 0; i < o->labels.count; i++) {
		labels[i] = strdup(o->labels.at[i]);
		if (!labels[i])
			return -ENOMEM;
		c->labels.count++;
	}
	for (u32 i = 0; i < count; i++) {
		struct engine *engine = &c->engines[i];
		const char *path = path_of(sockets[i], &engine->is_docker);

		engine->path = strdup(path);
		if (!engine->path)
			return -ENOMEM;
		c->engine_count++;
	}
	return 0;
}

int containers_new(const struct containers_options *options, struct containers **ret_containers, struct buf *why)
{
	_cleanup_(containers_freep) struct containers *c = NULL;
	int r = containers_check(options, why);

	*ret_containers = NULL;
	if (r < 0 || options->is_off)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->more, NULL);
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	r = c->stop_fd < 0 ? -errno : copy_options(c, options);
	if (r < 0)
		return r;
	*ret_containers = TAKE(c);
	return 0;
}

static void end_thread(struct containers *c)
{
	const u64 one = 1;

	pthread_mutex_lock(&c->lock);
	c->is_over = true;
	pthread_mutex_unlock(&c->lock);
	/* Should it fail, the question that is open has its time all the same. */
	(void)!write(c->stop_fd, &one, sizeof(one));
	pthread_cond_signal(&c->more);
	thread_join(&c->thread);
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	end_thread(c);
	for (u32 i = 0; i < SETS * WAYS; i++)
		free(c->entries[i / WAYS][i % WAYS].about);
	for (u32 i = 0; i < c->engine_count; i++)
		free(c->engines[i].path);
	for (u32 i = 0; i < c->labels.count; i++)
		free((char *)c->labels.at[i]);
	free((void *)c->labels.at);
	closep(&c->stop_fd);
	pthread_cond_destroy(&c->more);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* ---- The thread ---------------------------------------------------------------------------------- */

/* 1: it is known; 0: not there; -errno: it does not answer. */
static int ask_by(struct containers *c, const struct engine *engine, enum engine_api api, const struct wanted *w,
		  u64 deadline_ns, struct container_about *ret_about)
{
	_cleanup_(buf_done) struct buf question, answer;
	int r;

	buf_init(&question, 4096);
	buf_init(&answer, ENGINE_ANSWER_MAX);
	engine_api_ask(api, w->id, *w->name_space ? w->name_space : "default", &question);
	r = engine_socket_ask(engine->path, &question, engine_api_is_grpc(api), c->stop_fd, deadline_ns, &answer);
	return r < 0 ? r : engine_api_read(api, w->id, &c->labels, answer.data, answer.len, ret_about);
}

static int ask_engine(struct containers *c, const struct engine *engine, const struct wanted *w, u64 deadline_ns,
		      struct container_about *ret_about)
{
	int r = ask_by(c, engine, engine->is_docker ? ENGINE_DOCKER : ENGINE_CRI, w, deadline_ns, ret_about);

	/* What Kubernetes has not started, containerd may have. */
	if (r == 0 && !engine->is_docker)
		r = ask_by(c, engine, ENGINE_CONTAINERD, w, deadline_ns, ret_about);
	return r;
}

static bool is_nobody(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -EACCES || r == -EPERM || r == -ENOTDIR;
}

/* 1, 0, or -EAGAIN: somebody who might know did not answer. */
static int ask_all(struct containers *c, const struct wanted *w, struct container_about *ret_about, u64 *failed)
{
	u64 now_ns = monotonic_ns(), deadline_ns = now_ns + ENGINE_TIME_NS;
	int result = 0;

	for (u32 i = 0; i < c->engine_count; i++) {
		struct engine *engine = &c->engines[i];
		int r;

		if (!(engine->is_docker ? w->by_docker : w->by_cri))
			continue;
		if (now_ns < engine->resting_ns) {
			result = -EAGAIN;
			continue;
		}
		r = ask_engine(c, engine, w, deadline_ns, ret_about);
		if (r > 0)
			return r;
		if (r == 0 || is_nobody(r))
			continue;
		engine->resting_ns = now_ns + FAILED_NS;
		result = -EAGAIN;
		(*failed)++;
	}
	return result;
}

static struct entry *set_of(struct containers *c, const char *id)
{
	return c->entries[((u32)hex_digit(id[0]) << 4 | (u32)hex_digit(id[1])) % SETS];
}

static struct entry *find(struct containers *c, const char *id)
{
	struct entry *set = set_of(c, id);

	for (u32 i = 0; i < WAYS; i++)
		if (set[i].state != ENTRY_NONE && !strcmp(set[i].id, id))
			return &set[i];
	return NULL;
}

static void note(struct containers *c, const struct wanted *w, int r, const struct container_about *about, u64 failed)
{
	struct container_about *copy = r == 1 ? malloc(sizeof(*copy)) : NULL;
	struct entry *entry;

	if (copy)
		*copy = *about;
	LOCKED(&c->lock);
	c->stats.asked++;
	c->stats.found += r == 1;
	c->stats.failed += failed;
	entry = find(c, w->id);
	if (!entry) {		/* it was driven out meanwhile */
		free(copy);
		return;
	}
	entry->state = copy ? ENTRY_KNOWN : ENTRY_UNKNOWN;
	entry->again_ns = copy || r == 0 ? 0 : monotonic_ns() + FAILED_NS;
	free(entry->about);
	entry->about = copy;
}

/* False: it is to end. */
static bool wait_for_one(struct containers *c, struct wanted *ret_wanted)
{
	LOCKED(&c->lock);
	while (!c->waiting_count && !c->is_over)
		pthread_cond_wait(&c->more, &c->lock);
	if (c->is_over)
		return false;
	*ret_wanted = c->waiting[c->first];
	c->first = (c->first + 1) % CONTAINERS_WAITING;
	c->waiting_count--;
	return true;
}

static void *run(void *arg)
{
	struct containers *c = arg;
	struct wanted wanted;

	while (wait_for_one(c, &wanted)) {
		struct container_about about = { 0 };
		u64 failed = 0;
		int r = ask_all(c, &wanted, &about, &failed);

		note(c, &wanted, r, &about, failed);
		(void)poll(&(struct pollfd){ c->stop_fd, POLLIN, 0 }, 1, PAUSE_MS);
	}
	return NULL;
}

/* ---- The owner ----------------------------------------------------------------------------------- */

static bool is_word(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-_.", *text))
			return false;
	return true;
}

/* Of which engines may know it; false: none does. */
static bool want(const struct cgroup_place *place, struct wanted *ret_wanted)
{
	const char *runtime = place->runtime;

	*ret_wanted = (struct wanted){ 0 };
	memcpy(ret_wanted->id, place->container_id, sizeof(ret_wanted->id));
	ret_wanted->by_docker = !*runtime || !strcmp(runtime, "docker") || !strcmp(runtime, "podman");
	ret_wanted->by_cri = !*runtime || !strcmp(runtime, "containerd") || !strcmp(runtime, "cri-o");
	if (is_word(place->group))
		memcpy(ret_wanted->name_space, place->group, sizeof(ret_wanted->name_space));
	return strlen(place->container_id) == CONTAINER_ID_BYTES && (ret_wanted->by_docker || ret_wanted->by_cri);
}

/* The one that is driven out: an empty one, else the oldest. Those that are being asked for come last. */
static void take_entry(struct containers *c, const char *id)
{
	struct entry *set = set_of(c, id), *worst = &set[0];

	for (u32 i = 1; i < WAYS; i++)
		if (set[i].state != ENTRY_ASKED && (worst->state == ENTRY_ASKED || set[i].time_ns < worst->time_ns))
			worst = &set[i];
	free(worst->about);
	*worst = (struct entry){ .state = ENTRY_ASKED, .time_ns = monotonic_ns() };
	memcpy(worst->id, id, sizeof(worst->id));
}

static int ask(struct containers *c, const struct wanted *wanted, struct entry *again)
{
	if (c->waiting_count == CONTAINERS_WAITING) {
		c->stats.late++;
		return -EAGAIN;
	}
	if (!c->thread.is_started && thread_start(&c->thread, "wick-engines", run, c) < 0)
		return -EBUSY;
	if (again) {
		again->state = ENTRY_ASKED;
		again->again_ns = 0;
	} else {
		take_entry(c, wanted->id);
	}
	c->waiting[(c->first + c->waiting_count++) % CONTAINERS_WAITING] = *wanted;
	pthread_cond_signal(&c->more);
	return -EAGAIN;
}

int containers_find(struct containers *c, const struct cgroup_place *place, struct container_about *ret_about)
{
	struct wanted wanted;
	struct entry *entry;

	if (!c || !want(place, &wanted))
		return 0;
	LOCKED(&c->lock);
	entry = find(c, wanted.id);
	if (!entry || (entry->again_ns && monotonic_ns() >= entry->again_ns))
		return ask(c, &wanted, entry);
	if (entry->state == ENTRY_KNOWN)
		*ret_about = *entry->about;
	if (entry->state == ENTRY_ASKED)
		return -EAGAIN;
	return entry->again_ns ? -EBUSY : entry->state == ENTRY_KNOWN;
}

struct containers_stats containers_stats(struct containers *c)
{
	if (!c)
		return (struct containers_stats){ 0 };
	LOCKED(&c->lock);
	return c->stats;
}
