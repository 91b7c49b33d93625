// SPDX-License-Identifier: Apache-2.0
/* Each cloud's answers, from a proxy on loopback that knows only what it is told. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "processors/detect.h"
#include "test.h"
#include "pipeline/try_test.h"

extern const struct component_ops processor_resource_detection;

struct answer {
	const char *request;	/* what the first line begins with: "GET /path " */
	const char *header;	/* that must be there, in lower case; or NULL */
	const char *body;
};

struct server {
	int fd;
	const struct answer *answers;
	pthread_t thread;
};

static void answer_one(const struct server *server, int fd)
{
	char request[4096] = "", reply[4096], *path, *slash;
	size_t len = 0;
	ssize_t got;

	while (len < sizeof(request) - 1 && !strstr(request, "\r\n\r\n") &&
	       (got = read(fd, request + len, sizeof(request) - 1 - len)) > 0)
		request[len += (size_t)got] = 0;
	/* "GET http://169.254.169.254/path": whom it was for does not matter. */
	path = strstr(request, " http://");
	slash = path ? strchr(path + 8, '/') : NULL;
	if (slash)
		memmove(path + 1, slash, strlen(slash) + 1);
	for (char *c = strchr(request, '\n'); c && *c; c++)
		*c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
	for (const struct answer *a = server->answers; a->request; a++) {
		if (strncmp(request, a->request, strlen(a->request)) || (a->header && !strstr(request, a->header)))
			continue;
		len = (size_t)snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
				       "Connection: close\r\n\r\n%s", strlen(a->body), a->body);
		(void)!write(fd, reply, len);
		return;
	}
	(void)!write(fd, "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 57);
}

static void *serve(void *arg)
{
	struct server *server = arg;
	int fd;

	while ((fd = accept(server->fd, NULL, NULL)) >= 0) {
		answer_one(server, fd);
		close(fd);
	}
	return NULL;
}

static void server_start(struct server *server, const struct answer *answers)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	char url[64];

	server->answers = answers;
	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	EQ(bind(server->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	EQ(listen(server->fd, 16), 0);
	EQ(getsockname(server->fd, (struct sockaddr *)&address, &len), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("http_proxy", url, 1);
	setenv("no_proxy", "", 1);
	EQ(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(struct server *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}

/* The attributes of the first resource. */
static const char *detected(const char *yaml)
{
	static char text[4096];
	struct try try;

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = 2 });
	if (try_new(&try, &processor_resource_detection, yaml) < 0)
		FAIL("%s: %s", yaml, try.why);
	EQ(try_send(&try, try_profile()), 0);
	snprintf(text, sizeof(text), "%s", try_shown(try_result()));
	*strchr(text, '|') = 0;
	try_free(&try);
	return text;
}

static const struct {
	const char *detector, *want;
	struct answer answers[10];
} clouds[] = {
	{ "ec2",
	  "cloud.account.id=1 cloud.region=eu-1 cloud.availability_zone=eu-1a host.id=i-1 host.image.id=ami "
	  "host.type=t3 cloud.provider=aws cloud.platform=aws_ec2 host.name=ip-1",
	  { { "PUT /latest/api/token ", "ttl-seconds: 60", "TOKEN" },
	    { "GET /latest/dynamic/instance-identity/document ", "metadata-token: token",
	      "{\"accountId\": \"1\", \"region\": \"eu-1\", \"availabilityZone\": \"eu-1a\", \"instanceId\": "
	      "\"i-1\", "
	      "\"imageId\": \"ami\", \"instanceType\": \"t3\"}" },
	    { "GET /latest/meta-data/hostname ", "metadata-token: token", "ip-1" } } },
	{ "gcp",
	  "cloud.account.id=proj cloud.availability_zone=us-central1-a cloud.region=us-central1 host.id=42 "
	  "host.name=vm host.type=n1 cloud.provider=gcp cloud.platform=gcp_compute_engine",
	  { { "GET /computeMetadata/v1/project/project-id ", "metadata-flavor: google", "proj" },
	    { "GET /computeMetadata/v1/instance/zone ", NULL, "projects/1/zones/us-central1-a" },
	    { "GET /computeMetadata/v1/instance/id ", NULL, "42" },
	    { "GET /computeMetadata/v1/instance/name ", NULL, "vm" },
	    { "GET /computeMetadata/v1/instance/machine-type ", NULL, "projects/1/machineTypes/n1" } } },
	{ "azure",
	  "cloud.account.id=s cloud.region=westus host.id=v host.name=n azure.vm.name=n azure.vm.size=D2 "
	  "azure.resourcegroup.name=g cloud.provider=azure cloud.platform=azure_vm",
	  { { "GET /metadata/instance/compute?api-version=2020-09-01&format=json ", "metadata: true",
	      "{\"location\": \"westus\", \"name\": \"n\", \"vmId\": \"v\", \"vmSize\": \"D2\", "
	      "\"subscriptionId\": \"s\", "
	      "\"resourceGroupName\": \"g\", \"vmScaleSetName\": \"\", \"zone\": \"1\"}" } } },
	{ "hetzner",
	  "host.id=7 host.name=h cloud.region=eu cloud.availability_zone=fsn1 cloud.provider=hetzner",
	  { { "GET /hetzner/v1/metadata/instance-id ", NULL, "7" },
	    { "GET /hetzner/v1/metadata/hostname ", NULL, "h" },
	    { "GET /hetzner/v1/metadata/region ", NULL, "eu" },
	    { "GET /hetzner/v1/metadata/availability-zone ", NULL, "fsn1" } } },
	{ "digitalocean", "host.id=12 host.name=d cloud.region=nyc3 cloud.provider=digitalocean",
	  { { "GET /metadata/v1.json ", NULL,
	    "{\"droplet_id\": 12, \"hostname\": \"d\", \"region\": \"nyc3\"}" } } },
	{ "oraclecloud", "host.id=o host.name=n host.type=s cloud.region=eu cloud.availability_zone=a "
	  "k8s.cluster.name=c cloud.provider=oracle_cloud cloud.platform=oracle_cloud_compute",
	  { { "GET /opc/v2/instance/ ", "authorization: bearer oracle",
	      "{\"id\": \"o\", \"displayName\": \"n\", \"shape\": \"s\", \"region\": \"eu\", "
	      "\"availabilityDomain\": \"a\", "
	      "\"metadata\": {\"oke-cluster-display-name\": \"c\"}}" } } },
	{ "vultr", "host.id=v host.name=n cloud.region=ewr cloud.provider=vultr",
	  { { "GET /v1.json ", NULL,
	    "{\"instance-v2-id\": \"v\", \"hostname\": \"n\", \"region\": {\"regioncode\": "
	      "\"EWR\"}}" } } },
	{ "scaleway", "host.id=i host.name=n cloud.availability_zone=fr-par-1 cloud.region=fr-par "
	  "cloud.provider=scaleway_cloud cloud.platform=scaleway_cloud_compute",
	  { { "GET /conf?format=json ", NULL,
	    "{\"id\": \"i\", \"name\": \"n\", \"location\": {\"zone_id\": \"fr-par-1\"}}" } } },
	{ "nova", "cloud.account.id=p host.id=u host.name=h cloud.availability_zone=z cloud.provider=openstack "
	  "cloud.platform=openstack_nova",
	  { { "GET /openstack/latest/meta_data.json ", NULL,
	    "{\"uuid\": \"u\", \"hostname\": \"h\", \"name\": \"n\", "
	      "\"project_id\": \"p\", \"availability_zone\": \"z\"}" } } },
	{ "alibaba_ecs",
	  "host.id=i cloud.region=r cloud.provider=alibaba_cloud cloud.platform=alibaba_cloud_ecs",
	  { { "GET /latest/meta-data/instance-id ", NULL, "i" },
	    { "GET /latest/meta-data/region-id ", NULL, "r" } } },
	{ "tencent_cvm",
	  "host.id=i cloud.region=r cloud.provider=tencent_cloud cloud.platform=tencent_cloud_cvm",
	  { { "GET /latest/meta-data/instance-id ", NULL, "i" },
	    { "GET /latest/meta-data/placement/region ", NULL, "r" } } },
	{ "akamai", "cloud.region=us host.id=3 host.name=l cloud.provider=akamai_cloud "
	  "cloud.platform=akamai_cloud_platform",
	  { { "PUT /v1/token ", "metadata-token-expiry-seconds: 60", "T" },
	    { "GET /v1/instance ", "metadata-token: t",
	      "{\"id\": 3, \"label\": \"l\", \"region\": \"us\"}" } } },
	{ "upcloud", "cloud.provider=upcloud host.id=i host.name=h cloud.region=fi",
	  { { "GET /metadata/v1.json ", NULL,
	      "{\"cloud_name\": \"upcloud\", \"instance_id\": \"i\", \"hostname\": \"h\", \"region\": "
	      "\"fi\"}" } } },
};

TEST(resource_detection_asks_clouds)
{
	for (size_t i = 0; i < sizeof(clouds) / sizeof(*clouds); i++) {
		struct server server;
		char yaml[64], want[1024];

		snprintf(yaml, sizeof(yaml), "{detectors: [%s]}", clouds[i].detector);
		snprintf(want, sizeof(want), "host=a %s", clouds[i].want);
		server_start(&server, clouds[i].answers);
		STREQ(detected(yaml), want);
		server_stop(&server);
	}
}

TEST(resource_detection_goes_on_where_nobody_answers)
{
	static const struct answer nothing[] = { { 0 } };
	struct server server;
	struct try try;

	server_start(&server, nothing);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "x=1", 1);
	STREQ(detected("{detectors: [ec2, gcp, azure, env]}"), "host=a x=1");
	EQ(try_new(&try, &processor_resource_detection, "{detectors: [ec2], fail_on_missing_metadata: true}"), -ENOENT);
	STREQ(try.why, "a detector found nothing, and fail_on_missing_metadata is set");
	try_free(&try);
	server_stop(&server);
}

/* A server that never answers must not hold up the start for longer than the timeout, nor data at all. */
TEST(resource_detection_does_not_wait_for_ever)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char url[64];

	EQ(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	EQ(listen(fd, 16), 0);
	EQ(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("http_proxy", url, 1);
	setenv("no_proxy", "", 1);
	STREQ(detected("{detectors: [digitalocean], timeout: 100ms}"), "host=a");
	close(fd);
}

TEST(resource_detection_reads_the_environment)
{
	setenv("OTEL_RESOURCE_ATTRIBUTES", "a=1, b = x%20y ,c=%zz,host=other", 1);
	STREQ(detected("{}"), "host=other a=1 b=x y c=%zz");
	STREQ(detected("{override: false}"), "host=a a=1 b=x y c=%zz");
	STREQ(detected("{attributes: [b]}"), "host=a b=x y");
	setenv("AWS_LAMBDA_FUNCTION_NAME", "f", 1);
	setenv("AWS_REGION", "eu", 1);
	STREQ(detected("{detectors: [lambda]}"), "host=a faas.name=f cloud.provider=aws cloud.platform=aws_lambda "
	      "cloud.region=eu");
	STREQ(detected("{detectors: [lambda], lambda: {resource_attributes: {faas.name: {enabled: false}, "
	"cloud.region: "
		       "{enabled: false}}}}"), "host=a cloud.provider=aws cloud.platform=aws_lambda");
}

TEST(resource_detection_knows_this_system)
{
	char host[256] = "", want[512];
	const char *got;

	gethostname(host, sizeof(host) - 1);
	snprintf(want, sizeof(want), "host=a host.name=%s os.type=linux", host);
	STREQ(detected("{detectors: [system], system: {hostname_sources: [os]}}"), want);
	got =
		detected("{detectors: [system], system: {hostname_sources: [os], resource_attributes: {host.name: "
		"{enabled: "
		       "false}, host.arch: {enabled: true}}}}");
#if defined(__x86_64__)
	STREQ(got, "host=a os.type=linux host.arch=amd64");
#else
	OK(strstr(got, "host.arch="));
#endif
}

TEST(resource_detection_says_what_is_wrong)
{
	static const struct {
		const char *yaml, *want;
	} cases[] = {
		{ "{detectors: [systm]}", "there is no detector systm; did you mean system?" },
		{ "{detectors: [consul]}", "detector consul: wick does not ask Consul" },
		{ "{system: {resource_attributes: {host.nam: {enabled: true}}}}",
		  "system does not detect host.nam; did you mean "
		  "host.name?" },
		{ "{ec2: {tags: [a]}}", "ec2: wick does not have the option tags of this detector; remove it" },
		{ "{system: {resource_attributes: {host.name: true}}}",
		  "host.name is {enabled: true} or {enabled: false}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct try try;

		EQ(try_new(&try, &processor_resource_detection, cases[i].yaml), -EINVAL);
		if (!strstr(try.why, cases[i].want))
			FAIL("%s says %s", cases[i].yaml, try.why);
		try_free(&try);
	}
}

/* The numbers of blocks in the table of options are those of detect.c. */
TEST(resource_detection_has_a_block_for_each_detector)
{
	for (u32 i = 0; detectors[i]; i++) {
		const struct config_field *field = config_find_field(processor_resource_detection.fields,
								     detectors[i]->name);
		const struct config_field *first = config_find_field(processor_resource_detection.fields, "env");

		if (detectors[i]->refused)
			continue;
		OK(field);
		EQ((field->offset - first->offset) / sizeof(void *), i);
	}
}
