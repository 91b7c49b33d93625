// SPDX-License-Identifier: Apache-2.0
/* OTLP as a file format. */
#include "wire/otlp/otlp.h"

#include "wire/format.h"
#include "wire/otlp/otlp_file.h"
#include "wire/pb.h"

/*
 * Neither OTLP nor pprof has a magic number, and both have only LEN fields 1
 * and 2 at their start. In OTLP there is nothing else, and resource_profiles
 * consists of messages where pprof's sample_type consists of numbers. The
 * bytes may be a first part only.
 */
static bool otlp_sniff(const void *at, size_t bytes)
{
	struct pb r = pb_from(at, bytes), inner;
	struct pb_field f, g;
	bool any = false;

	if (otlp_file_is_framed(at, bytes))
		return true;
	while (pb_next(&r, &f)) {
		if (f.number > 2 || f.wire != PB_LEN)
			return false;
		any = true;
		inner = f.body;
		while (pb_next(&inner, &g))
			if (g.wire != PB_LEN || g.number > (f.number == 1 ? 3 : 7))
				return false;
		if (inner.err)
			return false;
	}
	return any || (r.err && bytes && *(const u8 *)at == (1 << 3 | PB_LEN));
}

static int otlp_decode_file(const void *at, size_t bytes, struct profile **ret_profile)
{
	return otlp_file_is_framed(at, bytes) ? otlp_file_decode_framed(at, bytes, ret_profile) :
						otlp_decode(at, bytes, NULL, ret_profile);
}

const struct format_ops format_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry profiles, protobuf",
	.content_type = "application/x-protobuf",
	.is_binary = true,
	.suffixes = (const char *const[]){ ".otlp", NULL },
	.sniff = otlp_sniff,
	.decode = otlp_decode_file,
	.encode = otlp_encode,
};
