// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch.h"

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/notify.h"
#include "test.h"

#define S 1000000000ull

static int other_end;
static char heard[1024];
static struct watch_part parts[2];

static struct notify open_pair(u64 watchdog_ns)
{
	int pair[2];

	EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
	other_end = pair[1];
	parts[0] = (struct watch_part){ "the service", S, true, NULL };
	parts[1] = (struct watch_part){ "the sampler a", S, true, NULL };
	return (struct notify){ .fd = pair[0], .watchdog_ns = watchdog_ns };
}

static void close_pair(struct notify *notify)
{
	notify_close(notify);
	close(other_end);
}

/* All that was told since, each ended by a bar. */
static const char *hear(void)
{
	size_t len = 0;
	ssize_t got;

	while ((got = recv(other_end, heard + len, sizeof(heard) - len - 2, MSG_DONTWAIT)) > 0) {
		len += (size_t)got;
		heard[len++] = '|';
	}
	heard[len] = '\0';
	return heard;
}

static struct watch_state at(u64 now_ns)
{
	return (struct watch_state){ .now_ns = now_ns, .is_ready = true, .patience_ns = 10 * S, .parts = parts,
				     .part_count = 2 };
}

TEST(watch_tells_each_change_once)
{
	struct notify notify = open_pair(0);
	struct watch_state state = at(2 * S);

	state.is_ready = parts[0].is_ready = false;
	watch_tell(&notify, &state);
	STREQ(hear(), "STATUS=starts|");
	watch_tell(&notify, &state);
	STREQ(hear(), "");
	state.is_ready = parts[0].is_ready = true;
	watch_tell(&notify, &state);
	STREQ(hear(), "READY=1\nSTATUS=samples this machine|");
	parts[1].is_ready = false;
	watch_tell(&notify, &state);
	STREQ(hear(), "STATUS=the sampler a is started again|");
	parts[1].failure = "no\nBTF";
	watch_tell(&notify, &state);
	STREQ(hear(), "STATUS=the sampler a cannot start: no BTF|");
	EQ(watch_due_ns(&notify), UINT64_MAX);
	close_pair(&notify);
}

TEST(watch_tells_of_reloads_and_of_the_end)
{
	struct notify notify = open_pair(0);
	struct watch_state state = at(2 * S);

	watch_tell(&notify, &state);
	(void)hear();
	state.is_reloading = true;
	watch_tell(&notify, &state);
	OK(!strncmp(hear(), "RELOADING=1\nMONOTONIC_USEC=", 27));
	OK(strstr(heard, "\nSTATUS=loads the configuration again|"));
	state.is_reloading = false;
	state.is_stale = true;
	watch_tell(&notify, &state);
	STREQ(hear(), "READY=1\nSTATUS=samples this machine; the newest configuration was refused, the one before "
		      "goes on|");
	state.is_stopping = true;
	watch_tell(&notify, &state);
	STREQ(hear(), "STOPPING=1\nSTATUS=stops: what is under way is sent|");
	watch_tell(&notify, &state);
	STREQ(hear(), "");
	close_pair(&notify);
}

TEST(watch_tells_the_watchdog_while_all_parts_go_on)
{
	struct notify notify = open_pair(8 * S);
	struct watch_state state = at(2 * S);

	watch_tell(&notify, &state);
	OK(strstr(hear(), "|WATCHDOG=1|"));
	EQ(watch_due_ns(&notify), 4 * S);
	state.now_ns = 3 * S;
	watch_tell(&notify, &state);
	STREQ(hear(), "");
	state.now_ns = 5 * S;
	watch_tell(&notify, &state);
	STREQ(hear(), "WATCHDOG=1|");
	parts[0].alive_ns = 7 * S;
	state.now_ns = 7 * S;
	watch_tell(&notify, &state);
	STREQ(hear(), "STATUS=the sampler a does not go on; the watchdog is not told otherwise|");
	parts[1].alive_ns = 8 * S;
	state.now_ns = 9 * S;
	watch_tell(&notify, &state);
	STREQ(hear(), "STATUS=samples this machine|WATCHDOG=1|");
	close_pair(&notify);
}

TEST(watch_is_patient_with_starts_and_reloads_not_for_ever)
{
	struct notify notify = open_pair(8 * S);
	struct watch_state state = at(8 * S);

	parts[0].alive_ns = 8 * S;
	parts[1].is_ready = false;
	watch_tell(&notify, &state);
	OK(strstr(hear(), "WATCHDOG=1|"));
	state.now_ns = parts[0].alive_ns = 10 * S;
	watch_tell(&notify, &state);
	OK(!strstr(hear(), "WATCHDOG=1"));
	state.is_reloading = true;
	state.now_ns = parts[0].alive_ns = 12 * S;
	watch_tell(&notify, &state);
	OK(strstr(hear(), "WATCHDOG=1|"));
	state.now_ns = parts[0].alive_ns = 20 * S;
	watch_tell(&notify, &state);
	OK(!strstr(hear(), "WATCHDOG=1"));
	parts[1].failure = "no rights";
	state.is_reloading = false;
	state.now_ns = parts[0].alive_ns = 30 * S;
	watch_tell(&notify, &state);
	OK(strstr(hear(), "WATCHDOG=1|"));
	close_pair(&notify);
}
