// SPDX-License-Identifier: Apache-2.0
/*
 * The exporter datadog: profiles to a Datadog Agent, or to Datadog itself.
 *
 *	consume -> interval -> a batch for each service and container -> queue -> one upload each
 *
 * What comes within an interval is cut when it is over; the queue holds what an upload needs, as OTLP, so that retries
 * and a queue on disk know nothing of Datadog.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "exporters/datadog_outcome.h"
#include "exporters/datadog_owner.h"
#include "exporters/datadog_parts.h"
#include "exporters/datadog_target.h"
#include "exporters/datadog_upload.h"
#include "exporters/http_send.h"
#include "exporters/interval.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/profile.h"

#define TAGS_BYTES_MAX (16u << 10)
/* The parts of what was joined are larger together than it was; the queue holds 16 MiB even on small machines. */
#define INTERVAL_BYTES_MAX (16ull << 20)
#define INTERVAL_MEMORY_PART 64

struct options {
	const char *endpoint;
	struct {
		const char *key, *site;
	} api;
	struct {
		const char *endpoint;
	} profiles;
	const char *hostname, *service, *env, *version, *proxy_url;
	struct config_texts tags;
	s64 interval_ns;
	int compression;
	struct tls_client_options tls;
	struct sender_options sender;
};

struct exporter {
	struct http_send http;
	const struct options *options;
	const struct component_setup *setup;
	const char *id;
	struct datadog_target target;
	struct datadog_names names;
	char this_host[256], runtime_id[40];
	struct buf tags;			/* names.tags */
	struct interval *interval;
	struct metric *joined, *lost;
};

/* ---- Options ------------------------------------------------------------------------------- */

static const char *const compressions[] = { "zstd", "gzip", "none", NULL };

#define HERE(member) FIELD(struct options, member)
static const struct config_field api_fields[] = {
	{ "key", CONFIG_SECRET, HERE(api.key),
	  .help = "API key; with one, profiles go to Datadog itself. If not given, DD_API_KEY" },
	{ "site", CONFIG_TEXT, HERE(api.site), .help = "of Datadog; if not given, DD_SITE, or datadoghq.com" },
	{ "fail_on_invalid_key", CONFIG_NEEDLESS,
	  .help = "the key is not looked at before profiles are sent; those that are refused are counted" },
	{ 0 },
};

static const struct config_field profiles_fields[] = {
	{ "endpoint", CONFIG_TEXT, HERE(profiles.endpoint),
	  .help = "with an API key: the whole URL instead of https://intake.profile.SITE/api/v2/profile" },
	{ 0 },
};

#define ONLY_PROFILES "wick sends only profiles"
static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, HERE(endpoint),
	  .help = "an Agent: http://host:8126 or unix:///path; if not given, DD_TRACE_AGENT_URL, or DD_AGENT_HOST and "
		  "DD_TRACE_AGENT_PORT, or the Agent of this machine" },
	{ "api", CONFIG_SECTION, 0, .fields = api_fields, .help = "without an Agent" },
	{ "profiles", CONFIG_SECTION, 0, .fields = profiles_fields, .help = "without an Agent: where to" },
	{ "service", CONFIG_TEXT, HERE(service),
	  .help = "of what does not say its service.name; if not given, DD_SERVICE, or " DATADOG_SERVICE },
	{ "env", CONFIG_TEXT, HERE(env),
	  .help = "of what has no deployment.environment.name; if not given, DD_ENV" },
	{ "version", CONFIG_TEXT, HERE(version), .help = "of that service; if not given, DD_VERSION" },
	{ "hostname", CONFIG_TEXT, HERE(hostname),
	  .help = "if not given, DD_HOSTNAME, or what the Agent says; without one, host.name or this machine's" },
	{ "tags", CONFIG_TEXTS, HERE(tags), .commas = true, .help = "more tags, key:value; DD_TAGS are added to them" },
	{ "interval", CONFIG_DURATION, HERE(interval_ns), .min = 1e8, .max = 3600e9,
	  .help = "what comes within it is one profile for each service and container" },
	{ "compression", CONFIG_CHOICE, HERE(compression), .choices = compressions,
	  .help = "of the profile: zstd, gzip or none" },
	{ "tls", CONFIG_SECTION, HERE(tls), .fields = tls_client_fields, .help = "TLS of https://" },
	{ "proxy_url", CONFIG_TEXT, HERE(proxy_url),
	  .help = "a proxy; if not given http_proxy, HTTPS_PROXY and NO_PROXY of the environment say" },
	SENDER_FIELDS(struct options, sender),
	{ "metrics", CONFIG_NEEDLESS, .help = ONLY_PROFILES },
	{ "traces", CONFIG_NEEDLESS, .help = ONLY_PROFILES },
	{ "logs", CONFIG_NEEDLESS, .help = ONLY_PROFILES },
	{ "orchestrator_explorer", CONFIG_NEEDLESS, .help = ONLY_PROFILES },
	{ "host_metadata", CONFIG_NEEDLESS,
	  .help = "an Agent tells Datadog of the host; for tags of profiles give tags" },
	{ "hostname_detection_timeout", CONFIG_NEEDLESS, .help = "the name of the host is not asked for elsewhere" },
	{ "only_metadata", CONFIG_REFUSED, .help = "wick sends profiles and no metadata; remove it" },
	{ 0 },
};

static const struct options defaults = {
	.endpoint = "", .api = { "", "" }, .profiles = { "" }, .hostname = "", .service = "", .env = "", .version = "",
	.proxy_url = "", .interval_ns = 60000000000, .sender = SENDER_DEFAULTS(10000000000),
};

static const char *variable(void *arg, const char *name)
{
	return getenv(name);
}

static bool is_socket(void *arg, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int find_target(const struct options *o, struct datadog_target *ret_target, struct buf *why)
{
	return datadog_target_find(&(struct datadog_where){
		.endpoint = o->endpoint, .api_key = o->api.key, .site = o->api.site, .intake = o->profiles.endpoint,
		.variable = variable, .is_socket = is_socket }, ret_target, why);
}

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *o = arg;
	_cleanup_(buf_done) struct buf tags, why;
	struct datadog_target target;

	buf_init(&tags, TAGS_BYTES_MAX);
	buf_init(&why, 4096);
	if (*o->endpoint && *o->api.key)
		config_error(errors, place, path, "endpoint is an Agent, which has a key itself; give it or api::key");
	else if (find_target(o, &target, &why) < 0)
		config_error(errors, place, path, "%s", why.data ? why.data : "out of memory");
	else if (*o->profiles.endpoint && !*target.api_key)
		config_error(errors, place, path, "profiles::endpoint needs an api::key");
	for (u32 i = 0; i < o->tags.count; i++) {
		if (datadog_tags_add(&tags, o->tags.at[i]))
			config_error(errors, place, path, "tags: %s is no tag; give key:value", o->tags.at[i]);
	}
	if (buf_err(&tags) == -E2BIG)
		config_error(errors, place, path, "tags: they are longer than %u bytes", TAGS_BYTES_MAX);
	tls_client_check(&o->tls, place, path, errors);
}

/* ---- Uploads ------------------------------------------------------------------------------- */

static void lose(void *arg, u64 samples)
{
	struct exporter *exporter = arg;

	metric_add(exporter->lost, samples);
	if (samples)
		log_error(exporter->id, "dropped %llu samples: out of memory", (unsigned long long)samples);
}

static void enqueue(void *arg, struct batch *batch)
{
	(void)sender_consume(((struct exporter *)arg)->setup->sender, batch);	/* what it refuses it counts */
}

static void take_interval(void *arg, struct profile *profile, u64 samples)
{
	struct exporter *exporter = arg;
	u64 left = profile_samples(profile);

	metric_add(exporter->joined, samples - left);
	lose(exporter, left - datadog_parts_make(profile, &exporter->names, enqueue, exporter));
	profile_free(profile);
}

/* Where the text stands, which has a NUL behind it; the buffer may move until all are there. */
static size_t put_text(struct buf *out, const char *before, struct str text)
{
	size_t at = out->len;

	buf_add(out, before, strlen(before));
	if (text.len)
		buf_add(out, text.at, text.len);
	buf_add(out, "", 1);
	return at;
}

static int add_headers(const struct exporter *exporter, const struct datadog_owner *owner, const char *boundary,
		       struct http_request *request)
{
	struct str border = { boundary, (u32)strlen(boundary) };
	size_t type = put_text(&request->text, "multipart/form-data; boundary=", border);
	size_t id = put_text(&request->text, "", owner->container);
	size_t entity = put_text(&request->text, "ci-", owner->container);

	if (buf_err(&request->text) < 0)
		return buf_err(&request->text);
	http_request_add_header(request, "content-type", request->text.data + type);
	http_request_add_header(request, "dd-evp-origin", "wick");
	http_request_add_header(request, "dd-evp-origin-version", WICK_VERSION);
	if (owner->container.len) {
		http_request_add_header(request, "datadog-container-id", request->text.data + id);
		http_request_add_header(request, "datadog-entity-id", request->text.data + entity);
	}
	if (*exporter->target.api_key)
		http_request_add_header(request, "dd-api-key", exporter->target.api_key);
	return 0;
}

static int make_body(const struct exporter *exporter, const struct profile *profile, const struct datadog_owner *owner,
		     const char *boundary, struct buf *body)
{
	static const enum compression kinds[] = { COMPRESSION_ZSTD, COMPRESSION_GZIP, COMPRESSION_NONE };
	_cleanup_(buf_done) struct buf tags;

	buf_init(&tags, 2 * TAGS_BYTES_MAX);
	datadog_owner_tags(owner, &exporter->names, &tags);
	buf_addf(&tags, "%s", "");
	if (buf_err(&tags) < 0)
		return buf_err(&tags);
	return datadog_upload_write(profile, &(struct datadog_upload){
		.tags = tags.data, .compression = kinds[exporter->options->compression],
		.now_unix_ns = clock_ns(CLOCK_REALTIME), .boundary = boundary }, body);
}

static int make(void *arg, struct batch *batch, struct http_request *request)
{
	const struct exporter *exporter = arg;
	char boundary[DATADOG_BOUNDARY_BYTES];
	const struct profile *profile;
	struct datadog_owner owner;
	int r = batch_profile(batch, &profile);

	if (r < 0)
		return r;
	if (!profile->resources.count)
		return -EBADMSG;
	/* All of them have the same. */
	datadog_owner_of(&exporter->names, &profile->resources.at[0], &owner);
	datadog_boundary(boundary);
	r = make_body(exporter, profile, &owner, boundary, &request->body);
	if (r == 0)
		r = add_headers(exporter, &owner, boundary, request);
	request->call.method = "POST";
	request->call.url = exporter->target.url;
	request->call.body = request->body.data;
	request->call.body_bytes = request->body.len;
	request->call.timeout_ns = exporter->options->sender.timeout_ns;
	return r;
}

static void outcome(void *arg, const struct client_answer *answer, struct send_result *ret_result)
{
	datadog_outcome(answer, clock_ns(CLOCK_REALTIME) / SECOND_NS, ret_result);
}

static const struct http_send_ops requests = { .make = make, .outcome = outcome };

/* ---- Life ---------------------------------------------------------------------------------- */

static const char *given_or(const char *option, const char *name)
{
	const char *value = *option ? option : getenv(name);

	return value ? value : "";
}

/* A random UUID. */
static void make_runtime_id(char *out, size_t room)
{
	u64 random[2] = { clock_ns(CLOCK_REALTIME), monotonic_ns() };

	(void)!getrandom(random, sizeof(random), GRND_NONBLOCK);	/* else the clocks must do */
	(void)snprintf(out, room, "%08llx-%04llx-4%03llx-%04llx-%012llx", random[0] >> 32, random[0] >> 16 & 0xffff,
		       random[0] & 0xfff, (random[1] >> 48 & 0x3fff) | 0x8000, random[1] & 0xffffffffffff);
}

static int make_names(struct exporter *exporter, struct buf *why)
{
	const struct options *o = exporter->options;
	u32 left_out = 0;

	buf_init(&exporter->tags, TAGS_BYTES_MAX);
	buf_addf(&exporter->tags, "%s", "");
	for (u32 i = 0; i < o->tags.count; i++)
		left_out += datadog_tags_add(&exporter->tags, o->tags.at[i]);
	left_out += datadog_tags_add(&exporter->tags, given_or("", "DD_TAGS"));
	buf_add(&exporter->tags, "", 1);
	if (buf_err(&exporter->tags) == -E2BIG)
		buf_addf(why, "tags and DD_TAGS are longer than %u bytes; give fewer", TAGS_BYTES_MAX);
	if (buf_err(&exporter->tags) < 0)
		return buf_err(&exporter->tags);
	if (left_out)
		log_warn(exporter->id, "%u of DD_TAGS are left out: a tag is key:value", left_out);
	if (*exporter->target.api_key)
		(void)gethostname(exporter->this_host, sizeof(exporter->this_host) - 1);
	make_runtime_id(exporter->runtime_id, sizeof(exporter->runtime_id));
	exporter->names = (struct datadog_names){
		.service = given_or(o->service, "DD_SERVICE"), .env = given_or(o->env, "DD_ENV"),
		.version = given_or(o->version, "DD_VERSION"), .host = given_or(o->hostname, "DD_HOSTNAME"),
		.this_host = exporter->this_host, .tags = exporter->tags.data, .runtime_id = exporter->runtime_id,
	};
	return 0;
}

static void make_counters(struct exporter *exporter, struct metrics *metrics)
{
	const struct metric_label label = { "exporter", exporter->id };

	exporter->joined = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_datadog_joined_samples",
				       "Samples that were added to equal ones of the same interval.", &label, 1);
	exporter->lost = metrics_get(metrics, METRIC_COUNTER, "wick_exporter_datadog_lost_samples",
				     "Samples of an interval that were dropped because memory ran out.", &label, 1);
}

static void exporter_free(void *self)
{
	struct exporter *exporter = self;

	if (!exporter)
		return;
	interval_free(exporter->interval);
	http_send_done(&exporter->http);
	buf_done(&exporter->tags);
	free(exporter);
}
DEFINE_CLEANUP(struct exporter *, exporter_free)

static size_t interval_bytes(void)
{
	u64 part = (u64)sysconf(_SC_PHYS_PAGES) * (u64)sysconf(_SC_PAGESIZE) / INTERVAL_MEMORY_PART;

	return part < INTERVAL_BYTES_MAX ? part : INTERVAL_BYTES_MAX;
}

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(exporter_freep) struct exporter *exporter = calloc(1, sizeof(*exporter));
	const struct options *o = options;
	int r;

	if (!exporter)
		return -ENOMEM;
	exporter->options = o;
	exporter->setup = setup;
	exporter->id = setup->id;
	if (o->sender.queue.has_batch)
		log_warn(exporter->id, "sending_queue::batch has no effect: an upload is of one service and container; "
			 "interval says how much is in it");
	make_counters(exporter, service_metrics(setup->service));
	r = find_target(o, &exporter->target, why);
	if (r == 0)
		r = make_names(exporter, why);
	if (r == 0)
		r = interval_new(&(struct interval_options){ (u64)o->interval_ns, interval_bytes(), take_interval, lose,
							     exporter }, &exporter->interval);
	if (r == 0)
		r = http_send_init(&exporter->http, &(struct client_options){
			.tls = &o->tls, .unix_socket = exporter->target.unix_socket, .proxy_url = o->proxy_url,
		}, &requests, why);
	if (r < 0)
		return r;
	*ret_self = TAKE(exporter);
	return 0;
}

static int exporter_start(void *self, struct buf *why)
{
	struct exporter *exporter = self;
	const struct datadog_target *target = &exporter->target;
	int r = interval_start(exporter->interval, why);

	if (r == 0)
		log_info(exporter->id, "sends profiles to %s%s%s", target->url, *target->unix_socket ? " at " : "",
			 target->unix_socket);
	return r;
}

static int exporter_consume(void *self, struct batch *batch)
{
	_cleanup_(batch_unrefp) struct batch *own = batch;
	struct exporter *exporter = self;
	const struct profile *profile;
	int r = batch_profile(own, &profile);

	if (r == 0 && batch_samples(own))
		r = interval_add(exporter->interval, profile, batch_samples(own));
	return r == -ENOMEM ? -EAGAIN : r;
}

static void exporter_flush(void *self)
{
	interval_stop(((struct exporter *)self)->interval);
}

const struct component_ops exporter_datadog = {
	.type = "datadog",
	.help = "sends profiles to a Datadog Agent, or to Datadog itself",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = exporter_create,
	.start = exporter_start,
	.consume = exporter_consume,
	.flush = exporter_flush,
	EXPORTER_SENDS(http_sends_unjoined, struct options, sender),
	.free = exporter_free,
	.looks = LOOKS_AT_PROFILE,
};
