// SPDX-License-Identifier: Apache-2.0
#include "pipeline/arrivals.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static struct arrival read_at[ARRIVALS_MAX];

static void add(struct arrivals *arrivals, u64 samples)
{
	arrivals_add(arrivals, &(struct arrival){ .kind = ARRIVAL_REQUEST, .samples = samples });
}

TEST(arrivals_come_back_in_order)
{
	_cleanup_(arrivals_freep) struct arrivals *arrivals = arrivals_new();

	EQ(arrivals_read(arrivals, 0, ARRIVALS_MAX, read_at), 0);
	for (u64 i = 1; i <= 5; i++)
		add(arrivals, 10 * i);
	EQ(arrivals_read(arrivals, 0, ARRIVALS_MAX, read_at), 5);
	EQ(read_at[0].number, 1);
	EQ(read_at[4].samples, 50);
	EQ(arrivals_read(arrivals, 3, ARRIVALS_MAX, read_at), 2);
	EQ(read_at[0].number, 4);
	EQ(arrivals_read(arrivals, 0, 2, read_at), 2);
	EQ(read_at[1].number, 5);
	EQ(arrivals_read(arrivals, 99, 2, read_at), 0);
	EQ(arrivals_last(arrivals), 5);
}

TEST(arrivals_make_room_for_newer_ones)
{
	_cleanup_(arrivals_freep) struct arrivals *arrivals = arrivals_new();

	arrivals_add(arrivals, &(struct arrival){ .level = LOG_LEVEL_ERROR, .samples = 1 });
	for (u64 i = 2; i <= 3 * ARRIVALS_EACH + 7; i++)
		add(arrivals, i);
	arrivals_add(arrivals, &(struct arrival){ .level = LOG_LEVEL_WARN });
	EQ(arrivals_read(arrivals, 0, UINT32_MAX, read_at), ARRIVALS_EACH + 2);
	/* What went wrong is not driven out by what did not. */
	EQ(read_at[0].number, 1);
	EQ(read_at[1].number, 2 * ARRIVALS_EACH + 8);
	EQ(read_at[1].samples, read_at[1].number);
	EQ(read_at[ARRIVALS_EACH + 1].number, 3 * ARRIVALS_EACH + 8);
	EQ(arrivals_read(arrivals, 3 * ARRIVALS_EACH + 6, UINT32_MAX, read_at), 2);
	EQ(read_at[0].level, LOG_LEVEL_DEBUG);
	EQ(read_at[1].level, LOG_LEVEL_WARN);
}

TEST(arrivals_hear_warnings_and_nothing_less)
{
	_cleanup_(arrivals_freep) struct arrivals *arrivals = arrivals_new();
	char endless[2000];
	int fd = open("/dev/null", O_WRONLY);

	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	log_setup(&(struct log_options){ .level = LOG_LEVEL_INFO, .fd = fd });
	log_watch(arrivals_log, arrivals);
	log_info("part", "all is well");
	log_warn("part", "%d are missing", 3);
	log_error("other", "%s", endless);
	log_watch(NULL, NULL);
	log_error("part", "nobody listens");
	EQ(arrivals_read(arrivals, 0, ARRIVALS_MAX, read_at), 2);
	EQ(read_at[0].kind, ARRIVAL_LOG);
	EQ(read_at[0].level, LOG_LEVEL_WARN);
	STREQ(read_at[0].component, "part");
	STREQ(read_at[0].text, "3 are missing");
	EQ(strlen(read_at[1].text), sizeof(read_at[1].text) - 1);
	close(fd);
}

TEST(arrivals_may_be_nobodys)
{
	add(NULL, 1);
	EQ(arrivals_read(NULL, 0, 1, read_at), 0);
}

static struct arrivals_sender senders[ARRIVALS_SENDERS_MAX];

static void send_as(struct arrivals *arrivals, const char *peer, const char *agent, u64 time_ns, enum log_level level)
{
	struct arrival arrival = { .kind = ARRIVAL_REQUEST, .time_ns = time_ns, .level = level, .samples = 3 };

	ARRIVAL_TEXT(arrival.peer, peer);
	ARRIVAL_TEXT(arrival.agent, agent);
	arrivals_add(arrivals, &arrival);
}

TEST(arrivals_know_who_sends_by_address_and_name)
{
	_cleanup_(arrivals_freep) struct arrivals *arrivals = arrivals_new();

	send_as(arrivals, "10.0.0.1:4000", "agent/1", 5, LOG_LEVEL_INFO);
	send_as(arrivals, "10.0.0.1:4001", "agent/1", 9, LOG_LEVEL_ERROR);
	send_as(arrivals, "10.0.0.1:4002", "agent/2", 7, LOG_LEVEL_INFO);
	send_as(arrivals, "[::1]:80", "agent/2", 8, LOG_LEVEL_INFO);
	arrivals_add(arrivals, &(struct arrival){ .kind = ARRIVAL_LOG, .level = LOG_LEVEL_WARN });
	EQ(arrivals_senders(arrivals, ARRIVALS_SENDERS_MAX, senders), 3);
	STREQ(senders[0].peer, "10.0.0.1");
	STREQ(senders[0].agent, "agent/1");
	EQ(senders[0].first_ns, 5);
	EQ(senders[0].last_ns, 9);
	EQ(senders[0].requests, 2);
	EQ(senders[0].refused, 1);
	EQ(senders[0].samples, 6);
	STREQ(senders[2].peer, "[::1]");
	EQ(arrivals_senders(arrivals, 1, senders), 1);
	EQ(arrivals_senders(NULL, 1, senders), 0);
}

TEST(arrivals_forget_who_was_silent_longest)
{
	_cleanup_(arrivals_freep) struct arrivals *arrivals = arrivals_new();
	char peer[32];
	u32 count;

	for (u64 i = 0; i < ARRIVALS_SENDERS_MAX + 2; i++) {
		(void)snprintf(peer, sizeof(peer), "host-%llu", i);
		send_as(arrivals, peer, "", i + 1, LOG_LEVEL_INFO);
		send_as(arrivals, "host-0", "", 1000 + i, LOG_LEVEL_INFO);
	}
	count = arrivals_senders(arrivals, ARRIVALS_SENDERS_MAX, senders);
	EQ(count, ARRIVALS_SENDERS_MAX);
	STREQ(senders[0].peer, "host-0");
	for (u32 i = 0; i < count; i++)
		OK(strcmp(senders[i].peer, "host-1") && strcmp(senders[i].peer, "host-2"));
}
