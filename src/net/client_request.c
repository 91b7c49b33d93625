// SPDX-License-Identifier: Apache-2.0
#include "net/client_request.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER_BYTES_MAX (64u << 10)
#define ANSWER_BYTES (64u << 10)
#define SPARE_MAX 32u			/* requests that are kept for the next ones */
#define REDIRECTS_MAX 10L
#define IDLE_TIMEOUT_NS 90000000000
#define KEEPALIVE_TIME_NS 7200000000000
#define KEEPALIVE_TIMEOUT_NS 20000000000
#define KEEPALIVE_PROBES 4
#define UPLOAD_BYTES (256u << 10)	/* that libcurl may take from a body at once */

static bool given(const char *text)
{
	return text && *text;
}

/* ---- What libcurl asks for ------------------------------------------------------------ */

static size_t give_body(char *out, size_t size, size_t count, void *arg)
{
	struct client_request *request = arg;
	const struct client_call *call = &request->call;
	size_t room = size * count, n = 0, at;

	while (n < room && request->sent < call->prefix_bytes)
		out[n++] = (char)call->prefix[request->sent++];
	at = request->sent - call->prefix_bytes;
	if (request->sent < call->prefix_bytes || at == call->body_bytes)
		return n;
	room -= n;
	if (room > call->body_bytes - at)
		room = call->body_bytes - at;
	memcpy(out + n, (const char *)call->body + at, room);
	request->sent += room;
	return n + room;
}

/* A connection that was kept may turn out to be closed: the request is then sent again from its start. */
static int rewind_body(void *arg, curl_off_t offset, int origin)
{
	struct client_request *request = arg;

	if (origin != SEEK_SET || offset < 0 ||
	    (u64)offset > request->call.prefix_bytes + (u64)request->call.body_bytes)
		return CURL_SEEKFUNC_FAIL;
	request->sent = offset;
	return CURL_SEEKFUNC_OK;
}

static long status_of(const struct client_request *request)
{
	long status = 0;

	(void)request->client->curl->easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

static size_t take_body(char *at, size_t size, size_t count, void *arg)
{
	struct client_request *request = arg;
	struct buf *body = &request->answer.body;
	size_t bytes = size * count, room = body->max - body->len;

	if (request->call.piece && status_of(request) == 200)
		return request->call.piece(request->call.arg, at, bytes) < 0 ? 0 : bytes;
	buf_add(body, at, bytes < room ? bytes : room);
	if (bytes > room)
		request->answer.too_large = true;
	return buf_err(body) || bytes > room ? 0 : bytes;
}

static void forget_headers(struct client_request *request)
{
	arena_done(&request->arena);
	arena_init(&request->arena, HEADER_BYTES_MAX);
	request->answer.header_count = 0;
}

static struct http_header *header_place(struct client_request *request, const char *name)
{
	u32 i = 0;

	while (i < request->answer.header_count && strcmp(request->seen[i].name, name))
		i++;
	if (i == CLIENT_HEADERS_MAX)
		return NULL;
	request->answer.header_count += i == request->answer.header_count;
	request->seen[i].name = name;
	return &request->seen[i];
}

static void add_header(struct client_request *request, const char *line, size_t bytes)
{
	const char *colon = memchr(line, ':', bytes), *end = line + bytes;
	struct http_header *place;
	char *name, *value;

	if (!colon || colon == line)
		return;
	name = arena_strndup(&request->arena, line, colon - line);
	for (char *c = name; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	for (colon++; colon < end && (*colon == ' ' || *colon == '\t');)
		colon++;
	while (end > colon && isspace((unsigned char)end[-1]))
		end--;
	value = arena_strndup(&request->arena, colon, end - colon);
	place = name && value ? header_place(request, name) : NULL;
	if (place)
		place->value = value;
}

/* Each line of headers and trailers. An answer of 1xx and a redirection have a first line of their own. */
static size_t take_header(char *at, size_t size, size_t count, void *arg)
{
	struct client_request *request = arg;
	size_t bytes = size * count;

	if (bytes > 5 && !memcmp(at, "HTTP/", 5))
		forget_headers(request);
	else
		add_header(request, at, bytes);
	return bytes;
}

static int seconds_at_least_1(s64 ns)
{
	s64 seconds = ns / 1000000000;

	return seconds < 1 ? 1 : seconds > 32767 ? 32767 : (int)seconds;
}

/* Unsent bytes do not keep a connection alive for longer than a probe without answer does. */
static int prepare_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	const struct client_options *options = arg;
	s64 time = options->keepalive_time_ns > 0 ? options->keepalive_time_ns : KEEPALIVE_TIME_NS;
	s64 timeout = options->keepalive_timeout_ns > 0 ? options->keepalive_timeout_ns : KEEPALIVE_TIMEOUT_NS;
	int idle = seconds_at_least_1(time), every = seconds_at_least_1(timeout / KEEPALIVE_PROBES);
	int probes = KEEPALIVE_PROBES, on = 1, unsent_ms = seconds_at_least_1(timeout) * 1000;

	/* None of these exists on a unix socket, and a connection without them still works. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent_ms, sizeof(unsent_ms));
	return CURL_SOCKOPT_OK;
}

static curl_socket_t open_none(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	((struct client_request *)arg)->found_none = true;
	return CURL_SOCKET_BAD;
}

/* ---- Requests ---------------------------------------------------------------------------- */

void client_request_free(struct client_request *request)
{
	const struct curl_library *curl = request->client->curl;

	curl->slist_free_all(request->headers);
	curl->slist_free_all(request->connect_to);
	if (request->curl)
		curl->easy_cleanup(request->curl);
	buf_done(&request->answer.body);
	arena_done(&request->arena);
	free(request);
}

struct client_request *client_request_new(struct client *client)
{
	struct client_request *request = client->spare;

	if (request) {
		client->spare = request->next;
		client->spare_count--;
		return request;
	}
	request = calloc(1, sizeof(*request));
	if (!request)
		return NULL;
	request->client = client;
	request->answer.headers = request->seen;
	arena_init(&request->arena, HEADER_BYTES_MAX);
	request->curl = client->curl->easy_init();
	if (request->curl)
		return request;
	client_request_free(request);
	return NULL;
}

/* The handle stays with what it has learned of hosts; everything else is as new. */
void client_request_recycle(struct client_request *request)
{
	struct client *client = request->client;

	if (client->spare_count == SPARE_MAX) {
		client_request_free(request);
		return;
	}
	client->curl->easy_reset(request->curl);
	client->curl->slist_free_all(request->headers);
	client->curl->slist_free_all(request->connect_to);
	request->headers = request->connect_to = NULL;
	request->sent = 0;
	request->is_second_try = false;
	buf_done(&request->answer.body);
	forget_headers(request);
	request->answer = (struct client_answer){ .headers = request->seen };
	request->error_text[0] = '\0';
	request->next = client->spare;
	client->spare = request;
	client->spare_count++;
}

static bool is_plain(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' && *text != '\t')
			return false;
	}
	return true;
}

static int add_line(struct client_request *request, const char *name, const char *value)
{
	_cleanup_(freep) char *line = NULL;
	struct curl_slist *list;

	if (!*name || strpbrk(name, ": \t") || !is_plain(name) || !is_plain(value))
		return -EINVAL;
	/* A header without a value has a semicolon in libcurl; with a colon it would be left out. */
	if (asprintf(&line, *value ? "%s: %s" : "%s;", name, value) < 0) {
		line = NULL;
		return -ENOMEM;
	}
	list = request->client->curl->slist_append(request->headers, line);
	if (!list)
		return -ENOMEM;
	request->headers = list;
	return 0;
}

static int add_lines(struct client_request *request, const struct client_call *call)
{
	struct curl_slist *list;
	int r = 0;

	for (u32 i = 0; r == 0 && i < call->header_count; i++)
		r = add_line(request, call->headers[i].name, call->headers[i].value);
	if (r < 0)
		return r;
	/* It would wait for a server's word before each large body. */
	list = request->client->curl->slist_append(request->headers, "Expect:");
	if (!list)
		return -ENOMEM;
	request->headers = list;
	return 0;
}

static bool names_host(const struct client_call *call)
{
	for (u32 i = 0; i < call->header_count; i++) {
		if (!strcasecmp(call->headers[i].name, "host"))
			return true;
	}
	return false;
}

/* Asks for another name than the URL's host at the URL's host: TLS takes its names from the URL. */
static int override_name(struct client_request *request, const struct client_call *call, CURLU *url,
			 const char *host, const char *port)
{
	const struct curl_library *curl = request->client->curl;
	_cleanup_(freep) char *to = NULL, *authority = NULL;
	bool usual = !strcmp(port, "443") || !strcmp(port, "80");

	if (asprintf(&to, "::%s:%s", host, port) < 0) {
		to = NULL;
		return -ENOMEM;
	}
	request->connect_to = curl->slist_append(NULL, to);
	if (!request->connect_to ||
	    curl->url_set(url, CURLUPART_HOST, request->client->options.tls->server_name_override, 0) != CURLUE_OK)
		return -ENOMEM;
	if (call->http2_only || names_host(call))
		return 0;	/* in gRPC the name is the authority too */
	if (asprintf(&authority, "%s%s%s", host, usual ? "" : ":", usual ? "" : port) < 0) {
		authority = NULL;
		return -ENOMEM;
	}
	return add_line(request, "Host", authority);
}

static bool is_loopback(const char *host)
{
	return !strcasecmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "[::1]");
}

static CURLcode set_proxy(struct client_request *request, const struct client_call *call, const char *host)
{
	const struct client_options *options = &request->client->options;
	const struct curl_library *curl = request->client->curl;
	CURLcode code = CURLE_OK;

	if (given(options->proxy_url))
		code |= curl->easy_setopt(request->curl, CURLOPT_PROXY, options->proxy_url);
	else if (is_loopback(host))
		code |= curl->easy_setopt(request->curl, CURLOPT_PROXY, "");
	if (call->http2_only)
		code |= curl->easy_setopt(request->curl, CURLOPT_HTTPPROXYTUNNEL, 1L);
	return code;
}

CURLcode client_request_set_way(struct client_request *request)
{
	struct client *client = request->client;
	bool opens = !client->h2c_idle || request->is_second_try;
	CURLcode code = CURLE_OK;

	if (!opens)
		client->h2c_idle--;
	request->way = opens ? H2C_OPENS : H2C_JOINS;
	request->found_none = false;
	code |= client->curl->easy_setopt(request->curl, CURLOPT_HTTP_VERSION,
					  opens ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS);
	code |= client->curl->easy_setopt(request->curl, CURLOPT_FRESH_CONNECT, opens ? 1L : 0L);
	code |= client->curl->easy_setopt(request->curl, CURLOPT_OPENSOCKETFUNCTION, opens ? NULL : open_none);
	code |= client->curl->easy_setopt(request->curl, CURLOPT_OPENSOCKETDATA, request);
	return code;
}

static CURLcode set_version(struct client_request *request, const struct client_call *call, bool tls)
{
	long version = CURL_HTTP_VERSION_1_1;

	request->way = H2C_NONE;
	if (call->http2_only && !tls && request->client->is_7_88)
		return client_request_set_way(request);
	if (call->http2_only && !tls)
		version = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	else if (tls && !call->http1_only)
		version = CURL_HTTP_VERSION_2TLS;
	return request->client->curl->easy_setopt(request->curl, CURLOPT_HTTP_VERSION, version);
}

/* Where to, and by which way. */
static int set_url(struct client_request *request, const struct client_call *call)
{
	const struct curl_library *curl = request->client->curl;
	const struct tls_client_options *tls = request->client->options.tls;
	char *host = NULL, *port = NULL, *scheme = NULL, *text = NULL;
	CURLU *url = curl->url();
	int r = -EINVAL;
	bool is_https;

	if (!url)
		return -ENOMEM;
	if (curl->url_set(url, CURLUPART_URL, call->url, 0) == CURLUE_OK &&
	    curl->url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
	    curl->url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    curl->url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
		is_https = !strcasecmp(scheme, "https");
		r = 0;
		if (is_https && tls && given(tls->server_name_override))
			r = override_name(request, call, url, host, port);
		if (r == 0 && (curl->url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK ||
			       curl->easy_setopt(request->curl, CURLOPT_URL, text) != CURLE_OK ||
			       set_version(request, call, is_https) != CURLE_OK ||
			       set_proxy(request, call, host) != CURLE_OK))
			r = -ENOMEM;
	}
	curl->free(host);
	curl->free(scheme);
	curl->free(port);
	curl->free(text);
	curl->url_cleanup(url);
	return r;
}

static CURLcode set_method(struct client_request *request, const struct client_call *call)
{
	const struct curl_library *curl = request->client->curl;
	u64 bytes = call->prefix_bytes + (u64)call->body_bytes;
	CURLcode code = CURLE_OK;

	if (!strcmp(call->method, "GET"))
		return curl->easy_setopt(request->curl, CURLOPT_HTTPGET, 1L);
	code |= curl->easy_setopt(request->curl, CURLOPT_POST, 1L);
	code |= curl->easy_setopt(request->curl, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
	code |= curl->easy_setopt(request->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
	code |= curl->easy_setopt(request->curl, CURLOPT_READFUNCTION, give_body);
	code |= curl->easy_setopt(request->curl, CURLOPT_READDATA, request);
	code |= curl->easy_setopt(request->curl, CURLOPT_SEEKFUNCTION, rewind_body);
	code |= curl->easy_setopt(request->curl, CURLOPT_SEEKDATA, request);
	if (bytes > UPLOAD_BYTES / 4)
		code |= curl->easy_setopt(request->curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES);
	if (strcmp(call->method, "POST"))
		code |= curl->easy_setopt(request->curl, CURLOPT_CUSTOMREQUEST, call->method);
	return code;
}

/* Milliseconds, rounded up: 0 would be no limit. */
static long timeout_ms(s64 ns)
{
	s64 ms = ns <= 0 ? 0 : (ns - 1) / 1000000 + 1;

	return ms > INT32_MAX ? INT32_MAX : (long)ms;
}

static CURLcode set_connection(struct client_request *request, const struct client_call *call)
{
	const struct client_options *options = &request->client->options;
	const struct curl_library *curl = request->client->curl;
	s64 idle = options->idle_timeout_ns > 0 ? options->idle_timeout_ns : IDLE_TIMEOUT_NS;
	CURL *easy = request->curl;
	CURLcode code = CURLE_OK;

	code |= curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	code |= curl->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	code |= curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, call->http2_only ? 0L : 1L);
	code |= curl->easy_setopt(easy, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
	code |= curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	code |= curl->easy_setopt(easy, CURLOPT_PIPEWAIT, request->client->is_7_88 ? 0L : 1L);
	code |= curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms(call->timeout_ns));
	code |= curl->easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)seconds_at_least_1(idle));
	code |= curl->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, prepare_socket);
	code |= curl->easy_setopt(easy, CURLOPT_SOCKOPTDATA, options);
	if (given(options->unix_socket))
		code |= curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options->unix_socket);
	if (request->connect_to)
		code |= curl->easy_setopt(easy, CURLOPT_CONNECT_TO, request->connect_to);
	return code | client_tls_apply(&request->client->tls, curl, easy);
}

static CURLcode set_callbacks(struct client_request *request)
{
	const struct client_options *options = &request->client->options;
	const struct curl_library *curl = request->client->curl;
	CURL *easy = request->curl;
	CURLcode code = CURLE_OK;

	code |= curl->easy_setopt(easy, CURLOPT_PRIVATE, request);
	code |= curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, request->error_text);
	code |= curl->easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
	code |= curl->easy_setopt(easy, CURLOPT_USERAGENT,
				  given(options->user_agent) ? options->user_agent : "wick/" WICK_VERSION);
	code |= curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	code |= curl->easy_setopt(easy, CURLOPT_WRITEDATA, request);
	code |= curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	code |= curl->easy_setopt(easy, CURLOPT_HEADERDATA, request);
	return code;
}

int client_request_set_up(struct client_request *request, const struct client_call *call)
{
	int r = add_lines(request, call);

	if (r == 0)
		r = set_url(request, call);
	if (r < 0)
		return r;
	request->call = *call;
	buf_init(&request->answer.body, call->answer_max ? call->answer_max : ANSWER_BYTES);
	if (set_method(request, call) != CURLE_OK || set_connection(request, call) != CURLE_OK ||
	    set_callbacks(request) != CURLE_OK)
		return -ENOMEM;
	return 0;
}
