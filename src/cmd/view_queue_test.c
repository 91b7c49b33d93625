// SPDX-License-Identifier: Apache-2.0
#include "cmd/view_queue.h"

#include "analysis/queue_profile.h"
#include "analysis/queue_profile_test.h"
#include "base/buf.h"
#include "cmd/terminal.h"
#include "test.h"

static void view(const struct queue_profile *queue, struct buf *out)
{
	struct terminal terminal = { .fd = -1, .width = 100, .height = 30 };

	out->len = 0;
	view_queue(&terminal, queue, 1, out);
	buf_add(out, "", 1);
}

TEST(queue_of_a_profile_is_shown)
{
	_cleanup_(profile_freep) struct profile *p = queue_profile_of("lanes"), *waits = queue_profile_of("off_cpu");
	_cleanup_(queue_profile_freep) struct queue_profile *queue = NULL, *none = NULL;
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, 1 << 16);
	EQ(queue_profile_new(p, SUMMARY_PROCESS, &queue), 0);
	view(queue, &out);
	STREQ(out.data,
	      "     waits     in all half below  99% below    longest  who wanted a CPU\n"
	      "         6    6.24 ms     106 us    4.00 ms    4.00 ms  all\n"
	      "         3    5.10 ms    1.05 ms    4.00 ms    4.00 ms  shop (71)\n"
	      "                                                        1 more\n"
	      "\n"
	      "     below      waits\n"
	      "    65.5 us          1  ####################\n"
	      "     131 us          2  ########################################\n"
	      "     262 us          0  \n"
	      "     524 us          0  \n"
	      "    1.05 ms          2  ########################################\n"
	      "    2.10 ms          0  \n"
	      "    4.19 ms          1  ####################\n");
	EQ(queue_profile_new(waits, SUMMARY_PROCESS, &none), 0);
	view(none, &out);
	STREQ(out.data, "There are no lanes in this profile: record it with -e lanes.\n");
}
