// SPDX-License-Identifier: Apache-2.0
/* Extensions that serve pages, in a real service on a real server. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "config/config.h"
#include "extensions/telemetry.h"
#include "net/server.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "test.h"

extern const struct component_ops extension_bearertokenauth, extension_health_check, extension_zpages;

/* ---- A service with a receiver and an exporter that do nothing ---------------------------- */

static struct component_status *exporter_status;

static int nothing_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	if (setup->kind == COMPONENT_EXPORTER)
		exporter_status = setup->status;
	*ret_self = NULL;
	return 0;
}

static int (*on_start)(void);

static int nothing_start(void *self, struct buf *why)
{
	return on_start ? on_start() : 0;
}

static int nothing_consume(void *self, struct batch *batch)
{
	batch_unref(batch);
	return 0;
}

static void nothing_free(void *self)
{
}

static const struct config_field no_fields[] = { { 0 } };
static const struct component_ops nothing = {
	.type = "nothing", .fields = no_fields, .create = nothing_create, .start = nothing_start,
	.consume = nothing_consume, .free = nothing_free,
};
static const struct component_ops *const nothings[] = { &nothing, NULL }, *const none[] = { NULL };
static const struct component_ops *const extensions[] = { &extension_bearertokenauth, &extension_health_check,
							   &extension_zpages, NULL };
static const struct component_registry registry = { {
	[COMPONENT_RECEIVER] = nothings, [COMPONENT_PROCESSOR] = none, [COMPONENT_EXPORTER] = nothings,
	[COMPONENT_CONNECTOR] = none, [COMPONENT_EXTENSION] = extensions,
} };

static struct metrics *metrics;
static struct server *server;
static struct service *service;
static struct config *config;

#define PIPELINES \
	"receivers: {nothing: }\nexporters: {nothing: }\n" \
	"service: {pipelines: {profiles: {receivers: [nothing], exporters: [nothing]}}, "

/* 0, or the error, with its sentence in why. */
static int run(const char *yaml, struct buf *why)
{
	const char *path;
	struct config_request request = { .sources = &path, .source_count = 1 };
	struct config_errors errors;
	struct service_host host;
	char name[64];
	FILE *file;
	int r;

	snprintf(name, sizeof(name), "/tmp/wick-extensions-%d.yaml", getpid());
	path = name;
	file = fopen(name, "we");
	OK(file && fputs(yaml, file) >= 0 && !fclose(file));
	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = STDERR_FILENO });
	config_errors_init(&errors);
	r = config_load(&request, &config, &errors);
	unlink(name);
	if (r < 0)
		FAIL("%s", errors.errors[0]);
	config_errors_done(&errors);
	metrics = metrics_new();
	EQ(server_new(metrics, &server), 0);
	host = (struct service_host){ .registry = &registry, .server = server, .metrics = metrics,
				      .telemetry = &telemetry_component };
	return service_start(&host, config, &service, why);
}

static void end(void)
{
	if (service)
		service_stop(service, monotonic_ns() + 1000000000);
	service_free(service);
	server_free(server);
	metrics_free(metrics);
	config_free(config);
}

static void must_run(const char *yaml)
{
	struct buf why;

	buf_init(&why, 4096);
	if (run(yaml, &why) < 0)
		FAIL("%s", why.data);
	buf_done(&why);
}

/* A port that was free a moment ago. */
static int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	EQ(bind(fd, (struct sockaddr *)&address, len), 0);
	EQ(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* The whole answer to GET path; more: headers, each ended by a line end. */
static const char *get_with(int port, const char *path, const char *more)
{
	static char answer[1 << 20];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((u16)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	char request[256];
	ssize_t n;

	EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n%s\r\n", path, more);
	EQ(write(fd, request, strlen(request)), strlen(request));
	while ((n = read(fd, answer + len, sizeof(answer) - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	answer[len] = '\0';
	return answer;
}

static const char *get(int port, const char *path)
{
	return get_with(port, path, "");
}

static char yaml[2048];

static const char *yaml_for(const char *format, int port)
{
	snprintf(yaml, sizeof(yaml), format, port);
	return yaml;
}

/* ---- health_check --------------------------------------------------------------------------- */

static int health_port;
static char early[64];

static int ask_early(void)
{
	if (!early[0])
		snprintf(early, sizeof(early), "%.12s", get(health_port, "/"));
	return 0;
}

TEST(health_check_answers_by_the_health_of_components)
{
	health_port = free_port();
	on_start = ask_early;
	must_run(yaml_for("extensions: {health_check: {endpoint: \"127.0.0.1:%d\"}}\n" PIPELINES
			  "extensions: [health_check], telemetry: {metrics: {level: none}}}\n", health_port));
	STREQ(early, "HTTP/1.1 503");
	OK(strstr(get(health_port, "/"), "HTTP/1.1 200"));
	OK(strstr(get(health_port, "/"), "{\"status\":\"Server available\",\"upSince\":\"20"));
	component_report(exporter_status, HEALTH_RECOVERABLE, "backend away");
	OK(strstr(get(health_port, "/"), "HTTP/1.1 200"));
	component_report(exporter_status, HEALTH_PERMANENT, "wrong token");
	OK(strstr(get(health_port, "/"), "HTTP/1.1 503"));
	OK(strstr(get(health_port, "/"),
		  "{\"status\":\"Server not available\",\"upSince\":\"0001-01-01T00:00:00Z\",\"uptime\":\"\"}"));
	component_report(exporter_status, HEALTH_OK, "");
	OK(strstr(get(health_port, "/"), "HTTP/1.1 200"));
	OK(strstr(get(health_port, "/other"), "HTTP/1.1 404"));
	end();
}

TEST(health_check_answers_with_texts_of_ones_own)
{
	int port = free_port();

	must_run(yaml_for("extensions: {health_check: {endpoint: \"127.0.0.1:%d\", path: /up, read_header_timeout: 5s, "
			  "write_timeout: 5s, keep_alives_enabled: false, response_body: "
			  "{healthy: fine, unhealthy: ill}}}\n" PIPELINES
			  "extensions: [health_check], telemetry: {metrics: {level: none}}}\n", port));
	OK(strstr(get(port, "/up"), "\r\n\r\nfine"));
	component_report(exporter_status, HEALTH_PERMANENT, "x");
	OK(strstr(get(port, "/up"), "HTTP/1.1 503"));
	OK(strstr(get(port, "/up"), "\r\n\r\nill"));
	end();
}

/* ---- zpages ---------------------------------------------------------------------------------- */

TEST(zpages_are_served)
{
	int port = free_port();

	must_run(yaml_for("extensions: {zpages: {endpoint: \"127.0.0.1:%d\", expvar: {enabled: true}}}\n" PIPELINES
			  "extensions: [zpages], telemetry: {metrics: {level: none}}}\n", port));
	component_report(exporter_status, HEALTH_RECOVERABLE, "<away>");
	OK(strstr(get(port, "/debug/pipelinez"), "<code>nothing</code>"));
	OK(strstr(get(port, "/debug/servicez"), "&lt;away&gt;"));
	OK(strstr(get(port, "/debug/extensionz"), "<code>zpages</code>"));
	OK(strstr(get(port, "/debug/featurez"), "HTTP/1.1 200"));
	OK(strstr(get(port, "/debug/expvarz"), "\"wick_metrics_dropped\": 0"));
	OK(strstr(get(port, "/debug/tracez"), "HTTP/1.1 404"));
	OK(strstr(get(port, "/debug"), "/debug/servicez"));
	end();
}

TEST(zpages_ask_who_it_is_if_told_so)
{
	int port = free_port();

	must_run(yaml_for("extensions: {bearertokenauth: {token: secret}, zpages: {endpoint: \"127.0.0.1:%d\", "
			  "transport: tcp, auth: {authenticator: bearertokenauth}}}\n" PIPELINES
			  "extensions: [zpages, bearertokenauth], telemetry: {metrics: {level: none}}}\n", port));
	OK(strstr(get(port, "/debug/servicez"), "HTTP/1.1 401"));
	OK(strstr(get_with(port, "/debug/servicez", "Authorization: Bearer wrong\r\n"), "HTTP/1.1 401"));
	OK(strstr(get_with(port, "/debug/servicez", "Authorization: Bearer secret\r\n"), "HTTP/1.1 200"));
	end();
}

/* ---- Metrics ----------------------------------------------------------------------------------- */

TEST(telemetry_serves_metrics_to_several_readers)
{
	int one = free_port(), two = free_port();
	char text[512];

	snprintf(text, sizeof(text), PIPELINES "telemetry: {resource: {service.name: mine, a.b: c}, "
		 "metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %d, "
		 "without_type_suffix: true, without_units: true}}}}, {pull: {exporter: {prometheus: "
		 "{host: 127.0.0.1, port: %d, without_type_suffix: false, without_units: false, "
		 "with_resource_constant_labels: {included: [a.*]}}}}}]}}}\n", one, two);
	must_run(text);
	metric_add(metrics_get(metrics, METRIC_COUNTER, "x_items", "x", NULL, 0), 5);
	OK(strstr(get(one, "/metrics"), "\nx_items 5\n"));
	OK(strstr(get(one, "/metrics"), "\notelcol_process_uptime "));
	OK(strstr(get(one, "/metrics"), "service_version=\"" WICK_VERSION "\",service_name=\"mine\",a_b=\"c\"} 1\n"));
	OK(strstr(get(one, "/metrics"), "Content-Type: text/plain; version=0.0.4") ||
	   strstr(get(one, "/metrics"), "content-type: text/plain; version=0.0.4"));
	OK(strstr(get(two, "/metrics"), "\nx_items_total{a_b=\"c\"} 5\n"));
	OK(strstr(get(two, "/metrics"), "\notelcol_process_uptime_seconds_total{a_b=\"c\"} "));
	end();
}

TEST(telemetry_says_who_has_its_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int port = free_port(), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct buf why;

	address.sin_port = htons((u16)port);
	EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	EQ(listen(fd, 1), 0);
	buf_init(&why, 4096);
	OK(run(yaml_for(PIPELINES "telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: "
				  "{host: 127.0.0.1, port: %d}}}}]}}}\n", port), &why) < 0);
	OK(strstr(why.data, "service::telemetry::metrics"));
	close(fd);
	buf_done(&why);
	end();
}
