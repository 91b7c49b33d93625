// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/rpc_status.h"

#include <string.h>

#include "base/buf.h"
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
