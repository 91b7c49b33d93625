// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/rpc_status.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "wire/pb.h"

int rpc_status_http(enum rpc_code code)
{
	switch (code) {
#define X(ID, number, http) case RPC_##ID: return http;
	RPC_CODES(X)
#undef X
	}
	return 500;
}

void rpc_status_encode(enum rpc_code code, const char *text, bool json, struct buf *out)
{
	struct json_write j = { out, false };

	if (!json) {
		pb_put_varint_nonzero(out, 1, code);
		pb_put_string_nonempty(out, 2, text, strlen(text));
		return;
	}
	json_write_open(&j, '{');
	json_write_key(&j, "code");
	json_write_u32(&j, code);
	json_write_key(&j, "message");
	json_write_string(&j, text, strlen(text));
	json_write_close(&j, '}');
}

/* google.rpc.Status with one detail, a RetryInfo: { Any: type, { RetryInfo: { Duration: seconds } } } */
void rpc_status_retry(enum rpc_code code, const char *text, u32 seconds, struct buf *out)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	_cleanup_(buf_done) struct buf duration, info, any, status, quoted;

	buf_init(&duration, 64);
	buf_init(&info, 64);
	buf_init(&any, 256);
	buf_init(&status, 4096);
	buf_init(&quoted, 8192);
	pb_put_varint(&duration, 1, seconds);
	pb_put_bytes(&info, 1, duration.data, duration.len);
	pb_put_string(&any, 1, type, sizeof(type) - 1);
	pb_put_bytes(&any, 2, info.data, info.len);
	rpc_status_encode(code, text, false, &status);
	pb_put_bytes(&status, 3, any.data, any.len);
	json_put_base64(&quoted, status.data, status.len);
	if (buf_err(&quoted) == 0)
		buf_add(out, quoted.data + 1, quoted.len - 2);
}
