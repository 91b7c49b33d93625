// SPDX-License-Identifier: Apache-2.0
#include "proc/process_status.h"

#include <errno.h>
#include <unistd.h>

#include "test.h"

TEST(process_status_knows_whose_a_process_is_and_how_it_sees_itself)
{
	struct process_status status;

	EQ(process_status_read((u32)getpid(), &status), 0);
	EQ(status.real_uid, getuid());
	EQ(status.uid, geteuid());
	EQ(status.inner_pid, (u32)getpid());
	EQ(process_status_read(0x7fffffff, &status), -ENOENT);
}
