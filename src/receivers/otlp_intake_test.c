// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_intake.h"

#include <errno.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_json.h"
#include "wire/pb.h"

struct fixture {
	struct metrics *metrics;
	struct otlp_intake intake;
	struct consumer consumer;
	struct consumers consumers;
	struct buf why;
	int result;		/* what the pipeline says */
	u64 samples;		/* and what it got */
};

static int consume(void *self, struct batch *batch)
{
	struct fixture *f = self;

	f->samples += batch_samples(batch);
	batch_unref(batch);
	return f->result;
}

static void setup(struct fixture *f)
{
	*f = (struct fixture){ .metrics = metrics_new() };
	f->consumer = (struct consumer){ consume, f };
	f->consumers = (struct consumers){ &f->consumer, 1 };
	otlp_intake_init(&f->intake, f->metrics, &(struct component_setup){ .id = "otlp", .next = &f->consumers },
			 "grpc");
	buf_init(&f->why, 1024);
}

static void teardown(struct fixture *f)
{
	buf_done(&f->why);
	metrics_free(f->metrics);
}

static void put_request(struct buf *b, bool json)
{
	struct profile *p = profile_random(1, 0);

	buf_init(b, 64 << 20);
	EQ(json ? otlp_json_encode(p, b) : otlp_encode(p, b), 0);
	profile_free(p);
}

TEST(otlp_intake_passes_requests_of_both_forms_on)
{
	struct fixture f;
	struct buf b;

	setup(&f);
	put_request(&b, false);
	EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), RPC_OK);
	OK(f.samples);
	EQ(metric_value(f.intake.receipts.accepted), f.samples);
	EQ(b.len, 0);
	put_request(&b, true);
	EQ(otlp_intake_take(&f.intake, &b, true, NULL, &f.why), RPC_OK);
	EQ(metric_value(f.intake.receipts.accepted), f.samples);
	EQ(metric_value(f.intake.receipts.successes), 2);
	EQ(f.why.len, 0);
	teardown(&f);
}

TEST(otlp_intake_decodes_at_once_for_who_reads_profiles)
{
	struct fixture f, checked;
	struct buf b;

	setup(&f);
	setup(&checked);
	f.intake.decodes = true;
	put_request(&b, false);
	EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), RPC_OK);
	put_request(&b, false);
	EQ(otlp_intake_take(&checked.intake, &b, false, NULL, &checked.why), RPC_OK);
	EQ(f.samples, checked.samples);
	for (int i = 0; i < 2; i++) {
		struct fixture *one = i ? &f : &checked;

		buf_init(&b, 64);
		buf_add(&b, "\x0a\x02\x0a\x05", 4);
		EQ(otlp_intake_take(&one->intake, &b, false, NULL, &one->why), RPC_INVALID_ARGUMENT);
	}
	STREQ(f.why.data, checked.why.data);
	teardown(&f);
	teardown(&checked);
}

TEST(otlp_intake_answers_what_the_pipeline_says)
{
	static const struct {
		int result;
		enum rpc_code code;
	} cases[] = { { -EAGAIN, RPC_UNAVAILABLE }, { -ENOMEM, RPC_UNAVAILABLE }, { -EIO, RPC_INTERNAL },
		      { -EBADMSG, RPC_INTERNAL } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fixture f;
		struct buf b;

		setup(&f);
		f.result = cases[i].result;
		put_request(&b, false);
		EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), cases[i].code);
		OK(f.why.len);
		EQ(metric_value(f.intake.receipts.refused), f.samples);
		EQ(metric_value(f.intake.receipts.accepted), 0);
		teardown(&f);
	}
}

TEST(otlp_intake_succeeds_and_passes_nothing_on_without_samples)
{
	struct fixture f;
	struct buf b;

	setup(&f);
	buf_init(&b, 64);
	EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), RPC_OK);
	buf_init(&b, 64);
	buf_addf(&b, "{\"resourceProfiles\":[{}]}");
	EQ(otlp_intake_take(&f.intake, &b, true, NULL, &f.why), RPC_OK);
	EQ(f.samples, 0);
	EQ(metric_value(f.intake.receipts.successes), 2);
	teardown(&f);
}

TEST(otlp_intake_says_what_is_wrong)
{
	struct fixture f;
	struct buf b;

	setup(&f);
	buf_init(&b, 64);
	buf_addf(&b, "%s", "\x0a\x7f");
	EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), RPC_INVALID_ARGUMENT);
	STREQ(f.why.data, "not protobuf");
	f.why.len = 0;
	buf_init(&b, 64);
	buf_addf(&b, "[]");
	EQ(otlp_intake_take(&f.intake, &b, true, NULL, &f.why), RPC_INVALID_ARGUMENT);
	OK(f.why.len);
	EQ(metric_value(f.intake.receipts.failures), 2);
	EQ(f.samples, 0);
	teardown(&f);
}

TEST(otlp_intake_reads_only_so_much_json_at_once)
{
	struct fixture f;
	struct buf b;

	setup(&f);
	/* As if another thread were reading that much. */
	atomic_store(&f.intake.json_bytes, OTLP_INTAKE_JSON_MAX);
	put_request(&b, true);
	EQ(otlp_intake_take(&f.intake, &b, true, NULL, &f.why), RPC_UNAVAILABLE);
	OK(strstr(f.why.data, "try again later"));
	EQ(metric_value(f.intake.json_busy), 1);
	EQ(atomic_load(&f.intake.json_bytes), OTLP_INTAKE_JSON_MAX);
	atomic_store(&f.intake.json_bytes, 0);
	put_request(&b, true);
	EQ(otlp_intake_take(&f.intake, &b, true, NULL, &f.why), RPC_OK);
	EQ(atomic_load(&f.intake.json_bytes), 0);
	teardown(&f);
}

/* A sample whose field 2, read as of 1.10, points outside attribute_table. */
TEST(otlp_intake_counts_guesses)
{
	struct fixture f;
	struct buf b;
	size_t marks[4];

	setup(&f);
	buf_init(&b, 256);
	for (u32 i = 0; i < 4; i++)
		marks[i] = pb_begin(&b, i ? 2 : 1);
	pb_put_packed_s64(&b, 2, (s64[]){ 5000000000 }, 1);
	for (u32 i = 4; i-- > 0;)
		pb_end(&b, marks[i]);
	EQ(otlp_intake_take(&f.intake, &b, false, NULL, &f.why), RPC_OK);
	EQ(f.samples, 1);
	EQ(metric_value(f.intake.guessed), 1);
	teardown(&f);
}
