// SPDX-License-Identifier: Apache-2.0
#include "proc/engine_api.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/proto_fields.h"
#include "proc/grpc_call.h"

#define LIST_PATH "/runtime.v1.RuntimeService/ListContainers"
#define GET_PATH "/containerd.services.containers.v1.Containers/Get"

/* ---- Asking ---------------------------------------------------------------------------------- */

/* A text of less than 128 bytes, as the first field of a message. */
static void put_first(struct buf *out, const void *at, size_t bytes)
{
	const u8 head[2] = { 1 << 3 | 2, (u8)bytes };

	buf_add(out, head, 2);
	buf_add(out, at, bytes);
}

static void ask_grpc(enum engine_api api, const char *id, const char *name_space, struct buf *out)
{
	_cleanup_(buf_done) struct buf filter, request;

	buf_init(&filter, 256);
	buf_init(&request, 256);
	put_first(&filter, id, strnlen(id, 64));
	if (api == ENGINE_CRI)
		put_first(&request, filter.data, filter.len);
	grpc_call_write(out, api == ENGINE_CRI ? LIST_PATH : GET_PATH, api == ENGINE_CRI ? "" : name_space,
			api == ENGINE_CRI ? request.data : filter.data,
			(u32)(api == ENGINE_CRI ? request.len : filter.len));
	if (buf_err(&filter) < 0 || buf_err(&request) < 0)
		out->err = -ENOMEM;
}

/* By HTTP/1.0 what comes is not chunked, and ends with the connection. */
void engine_api_ask(enum engine_api api, const char *id, const char *name_space, struct buf *out)
{
	if (engine_api_is_grpc(api))
		ask_grpc(api, id, name_space, out);
	else
		buf_addf(out, "GET /containers/json?all=true&filters=%%7B%%22id%%22%%3A%%5B%%22%.64s%%22%%5D%%7D "
			 "HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n", id);
}

/* ---- Docker ------------------------------------------------------------------------------------ */

static void read_names(struct json_read *j, struct container_about *about)
{
	for (json_read_list(j); json_read_item(j);) {
		struct str name = json_read_string(j);

		if (name.len > 1 && name.at[0] == '/')
			container_about_put_name(about, (struct str){ name.at + 1, name.len - 1 });
	}
}

static void read_labels(struct json_read *j, const struct container_labels *labels, struct container_about *about)
{
	char key_text[CONTAINER_NAME_BYTES + 1];
	struct str key;

	json_read_object(j);
	while (json_read_member(j, &key)) {
		/* The next string takes its place. */
		u32 len = key.len < sizeof(key_text) ? key.len : 0;

		memcpy(key_text, len ? key.at : "", len);
		container_about_put_label(about, labels, (struct str){ key_text, len }, json_read_string(j));
	}
}

/* Is it the one that was asked for? */
static bool read_container(struct json_read *j, const char *id, const struct container_labels *labels,
			   struct container_about *about)
{
	bool is_it = false;
	struct str key;

	*about = (struct container_about){ 0 };
	json_read_object(j);
	while (json_read_member(j, &key)) {
		if (str_is(key, "Id"))
			is_it = str_is(json_read_string(j), id);
		else if (str_is(key, "Names"))
			read_names(j, about);
		else if (str_is(key, "Image"))
			container_about_put_image(about, json_read_string(j));
		else if (str_is(key, "Labels"))
			read_labels(j, labels, about);
		else
			json_read_skip(j);
	}
	return is_it;
}

static int read_docker(const char *id, const struct container_labels *labels, const char *at, size_t bytes,
		       struct container_about *ret_about)
{
	static const char ok[] = "HTTP/1.x 200";
	struct container_about about;
	struct json_read j;
	bool found = false;
	const char *body;
	int r;

	if (!at || bytes < sizeof(ok) || memcmp(at, ok, 7) || memcmp(at + 8, ok + 8, 4))
		return -EBADMSG;
	body = memmem(at, bytes, "\r\n\r\n", 4);
	if (!body)
		return -EBADMSG;
	json_read_init(&j, body + 4, bytes - (size_t)(body + 4 - at));
	json_read_list(&j);
	while (json_read_item(&j)) {
		if (!read_container(&j, id, labels, &about) || found)
			continue;
		*ret_about = about;
		found = true;
	}
	r = json_read_end(&j);
	json_read_done(&j);
	return r < 0 ? r : found;
}

/* ---- gRPC -------------------------------------------------------------------------------------- */

/* An entry of a map: { 1: key, 2: value } */
static void read_label(struct cursor entry, const struct container_labels *labels, struct container_about *about)
{
	struct str key = { "", 0 }, value = { "", 0 };
	struct cursor field;
	u32 number;

	while (proto_next(&entry, &number, &field)) {
		if (number == 1)
			key = proto_text(&field);
		else if (number == 2)
			value = proto_text(&field);
	}
	container_about_put_label(about, labels, key, value);
}

/* The text of a field of a message; "" if there is none. */
static struct str text_in(struct cursor message, u32 wanted)
{
	struct str text = { "", 0 };
	struct cursor field;
	u32 number;

	while (proto_next(&message, &number, &field))
		if (number == wanted)
			text = proto_text(&field);
	return text;
}

/* Of CRI: { 1: id, 3: metadata { 1: name }, 4: image { 1: name or id, 18: the name that was said }, 8: labels } */
static bool read_cri_container(struct cursor c, const char *id, const struct container_labels *labels,
			       struct container_about *about)
{
	struct cursor field;
	bool is_it = false;
	u32 number;

	*about = (struct container_about){ 0 };
	while (proto_next(&c, &number, &field)) {
		if (number == 1)
			is_it = str_is(proto_text(&field), id);
		else if (number == 3)
			container_about_put_name(about, text_in(field, 1));
		else if (number == 4)
			container_about_put_image(about, text_in(field, text_in(field, 18).len ? 18 : 1));
		else if (number == 8)
			read_label(field, labels, about);
	}
	return is_it && !c.bad;
}

/* Of containerd: { 1: id, 2: labels, 3: image } */
static bool read_containerd_container(struct cursor c, const char *id, const struct container_labels *labels,
				      struct container_about *about)
{
	struct cursor field;
	bool is_it = false;
	u32 number;

	*about = (struct container_about){ 0 };
	while (proto_next(&c, &number, &field)) {
		if (number == 1)
			is_it = str_is(proto_text(&field), id);
		else if (number == 2)
			read_label(field, labels, about);
		else if (number == 3)
			container_about_put_image(about, proto_text(&field));
	}
	return is_it && !c.bad;
}

static int read_grpc(enum engine_api api, const char *id, const struct container_labels *labels, const void *at,
		     size_t bytes, struct container_about *ret_about)
{
	_cleanup_(buf_done) struct buf message;
	struct container_about about;
	struct cursor all, container;
	u32 number;
	int r;

	buf_init(&message, ENGINE_ANSWER_MAX);
	r = grpc_call_message(at, bytes, &message);
	if (r <= 0)
		return r;
	all = cursor_of(message.data, message.len);
	while (proto_next(&all, &number, &container)) {
		if (number != 1 || !(api == ENGINE_CRI ? read_cri_container : read_containerd_container)(
					   container, id, labels, &about))
			continue;
		*ret_about = about;
		return 1;
	}
	return all.bad ? -EBADMSG : 0;
}

int engine_api_read(enum engine_api api, const char *id, const struct container_labels *labels, const void *at,
		    size_t bytes, struct container_about *ret_about)
{
	int r = api == ENGINE_DOCKER ? read_docker(id, labels, at, bytes, ret_about) :
				       read_grpc(api, id, labels, at, bytes, ret_about);

	if (r == 1 && !ret_about->service[0])
		memcpy(ret_about->service, ret_about->name, sizeof(ret_about->service));
	return r;
}
