// SPDX-License-Identifier: Apache-2.0
/* Detectors that ask nobody: the environment, and this machine. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hex.h"
#include "ottl/value.h"
#include "proc/host_identity.h"
#include "processors/detect.h"

#define ADDRESSES_MAX 64

/* ---- env: OTEL_RESOURCE_ATTRIBUTES=key=value,... ------------------------------------------------------ */

/* In place; %41 is A. */
static void decode_percent(char *text)
{
	char *out = text;

	for (char *at = text; *at; at++) {
		if (at[0] == '%' && at[1] && at[2] && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
			*out++ = (char)(hex_digit(at[1]) << 4 | hex_digit(at[2]));
			at += 2;
		} else {
			*out++ = *at;
		}
	}
	*out = 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len && isspace((unsigned char)text[len - 1]);)
		text[--len] = 0;
	return text;
}

static int detect_env(struct detection *d, const struct detector_ops *ops)
{
	const char *variable = getenv("OTEL_RESOURCE_ATTRIBUTES");
	_cleanup_(freep) char *copy = variable ? strdup(variable) : NULL;
	char *rest = copy, *pair;

	while (rest && (pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '='), *key;

		if (!*trim(pair))
			continue;
		if (!value) {
			buf_addf(&d->why, "OTEL_RESOURCE_ATTRIBUTES has \"%s\", which is not key=value", pair);
			return -EINVAL;
		}
		*value++ = 0;
		key = trim(pair);
		value = trim(value);
		decode_percent(key);
		decode_percent(value);
		detection_put(d, key, value);
	}
	return 0;
}
const struct detector_ops detector_env = { "env", NULL, detect_env, NULL, NULL };

/* ---- Platforms that tell by their environment ---------------------------------------------------------- */

struct variable {
	const char *name;		/* NULL: text is the value itself */
	const char *attribute, *text;
};

/* The first must be set, or it is not this platform. */
static int detect_variables(struct detection *d, const struct detector_ops *ops)
{
	const struct variable *at = ops->table;

	if (!getenv(at->name))
		return -ENOENT;
	for (; at->name || at->attribute; at++)
		if (at->attribute)
			detection_put(d, at->attribute, at->name ? getenv(at->name) : at->text);
	return 0;
}

static const struct variable lambda[] = {
	{ "AWS_LAMBDA_FUNCTION_NAME", "faas.name", NULL }, { NULL, "cloud.provider", "aws" },
	{ NULL, "cloud.platform", "aws_lambda" }, { "AWS_REGION", "cloud.region", NULL },
	{ "AWS_LAMBDA_FUNCTION_VERSION", "faas.version", NULL },
	{ "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "faas.max_memory", NULL },
	{ "AWS_LAMBDA_LOG_STREAM_NAME", "faas.instance", NULL },
	{ "AWS_LAMBDA_LOG_GROUP_NAME", "aws.log.group.names", NULL },
	{ "AWS_LAMBDA_LOG_STREAM_NAME", "aws.log.stream.names", NULL }, { 0 },
};
static const struct detector_attribute lambda_attributes[] = {
	{ "cloud.provider", false }, { "cloud.platform", false }, { "cloud.region", false }, { "faas.name", false },
	{ "faas.version", false }, { "faas.max_memory", false }, { "faas.instance", false },
	{ "aws.log.group.names", false }, { "aws.log.stream.names", false }, { 0 },
};
const struct detector_ops detector_lambda = { "lambda", lambda_attributes, detect_variables, lambda, NULL };

static const struct variable heroku[] = {
	{ "HEROKU_DYNO_ID", "service.instance.id", NULL }, { NULL, "cloud.provider", "heroku" },
	{ "HEROKU_APP_ID", "heroku.app.id", NULL }, { "HEROKU_APP_NAME", "service.name", NULL },
	{ "HEROKU_RELEASE_CREATED_AT", "heroku.release.creation_timestamp", NULL },
	{ "HEROKU_RELEASE_VERSION", "service.version", NULL }, { "HEROKU_SLUG_COMMIT", "heroku.release.commit", NULL },
	{ 0 },
};
static const struct detector_attribute heroku_attributes[] = {
	{ "cloud.provider", false }, { "service.instance.id", false }, { "heroku.app.id", false },
	{ "service.name", false }, { "heroku.release.creation_timestamp", false }, { "service.version", false },
	{ "heroku.release.commit", false }, { 0 },
};
const struct detector_ops detector_heroku = { "heroku", heroku_attributes, detect_variables, heroku, NULL };

static const struct variable eks[] = {
	{ "KUBERNETES_SERVICE_HOST", NULL, NULL }, { NULL, "cloud.provider", "aws" },
	{ NULL, "cloud.platform", "aws_eks" }, { 0 },
};
static const struct detector_attribute eks_attributes[] = { { "cloud.provider", false }, { "cloud.platform", false },
							    { 0 } };
const struct detector_ops detector_eks = { "eks", eks_attributes, detect_variables, eks, NULL };

static const struct variable azurecontainerapps[] = {
	{ "CONTAINER_APP_NAME", "service.name", NULL }, { NULL, "cloud.provider", "azure" },
	{ NULL, "cloud.platform", "azure_container_apps" }, { "CONTAINER_APP_REPLICA_NAME", "service.instance.id",
	  NULL },
	{ "CONTAINER_APP_REVISION", "service.version", NULL }, { 0 },
};
static const struct detector_attribute azurecontainerapps_attributes[] = {
	{ "cloud.provider", false }, { "cloud.platform", false }, { "service.name", false },
	{ "service.instance.id", false }, { "service.version", false }, { 0 },
};
const struct detector_ops detector_azurecontainerapps = { "azurecontainerapps", azurecontainerapps_attributes,
							  detect_variables, azurecontainerapps, NULL };

/* ---- system ------------------------------------------------------------------------------------------------ */

/* The first line of a file, or a value of its lines NAME=value; "" if there is none. */
static void read_value(const char *path, const char *name, char out[256])
{
	size_t len = name ? strlen(name) : 0;
	FILE *file = fopen(path, "re");
	char line[1024];

	out[0] = 0;
	while (file && !*out && fgets(line, sizeof(line), file)) {
		char *text = line;

		if (name && (strncmp(line, name, len) || line[len] != '='))
			continue;
		if (name)
			text = line + len + 1;
		text = trim(text);
		if (*text == '"') {
			text++;
			text[strcspn(text, "\"")] = 0;
		}
		(void)snprintf(out, 256, "%s", text);
	}
	if (file)
		fclose(file);
}

/* The full name that the resolver has for this host; "" if it has none. */
static void resolved_name(const char *host, char out[256])
{
	struct addrinfo hints = { .ai_flags = AI_CANONNAME, .ai_socktype = SOCK_STREAM }, *info = NULL;

	out[0] = 0;
	if (getaddrinfo(host, NULL, &hints, &info) == 0 && info && info->ai_canonname)
		(void)snprintf(out, 256, "%s", info->ai_canonname);
	if (info)
		freeaddrinfo(info);
	out[strcspn(out, "\n")] = 0;
}

/* By the name of the first of this host's addresses that has one. */
static void looked_up_name(const char *host, char out[256])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info = NULL;

	out[0] = 0;
	if (getaddrinfo(host, NULL, &hints, &info) == 0)
		for (struct addrinfo *at = info; at && !*out; at = at->ai_next)
			if (getnameinfo(at->ai_addr, at->ai_addrlen, out, 256, NULL, 0, NI_NAMEREQD))
				out[0] = 0;
	if (info)
		freeaddrinfo(info);
}

static void put_host_name(struct detection *d)
{
	static const char *const usual[] = { "dns", "os", NULL };
	const struct config_node *sources = config_get(d->block, "hostname_sources");
	u32 count = sources && sources->kind == NODE_LIST ? sources->count : 2;
	char host[256] = "", name[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	for (u32 i = 0; i < count && !*name; i++) {
		const char *source = sources && sources->kind == NODE_LIST ? sources->list[i]->text : usual[i];

		if (source && !strcmp(source, "os"))
			(void)snprintf(name, sizeof(name), "%s", host);
		else if (source && !strcmp(source, "lookup"))
			looked_up_name(host, name);
		else
			resolved_name(host, name);	/* dns, cname */
	}
	detection_put(d, "host.name", name);
}

static void put_os(struct detection *d)
{
	char name[256], version[256], build[256], text[1024];
	struct utsname uts = { 0 };

	(void)uname(&uts);
	read_value("/etc/os-release", "NAME", name);
	read_value("/etc/os-release", "VERSION_ID", version);
	read_value("/etc/os-release", "BUILD_ID", build);
	(void)snprintf(text, sizeof(text), "%s %s (%s %s %s %s)", name, version, uts.sysname, uts.nodename, uts.release,
		       uts.machine);
	detection_put(d, "os.type", "linux");
	detection_put(d, "os.name", name);
	detection_put(d, "os.version", version);
	detection_put(d, "os.build.id", build);
	detection_put(d, "os.description", text);
	detection_put(d, "host.arch", !strcmp(uts.machine, "x86_64") ? "amd64" :
				      !strcmp(uts.machine, "aarch64") ? "arm64" : uts.machine);
}

static void put_host_id(struct detection *d)
{
	struct host_identity host;

	host_identity_read("/", &host);
	detection_put(d, "host.id", host.id);
}

static void put_cpu(struct detection *d)
{
	static const struct {
		const char *key, *attribute;
	} keys[] = {
		{ "vendor_id", "host.cpu.vendor.id" }, { "cpu family", "host.cpu.family" },
		  { "model", "host.cpu.model.id" },
		{ "model name", "host.cpu.model.name" }, { "stepping", "host.cpu.stepping" },
	};
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file) && line[0] != '\n') {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = 0;
		for (u32 i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (!strcmp(trim(line), keys[i].key))
				detection_put(d, keys[i].attribute, trim(colon + 1));
	}
	if (file)
		fclose(file);
}

static void put_list(struct detection *d, const char *name, struct any *list, u32 count)
{
	if (count)
		detection_put_any(d, name, &(struct any){ ANY_ARRAY, count, .array = list });
}

static bool address_text(const struct ifaddrs *at, char ip[64], char mac[64])
{
	const struct sockaddr_ll *link;

	ip[0] = mac[0] = 0;
	if (!at->ifa_addr || at->ifa_flags & IFF_LOOPBACK || !(at->ifa_flags & IFF_UP))
		return false;
	if (at->ifa_addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr, ip, 64);
	else if (at->ifa_addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr, ip, 64);
	link = (const void *)at->ifa_addr;
	if (at->ifa_addr->sa_family == AF_PACKET && link->sll_halen == 6)
		(void)snprintf(mac, 64, "%02X-%02X-%02X-%02X-%02X-%02X", link->sll_addr[0], link->sll_addr[1],
			       link->sll_addr[2], link->sll_addr[3], link->sll_addr[4], link->sll_addr[5]);
	return true;
}

static void put_addresses(struct detection *d)
{
	struct any ips[ADDRESSES_MAX], macs[ADDRESSES_MAX];
	u32 ip_count = 0, mac_count = 0;
	struct ifaddrs *list = NULL;

	(void)getifaddrs(&list);
	for (struct ifaddrs *at = list; at && ip_count < ADDRESSES_MAX &&
	     mac_count < ADDRESSES_MAX; at = at->ifa_next) {
		char ip[64], mac[64];

		if (!address_text(at, ip, mac))
			continue;
		if (*ip)
			ips[ip_count++] = value_string(str_copy(&d->arena, ip, strlen(ip))).any;
		if (*mac)
			macs[mac_count++] = value_string(str_copy(&d->arena, mac, strlen(mac))).any;
	}
	if (list)
		freeifaddrs(list);
	put_list(d, "host.ip", ips, ip_count);
	put_list(d, "host.mac", macs, mac_count);
}

static int detect_system(struct detection *d, const struct detector_ops *ops)
{
	put_host_name(d);
	put_os(d);
	put_host_id(d);
	put_cpu(d);
	put_addresses(d);
	return 0;
}

static const struct detector_attribute system_attributes[] = {
	{ "host.name", false }, { "os.type", false }, { "host.id", true }, { "host.arch", true }, { "host.ip", true },
	{ "host.mac", true }, { "os.description", true }, { "os.name", true }, { "os.version", true },
	{ "os.build.id", true }, { "host.cpu.vendor.id", true }, { "host.cpu.family", true },
	{ "host.cpu.model.id", true }, { "host.cpu.model.name", true }, { "host.cpu.stepping", true }, { 0 },
};
const struct detector_ops detector_system = { "system", system_attributes, detect_system, NULL, NULL };
