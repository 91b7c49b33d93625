// SPDX-License-Identifier: Apache-2.0
/*
 * Clouds that answer on an address of the machine itself: one table each, which says what to ask for and which
 * attribute each answer is.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "net/client.h"
#include "processors/detect.h"

#define ANSWER_MAX 65536
#define FIELDS_MAX 16
#define PATH_BYTES_MAX 64	/* "region.regioncode" */
#define LINK_LOCAL "http://169.254.169.254"

/* What is done with an answer before it is an attribute. */
enum part { PART_ALL, PART_LAST, PART_LAST_REGION, PART_REGION, PART_LOWER };

struct cloud_field {
	const char *attribute;
	const char *path;	/* of JSON: names with dots between; of plain answers: what comes after the URL */
	enum part part;
};

struct cloud {
	const char *url;		/* of the one JSON answer, or what plain answers begin with */
	const char *url_variable;	/* instead: a variable of the environment that has it; or NULL */
	const char *unix_socket;	/* or NULL */
	bool json;
	const char *provider, *platform;	/* or NULL */
	struct http_header header;	/* of every request; its name may be NULL */
	/* A token that must be asked for first: by PUT, with a header; it comes back in another. */
	const char *token_path;
	struct http_header token_ask;
	const char *token_header;
	struct cloud_field fields[FIELDS_MAX];	/* ended by a NULL attribute */
};

/* ---- Asking ------------------------------------------------------------------------------------------ */

struct waiting {
	bool done;
	int error, status;
	struct buf *body;
};

static void answered(void *arg, const struct client_answer *answer)
{
	struct waiting *waiting = arg;

	waiting->done = true;
	waiting->error = answer->error;
	waiting->status = answer->status;
	if (!answer->error && !answer->too_large)
		buf_add(waiting->body, answer->body.data, answer->body.len);
	buf_addf(waiting->body, "%s", "");
}

struct question {
	const char *method, *url, *unix_socket;
	const struct http_header *headers;
	u32 header_count;
};

/* 0 and the body of a 200; -ENOENT: somebody else answers there; -errno: nobody does. */
static int ask(struct detection *d, const struct question *q, struct buf *body)
{
	struct client_options options = { .unix_socket = q->unix_socket ? q->unix_socket : "", .proxy_url = "",
					  .user_agent = "" };
	_cleanup_(client_freep) struct client *client = NULL;
	struct waiting waiting = { .body = body };
	struct client_call call = { .method = q->method, .url = q->url, .headers = q->headers,
				    .header_count = q->header_count, .answer_max = ANSWER_MAX, .done = answered,
				    .arg = &waiting };
	struct client_request *request;
	u64 now = monotonic_ns();
	int r;

	if (now >= d->deadline_ns)
		return -ETIMEDOUT;
	call.timeout_ns = (s64)(d->deadline_ns - now);
	r = client_new(&options, &client, &d->why);
	if (r == 0)
		r = client_begin(client, &call, &request);
	if (r < 0)
		return r;
	while (!waiting.done)
		client_wait(client, 1000);
	if (waiting.error)
		return waiting.error;
	return waiting.status == 200 ? buf_err(body) : -ENOENT;
}

/* ---- Answers to attributes ------------------------------------------------------------------------------ */

static void put_part(struct detection *d, const struct cloud_field *field, const char *text)
{
	const char *slash = strrchr(text, '/'), *dash;
	bool is_last = field->part == PART_LAST || field->part == PART_LAST_REGION;
	char copy[512];

	(void)snprintf(copy, sizeof(copy), "%s", is_last && slash ? slash + 1 : text);
	copy[strcspn(copy, "\r\n")] = 0;
	/* "us-central1-a" is a zone of "us-central1", "fr-par-1" one of "fr-par". */
	dash = strrchr(copy, '-');
	if ((field->part == PART_REGION || field->part == PART_LAST_REGION) && dash)
		copy[dash - copy] = 0;
	for (char *c = copy; field->part == PART_LOWER && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	detection_put(d, field->attribute, copy);
}

/* What an answer has for each field of a cloud. */
struct found {
	const struct cloud *cloud;
	char text[FIELDS_MAX][512];
};

static void note(struct found *found, const char *path, struct str text)
{
	for (u32 i = 0; i < FIELDS_MAX && found->cloud->fields[i].attribute; i++)
		if (!strcmp(found->cloud->fields[i].path, path))
			(void)snprintf(found->text[i], sizeof(found->text[i]), "%.*s", (int)text.len,
				       text.len ? text.at : "");
}

/* Whole numbers count as text; of others nothing is asked for. */
static void read_object(struct json_read *j, char *path, size_t len, struct found *found)
{
	struct str key, text;

	for (json_read_object(j); json_read_member(j, &key);) {
		char first = json_read_peek(j);

		if (len + key.len + 2 > PATH_BYTES_MAX) {
			json_read_skip(j);
			continue;
		}
		memcpy(path + len, key.at, key.len);
		path[len + key.len] = 0;
		if (first == '"') {
			note(found, path, json_read_string(j));
		} else if (first == '{') {
			path[len + key.len] = '.';
			read_object(j, path, len + key.len + 1, found);
		} else if (first == '-' || (first >= '0' && first <= '9')) {
			text = json_read_number(j);
			if (text.len && !memchr(text.at, '.', text.len) && !memchr(text.at, 'e', text.len) &&
			    !memchr(text.at, 'E', text.len))
				note(found, path, text);
		} else {
			json_read_skip(j);
		}
	}
}

static int put_json(struct detection *d, const struct cloud *cloud, const struct buf *body)
{
	_cleanup_(json_read_done) struct json_read j;
	struct found found = { .cloud = cloud };
	char path[PATH_BYTES_MAX];
	int r;

	json_read_init(&j, body->data, body->len);
	read_object(&j, path, 0, &found);
	r = json_read_end(&j);
	for (u32 i = 0; r == 0 && i < FIELDS_MAX && cloud->fields[i].attribute; i++)
		if (*found.text[i])
			put_part(d, &cloud->fields[i], found.text[i]);
	return r;
}

/* ---- Detecting ------------------------------------------------------------------------------------------- */

struct asking {
	struct detection *detection;
	const struct cloud *cloud;
	struct http_header headers[2];
	u32 header_count;
	char token[2048];
};

static void make_url(const struct asking *a, const char *path, char out[1024])
{
	const char *variable = a->cloud->url_variable, *base = variable ? getenv(variable) : "";

	(void)snprintf(out, 1024, "%s%s%s", base ? base : "", a->cloud->url, path);
}

static int get(struct asking *a, const char *path, struct buf *body)
{
	char url[1024];
	struct question q = { "GET", url, a->cloud->unix_socket, a->headers, a->header_count };

	make_url(a, path, url);
	return ask(a->detection, &q, body);
}

static int get_token(struct asking *a)
{
	const struct cloud *cloud = a->cloud;
	struct cloud root = { .url = LINK_LOCAL };
	struct asking top = { a->detection, &root, { { 0 } }, 0, "" };
	_cleanup_(buf_done) struct buf body;
	char url[1024];
	struct question q = { "PUT", url, NULL, &cloud->token_ask, 1 };
	int r;

	buf_init(&body, sizeof(a->token));
	make_url(&top, cloud->token_path, url);
	r = ask(a->detection, &q, &body);
	if (r < 0)
		return r;
	(void)snprintf(a->token, sizeof(a->token), "%s", body.data);
	a->token[strcspn(a->token, "\r\n")] = 0;
	a->headers[a->header_count++] = (struct http_header){ cloud->token_header, a->token };
	return 0;
}

static int get_fields(struct asking *a)
{
	u32 found = 0;
	int r = 0;

	for (const struct cloud_field *field = a->cloud->fields; field->attribute; field++) {
		_cleanup_(buf_done) struct buf body;

		buf_init(&body, ANSWER_MAX + 1);
		r = get(a, field->path, &body);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r < 0 && !found)
			return r;	/* the first one is always there */
		found++;
		if (r == 0)
			put_part(a->detection, field, body.data);
	}
	return 0;
}

static int detect_cloud(struct detection *d, const struct detector_ops *ops)
{
	const struct cloud *cloud = ops->table;
	struct asking a = { .detection = d, .cloud = cloud };
	u32 before = d->count;
	int r = 0;

	if (cloud->url_variable && !getenv(cloud->url_variable))
		return -ENOENT;
	if (cloud->header.name)
		a.headers[a.header_count++] = cloud->header;
	if (cloud->token_path)
		r = get_token(&a);
	if (r == 0 && cloud->json) {
		_cleanup_(buf_done) struct buf body;

		buf_init(&body, ANSWER_MAX + 1);
		r = get(&a, "", &body);
		if (r == 0)
			r = put_json(d, cloud, &body);
	} else if (r == 0) {
		r = get_fields(&a);
	}
	if (r < 0) {
		d->count = before;
		return r;
	}
	detection_put(d, "cloud.provider", cloud->provider);
	detection_put(d, "cloud.platform", cloud->platform);
	return 0;
}

/* The host name is not in the document, but beside it. */
static int detect_ec2(struct detection *d, const struct detector_ops *ops)
{
	static const struct cloud names = {
		.url = LINK_LOCAL "/latest/meta-data", .token_path = "/latest/api/token",
		.token_ask = { "x-aws-ec2-metadata-token-ttl-seconds", "60" },
			.token_header = "x-aws-ec2-metadata-token",
		.fields = { { "host.name", "/hostname", PART_ALL } },
	};
	struct asking a = { .detection = d, .cloud = &names };
	int r = detect_cloud(d, ops);

	if (r == 0 && get_token(&a) == 0)
		(void)get_fields(&a);
	return r;
}

/* On a node of Kubernetes the platform is another. */
static int detect_gcp(struct detection *d, const struct detector_ops *ops)
{
	struct cloud cluster = {
		.url = ((const struct cloud *)ops->table)->url, .header = { "metadata-flavor", "Google" },
		.fields = { { "k8s.cluster.name", "/instance/attributes/cluster-name", PART_ALL } },
	};
	struct asking a = { .detection = d, .cloud = &cluster, .headers = { cluster.header }, .header_count = 1 };
	u32 before = d->count;
	int r;

	if (getenv("KUBERNETES_SERVICE_HOST"))
		detection_put(d, "cloud.platform", "gcp_kubernetes_engine");
	r = detect_cloud(d, ops);
	if (r < 0)
		d->count = before;
	else if (getenv("KUBERNETES_SERVICE_HOST"))
		(void)get_fields(&a);
	return r;
}

static int detect_aks(struct detection *d, const struct detector_ops *ops)
{
	return getenv("KUBERNETES_SERVICE_HOST") ? detect_cloud(d, ops) : -ENOENT;
}

/* ---- The tables --------------------------------------------------------------------------------------------- */

#define DETECTOR(id, function, table_, ...)								\
	static const struct detector_attribute id##_attributes[] = { __VA_ARGS__, { 0 } };		\
	const struct detector_ops detector_##id = { #id, id##_attributes, function, table_, NULL }

static const struct cloud ec2 = {
	.url = LINK_LOCAL "/latest/dynamic/instance-identity/document", .json = true,
	.provider = "aws", .platform = "aws_ec2", .token_path = "/latest/api/token",
	.token_ask = { "x-aws-ec2-metadata-token-ttl-seconds", "60" }, .token_header = "x-aws-ec2-metadata-token",
	.fields = { { "cloud.account.id", "accountId", PART_ALL }, { "cloud.region", "region", PART_ALL },
		    { "cloud.availability_zone", "availabilityZone", PART_ALL }, { "host.id", "instanceId", PART_ALL },
		    { "host.image.id", "imageId", PART_ALL }, { "host.type", "instanceType", PART_ALL } },
};
DETECTOR(ec2, detect_ec2, &ec2, { "cloud.provider", false }, { "cloud.platform", false }, { "cloud.account.id", false },
	 { "cloud.region", false },
	 { "cloud.availability_zone", false }, { "host.id", false }, { "host.image.id", false }, { "host.name", false },
	   { "host.type", false });

static const struct cloud gcp = {
	.url = "http://metadata.google.internal/computeMetadata/v1", .provider = "gcp",
		.platform = "gcp_compute_engine",
	.header = { "metadata-flavor", "Google" },
	.fields = { { "cloud.account.id", "/project/project-id", PART_ALL },
		    { "cloud.availability_zone", "/instance/zone", PART_LAST },
		    { "cloud.region", "/instance/zone", PART_LAST_REGION }, { "host.id", "/instance/id", PART_ALL },
		    { "host.name", "/instance/name", PART_ALL }, { "host.type", "/instance/machine-type", PART_LAST },
		    { "gcp.gce.instance.hostname", "/instance/hostname", PART_ALL },
		    { "gcp.gce.instance.name", "/instance/name", PART_ALL } },
};
DETECTOR(gcp, detect_gcp, &gcp, { "cloud.provider", false }, { "cloud.platform", false }, { "cloud.account.id", false },
	 { "cloud.region", false },
	 { "cloud.availability_zone", false }, { "host.id", false }, { "host.name", false }, { "host.type", false },
	   { "k8s.cluster.name", false },
	 { "gcp.gce.instance.hostname", true }, { "gcp.gce.instance.name", true });

#define AZURE_URL LINK_LOCAL "/metadata/instance/compute?api-version=2020-09-01&format=json"
#define AZURE_FIELDS									\
	{ "cloud.account.id", "subscriptionId", PART_ALL }, { "cloud.region", "location", PART_ALL },	\
	{ "cloud.availability_zone", "zone", PART_ALL }, { "host.id", "vmId", PART_ALL },		\
	{ "host.name", "name", PART_ALL }, { "azure.vm.name", "name", PART_ALL },			\
	{ "azure.vm.size", "vmSize", PART_ALL }, { "azure.vm.scaleset.name", "vmScaleSetName", PART_ALL },	\
	{ "azure.resourcegroup.name", "resourceGroupName", PART_ALL }
static const struct cloud azure = { .url = AZURE_URL, .json = true, .provider = "azure", .platform = "azure_vm",
				    .header = { "metadata", "true" }, .fields = { AZURE_FIELDS } };
DETECTOR(azure, detect_cloud, &azure, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false },
	 { "cloud.region", false }, { "cloud.availability_zone", true }, { "host.id", false }, { "host.name", false },
	   { "azure.vm.name", false },
	 { "azure.vm.size", false }, { "azure.vm.scaleset.name", false }, { "azure.resourcegroup.name", false });

static const struct cloud aks = { .url = AZURE_URL, .json = true, .provider = "azure", .platform = "azure_aks",
				  .header = { "metadata", "true" } };
DETECTOR(aks, detect_aks, &aks, { "cloud.provider", false }, { "cloud.platform", false });

static const struct cloud hetzner = {
	.url = LINK_LOCAL "/hetzner/v1/metadata", .provider = "hetzner",
	.fields = { { "host.id", "/instance-id", PART_ALL }, { "host.name", "/hostname", PART_ALL },
		    { "cloud.region", "/region", PART_ALL }, { "cloud.availability_zone", "/availability-zone",
		      PART_ALL } },
};
DETECTOR(hetzner, detect_cloud, &hetzner, { "cloud.provider", false }, { "host.id", false }, { "host.name", false },
	 { "cloud.region", false },
	 { "cloud.availability_zone", false });

static const struct cloud digitalocean = {
	.url = LINK_LOCAL "/metadata/v1.json", .json = true, .provider = "digitalocean",
	.fields = { { "host.id", "droplet_id", PART_ALL }, { "host.name", "hostname", PART_ALL },
		    { "cloud.region", "region", PART_ALL } },
};
DETECTOR(digitalocean, detect_cloud, &digitalocean, { "cloud.provider", false }, { "host.id", false },
	 { "host.name", false },
	 { "cloud.region", false });

static const struct cloud oraclecloud = {
	.url = LINK_LOCAL "/opc/v2/instance/", .json = true, .provider = "oracle_cloud",
	.platform = "oracle_cloud_compute", .header = { "authorization", "Bearer Oracle" },
	.fields = { { "host.id", "id", PART_ALL }, { "host.name", "displayName", PART_ALL },
		    { "host.type", "shape", PART_ALL }, { "cloud.region", "canonicalRegionName", PART_ALL },
		    { "cloud.region", "region", PART_ALL }, { "cloud.availability_zone", "availabilityDomain",
		      PART_ALL },
		    { "k8s.cluster.name", "metadata.oke-cluster-display-name", PART_ALL } },
};
DETECTOR(oraclecloud, detect_cloud, &oraclecloud, { "cloud.provider", false }, { "cloud.platform", false },
	 { "host.id", false },
	 { "host.name", false }, { "host.type", false }, { "cloud.region", false },
	   { "cloud.availability_zone", false }, { "k8s.cluster.name", false });

static const struct cloud vultr = {
	.url = LINK_LOCAL "/v1.json", .json = true, .provider = "vultr",
	.fields = { { "host.id", "instance-v2-id", PART_ALL }, { "host.name", "hostname", PART_ALL },
		    { "cloud.region", "region.regioncode", PART_LOWER } },
};
DETECTOR(vultr, detect_cloud, &vultr, { "cloud.provider", false }, { "host.id", false }, { "host.name", false },
	 { "cloud.region", false });

static const struct cloud scaleway = {
	.url = "http://169.254.42.42/conf?format=json", .json = true, .provider = "scaleway_cloud",
	.platform = "scaleway_cloud_compute",
	.fields = { { "cloud.account.id", "organization", PART_ALL }, { "host.id", "id", PART_ALL },
		    { "host.name", "name", PART_ALL }, { "host.type", "commercial_type", PART_ALL },
		    { "host.image.id", "image.id", PART_ALL }, { "host.image.name", "image.name", PART_ALL },
		    { "cloud.availability_zone", "location.zone_id", PART_ALL },
		    { "cloud.region", "location.zone_id", PART_REGION } },
};
DETECTOR(scaleway, detect_cloud, &scaleway, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false },
	 { "host.id", false }, { "host.name", false }, { "host.type", false }, { "host.image.id", false },
	   { "host.image.name", false },
	 { "cloud.availability_zone", false }, { "cloud.region", false });

static const struct cloud nova = {
	.url = LINK_LOCAL "/openstack/latest/meta_data.json", .json = true, .provider = "openstack",
	.platform = "openstack_nova",
	.fields = { { "cloud.account.id", "project_id", PART_ALL }, { "host.id", "uuid", PART_ALL },
		    { "host.name", "hostname", PART_ALL }, { "host.name", "name", PART_ALL },
		    { "cloud.availability_zone", "availability_zone", PART_ALL } },
};
DETECTOR(nova, detect_cloud, &nova, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false }, { "host.id", false },
	 { "host.name", false }, { "cloud.availability_zone", false });

static const struct cloud alibaba_ecs = {
	.url = "http://100.100.100.200/latest/meta-data", .provider = "alibaba_cloud", .platform = "alibaba_cloud_ecs",
	.fields = { { "host.id", "/instance-id", PART_ALL }, { "host.name", "/hostname", PART_ALL },
		    { "host.image.id", "/image-id", PART_ALL }, { "host.type", "/instance/instance-type", PART_ALL },
		    { "cloud.account.id", "/owner-account-id", PART_ALL }, { "cloud.region", "/region-id", PART_ALL },
		    { "cloud.availability_zone", "/zone-id", PART_ALL } },
};
DETECTOR(alibaba_ecs, detect_cloud, &alibaba_ecs, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false },
	 { "cloud.region", false }, { "cloud.availability_zone", false }, { "host.id", false }, { "host.name", false },
	   { "host.type", false },
	 { "host.image.id", false });

static const struct cloud tencent_cvm = {
	.url = "http://metadata.tencentyun.com/latest/meta-data", .provider = "tencent_cloud",
	.platform = "tencent_cloud_cvm",
	.fields = { { "host.id", "/instance-id", PART_ALL }, { "host.name", "/instance-name", PART_ALL },
		    { "host.image.id", "/instance/image-id", PART_ALL },
		      { "host.type", "/instance/instance-type", PART_ALL },
		    { "cloud.account.id", "/app-id", PART_ALL }, { "cloud.region", "/placement/region", PART_ALL },
		    { "cloud.availability_zone", "/placement/zone", PART_ALL } },
};
DETECTOR(tencent_cvm, detect_cloud, &tencent_cvm, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false },
	 { "cloud.region", false }, { "cloud.availability_zone", false }, { "host.id", false }, { "host.name", false },
	   { "host.type", false },
	 { "host.image.id", false });

static const struct cloud akamai = {
	.url = LINK_LOCAL "/v1/instance", .json = true, .provider = "akamai_cloud", .platform = "akamai_cloud_platform",
	.header = { "accept", "application/json" }, .token_path = "/v1/token",
	.token_ask = { "metadata-token-expiry-seconds", "60" }, .token_header = "metadata-token",
	.fields = { { "cloud.account.id", "account_euuid", PART_ALL }, { "cloud.region", "region", PART_ALL },
		    { "host.id", "id", PART_ALL }, { "host.name", "label", PART_ALL },
		      { "host.type", "type", PART_ALL },
		    { "host.image.id", "image.id", PART_ALL }, { "host.image.name", "image.label", PART_ALL } },
};
DETECTOR(akamai, detect_cloud, &akamai, { "cloud.provider", false }, { "cloud.platform", false },
	 { "cloud.account.id", false },
	 { "cloud.region", false }, { "host.id", false }, { "host.name", false }, { "host.type", false },
	   { "host.image.id", false },
	   { "host.image.name", false });

static const struct cloud upcloud = {
	.url = LINK_LOCAL "/metadata/v1.json", .json = true,
	.fields = { { "cloud.provider", "cloud_name", PART_ALL }, { "host.id", "instance_id", PART_ALL },
		    { "host.name", "hostname", PART_ALL }, { "cloud.region", "region", PART_ALL } },
};
DETECTOR(upcloud, detect_cloud, &upcloud, { "cloud.provider", false }, { "host.id", false }, { "host.name", false },
	 { "cloud.region", false });

static const struct cloud docker = {
	.url = "http://localhost/info", .unix_socket = "/var/run/docker.sock", .json = true,
	.fields = { { "host.name", "Name", PART_ALL }, { "os.type", "OSType", PART_ALL } },
};
DETECTOR(docker, detect_cloud, &docker, { "host.name", false }, { "os.type", false });

static const struct cloud ecs = {
	.url = "/task", .url_variable = "ECS_CONTAINER_METADATA_URI_V4", .json = true, .provider = "aws",
	.platform = "aws_ecs",
	.fields = { { "aws.ecs.cluster.arn", "Cluster", PART_ALL }, { "aws.ecs.task.arn", "TaskARN", PART_ALL },
		    { "aws.ecs.task.id", "TaskARN", PART_LAST }, { "aws.ecs.task.family", "Family", PART_ALL },
		    { "aws.ecs.task.revision", "Revision", PART_ALL }, { "aws.ecs.launchtype", "LaunchType",
		      PART_LOWER },
		    { "cloud.availability_zone", "AvailabilityZone", PART_ALL } },
};
DETECTOR(ecs, detect_cloud, &ecs, { "cloud.provider", false }, { "cloud.platform", false },
	 { "aws.ecs.cluster.arn", false },
	 { "aws.ecs.task.arn", false }, { "aws.ecs.task.id", false }, { "aws.ecs.task.family", false },
	   { "aws.ecs.task.revision", false },
	 { "aws.ecs.launchtype", false }, { "cloud.availability_zone", false });
