// SPDX-License-Identifier: Apache-2.0
#include "web/upload.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/json_write.h"
#include "proc/binary.h"
#include "store/late.h"
#include "store/uploads.h"
#include "symbol/symbolizer.h"

#define LINES_US 20000000	/* for the names of source files; functions get theirs in any case */
#define IDS_MAX 3		/* by which profiles may call a file */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* What is needed to look into one file. */
struct naming {
	struct store *store;
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct binary *binary;
};

static void naming_done(struct naming *n)
{
	binary_unref(n->binary);
	symbolizer_free(n->symbolizer);
	reader_free(n->reader);
}

static int name_all(struct naming *n, const char *id, struct json_write *j)
{
	struct store_unnamed unnamed;
	int r = store_unnamed_of(n->store, id, &unnamed);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = late_name(n->store, n->symbolizer, n->binary, &unnamed, NAME_UPLOADED);
	if (r >= 0) {
		json_write_open(j, '{');
		json_write_key(j, "path");
		json_write_string(j, unnamed.path, strlen(unnamed.path));
		json_write_key(j, "build_id");
		json_write_string(j, id, strlen(id));
		json_write_key(j, "addresses");
		json_write_u32(j, unnamed.count);
		json_write_key(j, "named");
		json_write_u32(j, (u32)r);
		json_write_close(j, '}');
	}
	store_unnamed_done(&unnamed);
	return r < 0 ? r : 0;
}

/* A profile has one of them: GNU's, Go's, or OpenTelemetry's hash of the file. */
static u32 list_ids(const struct exe_info *info, char ids[IDS_MAX][sizeof(info->go_build_id)])
{
	u32 count = 0;

	memset(ids, 0, IDS_MAX * sizeof(ids[0]));
	if (info->build_id_bytes)
		hex_write(info->build_id, info->build_id_bytes, ids[count++]);
	if (info->go_build_id[0])
		memcpy(ids[count++], info->go_build_id, sizeof(info->go_build_id) - 1);
	hex_write(info->htlhash, sizeof(info->htlhash), ids[count++]);
	return count;
}

static int put_names(struct naming *n, const struct upload *upload, struct buf *body)
{
	const struct exe_info *info = &upload->info;
	char ids[IDS_MAX][sizeof(info->go_build_id)];
	u32 count = list_ids(info, ids);
	struct json_write j = { .b = body };
	int r = 0;

	json_write_open(&j, '{');
	json_write_key(&j, "build_id");
	json_write_string(&j, upload->id, strlen(upload->id));
	json_write_key(&j, "has_symbols");
	json_write_bool(&j, info->has_symtab || info->has_debug_info || info->has_gnu_debugdata);
	json_write_key(&j, "dropped_files");
	json_write_u32(&j, upload->dropped);
	json_write_key(&j, "executables");
	json_write_open(&j, '[');
	for (u32 i = 0; i < count && r == 0; i++)
		r = name_all(n, ids[i], &j);
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	return r;
}

static int read_upload(struct store *store, const void *at, size_t bytes, struct buf *body)
{
	struct symbolizer_options options = { .inlines = true, .lines_us = LINES_US };
	_cleanup_(naming_done) struct naming n = { .store = store };
	struct upload upload;
	int r = reader_start(0, &n.reader);

	if (r == 0)
		r = symbolizer_new(&options, n.reader, &n.symbolizer);
	if (r == 0)
		r = uploads_add(store_directory(store), n.reader, at, bytes, &upload);
	if (r < 0)
		return r;
	store_note_upload(store);
	n.binary = binary_new(upload.fd, -1, "", &upload.info);
	if (!n.binary) {
		close(upload.fd);
		return -ENOMEM;
	}
	n.binary->id = 1;
	return put_names(&n, &upload, body);
}

static void put_failure(int r, struct api_answer *answer)
{
	if (r == -ENOEXEC || r == -EBADMSG)
		api_error(answer, 400, "this is no ELF file that can be read; send the program, or its debug file");
	else if (r == -ENOSPC || r == -EROFS || r == -EDQUOT)
		api_error(answer, 507, "there is no room for it in the store's directory");
	else
		api_error(answer, 500, strerror(-r));
}

void upload_symbols(struct store *store, const void *at, size_t bytes, struct api_answer *answer)
{
	int r;

	answer->status = 200;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
	if (!store_directory(store)) {
		api_error(answer, 501, "this store takes no symbols: profiles are to bring their names along");
		return;
	}
	if (pthread_mutex_trylock(&one_at_a_time)) {
		api_error(answer, 503, "another file is being read; send it again in a moment");
		return;
	}
	r = read_upload(store, at, bytes, answer->body);
	pthread_mutex_unlock(&one_at_a_time);
	if (r == 0)
		r = buf_err(answer->body);
	if (r < 0)
		put_failure(r, answer);
}
