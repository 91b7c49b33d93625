// SPDX-License-Identifier: Apache-2.0
#include "proc/engine_api.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "proc/grpc_call.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OK_HEAD "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"

static const char *const wanted[] = { "team" };
static const struct container_labels labels = { wanted, 1 };

static int read_text(enum engine_api api, const char *text, struct container_about *about)
{
	*about = (struct container_about){ 0 };
	return engine_api_read(api, ID, &labels, text, strlen(text), about);
}

/* The attributes with blanks between. */
static const char *text_of(const struct container_about *about)
{
	static char text[CONTAINER_TEXT_BYTES];

	memcpy(text, about->text, about->bytes);
	text[about->bytes ? about->bytes - 1 : 0] = '\0';
	for (u32 i = 0; i + 1 < about->bytes; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

TEST(engine_api_reads_what_docker_says)
{
	struct container_about about;

	EQ(read_text(ENGINE_DOCKER,
		     OK_HEAD "[{\"Id\":\"" ID "\",\"Names\":[\"/web-1\",\"/other/web\"],"
			     "\"Image\":\"registry:5000/shop/web:1.2\",\"Ports\":[{}],"
			     "\"Labels\":{\"team\":\"blue\",\"secret\":\"x\",\"com.docker.compose.service\":\"web\"}}]",
		     &about), 1);
	STREQ(about.name, "web-1");
	STREQ(about.service, "web");
	STREQ(text_of(&about), "container.name=web-1 container.image.name=registry:5000/shop/web "
			       "container.image.tags=1.2 container.label.team=blue");
}

TEST(engine_api_takes_no_other_container_and_no_other_status)
{
	struct container_about about;

	EQ(read_text(ENGINE_DOCKER, OK_HEAD "[{\"Id\":\"ff\",\"Names\":[\"/x\"]}]", &about), 0);
	EQ(read_text(ENGINE_DOCKER, OK_HEAD "[]", &about), 0);
	EQ(read_text(ENGINE_DOCKER, "HTTP/1.0 500 Oh\r\n\r\n[]", &about), -EBADMSG);
	EQ(read_text(ENGINE_DOCKER, OK_HEAD "[{\"Id\":\"" ID "\"", &about), -EBADMSG);
	EQ(read_text(ENGINE_DOCKER, "garbage", &about), -EBADMSG);
	EQ(read_text(ENGINE_CRI, "garbage", &about), -EBADMSG);
	EQ(read_text(ENGINE_CRI, "", &about), -EBADMSG);
	EQ(read_text(ENGINE_DOCKER, "", &about), -EBADMSG);
}

TEST(engine_api_cuts_and_cleans_texts)
{
	char name[400], json[1024];
	struct container_about about;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)snprintf(json, sizeof(json), OK_HEAD "[{\"Names\":[\"/a\\u0007\\n%s\"],\"Id\":\"" ID "\",\"Image\":"
		       "\"sha256:abc\"}]", name);
	EQ(read_text(ENGINE_DOCKER, json, &about), 1);
	EQ(strlen(about.name), CONTAINER_NAME_BYTES);
	EQ(memcmp(about.name, "a??n", 4), 0);
	EQ(about.bytes, strlen("container.name=") + CONTAINER_VALUE_BYTES + 1);
}

/* ---- gRPC ---------------------------------------------------------------------------------------- */

static void add_frame(struct buf *to, u8 type, u8 flags, u8 stream, const void *body, u32 bytes)
{
	const u8 head[9] = { 0, (u8)(bytes >> 8), (u8)bytes, type, flags, 0, 0, 0, stream };

	buf_add(to, head, 9);
	buf_add(to, body, bytes);
}

static void add_field(struct buf *to, u8 number, const void *at, size_t bytes)
{
	const u8 tag[3] = { (u8)(number << 3 | 2) | (number > 15 ? 0x80 : 0), (u8)(number >> 4), (u8)bytes };

	buf_add(to, tag, number > 15 ? 2 : 1);
	buf_add(to, tag + 2, 1);
	buf_add(to, at, bytes);
}

static void add_text(struct buf *to, u8 number, const char *text)
{
	add_field(to, number, text, strlen(text));
}

static void add_message(struct buf *to, u8 number, struct buf *message)
{
	add_field(to, number, message->data, message->len);
	buf_done(message);
	buf_init(message, 1024);
}

/* The message in a response of the call, in two frames of data, the second of them padded. */
static void add_response(struct buf *to, const struct buf *message)
{
	char data[600] = { 0, 0, 0, (char)(message->len >> 8), (char)message->len };
	char second[620] = { 2 };

	memcpy(data + 5, message->data, message->len);
	memcpy(second + 1, data + 10, message->len - 5);
	add_frame(to, 4, 0, 0, "", 0);
	add_frame(to, 1, 4, 1, "\x88", 1);
	add_frame(to, 0, 0, 1, data, 10);
	add_frame(to, 0, 8, 1, second, (u32)message->len - 5 + 3);
	add_frame(to, 1, 5, 1, "\x88", 1);
}

TEST(engine_api_reads_what_a_runtime_of_kubernetes_says)
{
	struct buf part, container, list, answer;
	struct container_about about;

	buf_init(&part, 1024);
	buf_init(&container, 1024);
	buf_init(&list, 1024);
	buf_init(&answer, 4096);
	add_text(&container, 1, ID);
	add_text(&part, 1, "app");
	add_message(&container, 3, &part);
	add_text(&part, 1, "sha256:abc");
	add_text(&part, 18, "nginx:1.27");
	add_message(&container, 4, &part);
	add_text(&part, 1, "io.kubernetes.pod.name");
	add_text(&part, 2, "web-0");
	add_message(&container, 8, &part);
	buf_add(&list, "\x0a", 1);
	buf_add(&list, (u8[2]){ (u8)(container.len & 0x7f) | 0x80, (u8)(container.len >> 7) }, 2);
	buf_add(&list, container.data, container.len);
	add_response(&answer, &list);
	OK(grpc_call_look(answer.data, answer.len).is_over);
	OK(!grpc_call_look(answer.data, answer.len - 1).is_over);
	EQ(grpc_call_look(answer.data, answer.len).settings, 1);
	EQ(engine_api_read(ENGINE_CRI, ID, &labels, answer.data, answer.len, &about), 1);
	STREQ(about.service, "app");
	STREQ(text_of(&about), "container.name=app container.image.name=nginx container.image.tags=1.27 "
			       "k8s.pod.name=web-0");
	STREQ(container_about_value(&about, "k8s.pod.name"), "web-0");
	STREQ(container_about_value(&about, "k8s.pod"), "");
	for (size_t i = 0; i < answer.len; i++)
		EQ(engine_api_read(ENGINE_CRI, ID, &labels, answer.data, i, &about), -EBADMSG);
	buf_done(&part);
	buf_done(&container);
	buf_done(&list);
	buf_done(&answer);
}

TEST(engine_api_asks_for_one_container)
{
	struct buf out;

	buf_init(&out, 4096);
	engine_api_ask(ENGINE_DOCKER, ID, "", &out);
	OK(strstr(out.data, "filters=%7B%22id%22%3A%5B%22" ID "%22%5D%7D HTTP/1.0\r\n"));
	out.len = 0;
	engine_api_ask(ENGINE_CONTAINERD, ID, "default", &out);
	OK(memmem(out.data, out.len, ID, 64) && memmem(out.data, out.len, "containerd-namespace\x07" "default", 28));
	EQ(buf_err(&out), 0);
	buf_done(&out);
}

TEST(engine_api_survives_lack_of_memory)
{
	static const char text[] = OK_HEAD "[{\"Id\":\"" ID "\",\"Names\":[\"/w\\u00e9b\"]}]";
	struct container_about about;

	for (long i = 0;; i++) {
		int r;

		test_alloc_fail(i);
		r = read_text(ENGINE_DOCKER, text, &about);
		test_alloc_reset();
		if (r == 1)
			break;
		EQ(r, -ENOMEM);
	}
	STREQ(about.name, "w\xc3\xa9" "b");
}
