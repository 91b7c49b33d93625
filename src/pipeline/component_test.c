// SPDX-License-Identifier: Apache-2.0
#include "pipeline/component.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "pipeline/batch.h"
#include "pipeline/status.h"
#include "profile/profile.h"
#include "test.h"

struct fake {
	int result;
	struct batch *got;
};

static int fake_consume(void *self, struct batch *batch)
{
	struct fake *fake = self;

	fake->got = batch;
	return fake->result;
}

static int send_to(const int *results, u32 count)
{
	struct batch *batch = batch_from_profile(profile_new());
	struct consumer at[4];
	struct fake fakes[4];
	int r;

	for (u32 i = 0; i < count; i++) {
		fakes[i] = (struct fake){ results[i], NULL };
		at[i] = (struct consumer){ fake_consume, &fakes[i] };
	}
	r = consumers_send(&(struct consumers){ at, count }, batch);
	for (u32 i = 0; i < count; i++) {
		OK(fakes[i].got == batch);
		batch_unref(fakes[i].got);
	}
	return r;
}

TEST(consumers_all_get_the_batch_and_the_worst_result_counts)
{
	EQ(send_to(NULL, 0), 0);
	EQ(send_to((int[]){ 0, 0, 0 }, 3), 0);
	EQ(send_to((int[]){ 0, -EAGAIN, 0 }, 3), -EAGAIN);
	EQ(send_to((int[]){ -EAGAIN, -EBADMSG, 0 }, 3), -EBADMSG);
	EQ(send_to((int[]){ -EBADMSG, -EAGAIN, -EIO, 0 }, 4), -EBADMSG);
}

TEST(status_keeps_the_last_error_and_logs_changes)
{
	struct component_status status;
	struct status_view view;
	char text[4096] = "";
	struct log_options options = { .fd = memfd_create("log", 0), .level = LOG_LEVEL_DEBUG };

	log_setup(&options);
	status_init(&status, "otlp/x");
	status_read(&status, &view);
	EQ(view.health, HEALTH_STARTING);
	component_report(&status, HEALTH_OK, "");
	component_report(&status, HEALTH_RECOVERABLE, "no route");
	component_report(&status, HEALTH_RECOVERABLE, "no route to it");
	component_report(&status, HEALTH_OK, "");
	component_report(NULL, HEALTH_OK, "");
	status_read(&status, &view);
	EQ(view.health, HEALTH_OK);
	STREQ(view.last_error, "no route to it");
	OK(view.last_error_unix_ns > 0);
	OK(pread(options.fd, text, sizeof(text) - 1, 0) > 0);
	OK(strstr(text, "\twarn\totlp/x\tno route\n"));
	OK(!strstr(text, "no route to it"));
	OK(strstr(text, "\tinfo\totlp/x\tworks again\n"));
	STREQ(health_name(HEALTH_PERMANENT), "permanent error");
	status_done(&status);
}
