// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/metrics.h"
#include "config/fields.h"
#include "net/server.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "pipeline/status.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/compression.h"
#include "wire/pprof/pprof.h"

extern const struct component_ops receiver_pprof;

struct fixture {
	pthread_mutex_t lock;
	pthread_cond_t came;
	struct metrics *metrics;
	struct server *server;
	struct listener *listener;
	struct service *service;
	struct consumer consumer;
	struct consumers consumers;
	struct component_status status;
	struct component_setup setup;
	struct arena arena;
	struct batch *got;
	u32 asked;
	int answer;		/* 0: a profile; else a status */
	bool silent;		/* no answer */
	struct exchange *kept;
	char query[64], header[64];
};

static int consume(void *self, struct batch *batch)
{
	struct fixture *f = self;

	LOCKED(&f->lock);
	batch_unref(f->got);
	f->got = batch;
	pthread_cond_broadcast(&f->came);
	return 0;
}

static void serve(void *arg, struct exchange *exchange)
{
	struct profile *p = profile_random(1, 0);
	struct fixture *f = arg;
	struct buf plain, packed;

	buf_init(&plain, 1 << 20);
	buf_init(&packed, 1 << 20);
	EQ(pprof_encode(p, &plain), 0);
	EQ(compression_pack(COMPRESSION_GZIP, plain.data, plain.len, &packed), 0);
	pthread_mutex_lock(&f->lock);
	f->asked++;
	snprintf(f->query, sizeof(f->query), "%s", exchange_query(exchange));
	snprintf(f->header, sizeof(f->header), "%s",
		 exchange_header(exchange, "x-key") ? exchange_header(exchange, "x-key") : "");
	if (f->silent)
		f->kept = exchange;
	else
		exchange_reply(exchange, f->answer ? f->answer : 200, NULL, NULL, 0, f->answer ? NULL : &packed);
	pthread_cond_broadcast(&f->came);
	pthread_mutex_unlock(&f->lock);
	profile_free(p);
	buf_done(&plain);
	buf_done(&packed);
}

static void setup(struct fixture *f)
{
	struct buf why;

	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->came, NULL);
	arena_init(&f->arena, 1 << 20);
	buf_init(&why, 1024);
	f->metrics = metrics_new();
	EQ(server_new(f->metrics, &f->server), 0);
	EQ(server_listen(f->server, &(struct listen_options){ .endpoint = "127.0.0.1:0" }, &f->listener, &why), 0);
	EQ(listener_route(f->listener, &(struct route){ .path = "/debug/pprof/profile", .handle = serve, .arg = f }),
	   0);
	f->service = service_new(&(struct service_host){ .server = f->server, .metrics = f->metrics });
	f->consumer = (struct consumer){ consume, f };
	f->consumers = (struct consumers){ &f->consumer, 1 };
	status_init(&f->status, "pprof");
	f->setup = (struct component_setup){ .id = "pprof", .next = &f->consumers, .service = f->service,
					     .status = &f->status };
	buf_done(&why);
}

static void teardown(struct fixture *f)
{
	listener_leave(f->listener, f, monotonic_ns() + 10000000000);
	service_free(f->service);
	server_free(f->server);
	status_done(&f->status);
	batch_unref(f->got);
	metrics_free(f->metrics);
	arena_done(&f->arena);
}

/* Options as from YAML: an endpoint, a short interval, a header. */
static const void *options_of(struct fixture *f, const char *endpoint)
{
	const struct component_ops *ops = &receiver_pprof;
	struct config_node url = { .kind = NODE_STRING, .text = endpoint };
	struct config_node interval = { .kind = NODE_STRING, .text = "10ms" };
	struct config_node delay = { .kind = NODE_STRING, .text = "0s" }, key = { .kind = NODE_STRING, .text = "k" };
	struct config_entry header = { .key = "x-key", .value = &key };
	struct config_node headers = { .kind = NODE_MAP, .count = 1, .map = &header };
	struct config_entry entries[] = {
		{ .key = "endpoint", .value = &url }, { .key = "collection_interval", .value = &interval },
		{ .key = "initial_delay", .value = &delay }, { .key = "headers", .value = &headers },
	};
	struct config_node map = { .kind = NODE_MAP, .count = 4, .map = entries };
	void *options = arena_zalloc(&f->arena, ops->options_bytes);
	struct config_errors errors;

	memcpy(options, ops->defaults, ops->options_bytes);
	config_errors_init(&errors);
	EQ(config_decode(&f->arena, &map, ops->fields, "receivers::pprof", options, &errors), 0);
	ops->check(options, (struct config_place){ "", 0, 0 }, "receivers::pprof", &errors);
	EQ(errors.error_count, 0);
	config_errors_done(&errors);
	return options;
}

static void *begin(struct fixture *f)
{
	char endpoint[96];
	struct buf why;
	void *self;
	int r;

	snprintf(endpoint, sizeof(endpoint), "http://%s", listener_address(f->listener));
	buf_init(&why, 1024);
	r = receiver_pprof.create(&f->setup, options_of(f, arena_strndup(&f->arena, endpoint, strlen(endpoint))), &self,
				  &why);
	if (r < 0)
		SKIP("%s", why.data);
	EQ(receiver_pprof.start(self, &why), 0);
	buf_done(&why);
	return self;
}

static void end(void *self)
{
	receiver_pprof.stop(self, 0);
	receiver_pprof.free(self);
}

TEST(pprof_receiver_asks_and_sends_on)
{
	const struct profile *profile;
	struct fixture f;
	void *self;

	setup(&f);
	self = begin(&f);
	pthread_mutex_lock(&f.lock);
	while (!f.got || f.asked < 3)
		pthread_cond_wait(&f.came, &f.lock);
	pthread_mutex_unlock(&f.lock);
	end(self);
	STREQ(f.query, "seconds=1");
	STREQ(f.header, "k");
	OK(batch_samples(f.got));
	EQ(batch_profile(f.got, &profile), 0);
	EQ(profile_check(profile), 0);
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *r = &profile->resources.at[i];
		const struct any *host = keyvalue_find(r->attributes, r->attribute_count, "server.address");

		OK(host && host->string.len == 9 && !memcmp(host->string.at, "127.0.0.1", 9));
		OK(keyvalue_find(r->attributes, r->attribute_count, "server.port")->integer > 0);
	}
	teardown(&f);
}

TEST(pprof_receiver_says_what_went_wrong)
{
	struct status_view view;
	struct fixture f;
	void *self;

	setup(&f);
	f.answer = 404;
	self = begin(&f);
	pthread_mutex_lock(&f.lock);
	while (f.asked < 2)
		pthread_cond_wait(&f.came, &f.lock);
	pthread_mutex_unlock(&f.lock);
	end(self);
	status_read(&f.status, &view);
	EQ(view.health, HEALTH_RECOVERABLE);
	OK(strstr(view.last_error, "status 404"));
	teardown(&f);
}

TEST(pprof_receiver_stops_while_an_answer_is_due)
{
	struct fixture f;
	void *self;

	setup(&f);
	f.silent = true;
	self = begin(&f);
	pthread_mutex_lock(&f.lock);
	while (!f.kept)
		pthread_cond_wait(&f.came, &f.lock);
	pthread_mutex_unlock(&f.lock);
	end(self);
	exchange_reply(f.kept, 503, NULL, NULL, 0, NULL);
	teardown(&f);
}
