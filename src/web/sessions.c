// SPDX-License-Identifier: Apache-2.0
#include "web/sessions.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"

void sessions_init(struct sessions *s)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
}

void sessions_done(struct sessions *s)
{
	pthread_mutex_destroy(&s->lock);
}

static bool is_same(const char *id, const char *given)
{
	unsigned char difference = 0;

	for (u32 i = 0; i < SESSION_BYTES; i++)
		difference |= (unsigned char)(id[i] ^ given[i]);
	return !difference;
}

static bool is_good(const struct session *session, u64 now_ns)
{
	return session->id[0] && now_ns - session->begin_ns < SESSION_NS;
}

int sessions_begin(struct sessions *s, u64 now_ns, char ret_id[SESSION_BYTES])
{
	u8 random[(SESSION_BYTES - 1) / 2];
	struct session *free_one = &s->at[0];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	hex_write(random, sizeof(random), ret_id);
	ret_id[SESSION_BYTES - 1] = '\0';
	pthread_mutex_lock(&s->lock);
	for (u32 i = 1; i < SESSIONS_MAX; i++)
		if (is_good(free_one, now_ns) &&
		    (!is_good(&s->at[i], now_ns) || s->at[i].begin_ns < free_one->begin_ns))
			free_one = &s->at[i];
	memcpy(free_one->id, ret_id, SESSION_BYTES);
	free_one->begin_ns = now_ns;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* The session of an id, or NULL; the lock is held. */
static struct session *find(struct sessions *s, const char *id)
{
	struct session *found = NULL;
	char given[SESSION_BYTES] = "";

	if (strlen(id) != SESSION_BYTES - 1)
		return NULL;
	memcpy(given, id, SESSION_BYTES);
	for (u32 i = 0; i < SESSIONS_MAX; i++)
		if (is_same(s->at[i].id, given))
			found = &s->at[i];
	return found;
}

bool sessions_has(struct sessions *s, const char *id, u64 now_ns)
{
	const struct session *session;
	bool has;

	pthread_mutex_lock(&s->lock);
	session = find(s, id);
	has = session && is_good(session, now_ns);
	pthread_mutex_unlock(&s->lock);
	return has;
}

void sessions_end(struct sessions *s, const char *id)
{
	struct session *session;

	pthread_mutex_lock(&s->lock);
	session = find(s, id);
	if (session)
		*session = (struct session){ 0 };
	pthread_mutex_unlock(&s->lock);
}
