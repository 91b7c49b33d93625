/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data, the file of `perf record`, in file mode:
 *
 *	struct perfdata_header
 *	attributes	{ struct perf_event_attr (attr_bytes - 16 of it), section of its ids } each
 *	ids		u64 each
 *	data		records: struct perf_event_header, body; a multiple of 8 bytes
 *	sections	one for each set bit of header.features, in ascending order
 *	features	what these sections point to
 *
 * Records 1 to 63 are the kernel's own, as <linux/perf_event.h> draws them; those from 64 on are perf's.
 * Numbers are in the order of bytes of the machine that wrote the file, which the magic tells; we write little-endian.
 */
#ifndef WIRE_PERFDATA_H
#define WIRE_PERFDATA_H

#include "base/types.h"

#define PERFDATA_MAGIC 0x32454c4946524550ull		/* "PERFILE2" */
#define PERFDATA_PIPE_BYTES 16				/* of the header in pipe mode: magic and size alone */
#define PERFDATA_RECORD_MAX 65528			/* a size has 16 bits, and is a multiple of 8 */
#define PERFDATA_BUILD_ID_MAX 20

/* wick's own files: processes that have no number get one from here on, which Linux gives nobody. */
#define PERFDATA_NOBODY 0x7f000000u
#define PERFDATA_NOBODIES 0x00800000u

struct perfdata_section {
	u64 offset, bytes;
};

struct perfdata_header {
	u64 magic, bytes;				/* bytes: of this header */
	u64 attr_bytes;					/* of an entry of attrs */
	struct perfdata_section attrs, data, event_types;	/* event_types: of old files */
	u64 features[4];				/* bits by enum perfdata_feature */
};
_Static_assert(sizeof(struct perfdata_header) == 104, "the header of perf.data has 104 bytes");

enum perfdata_feature {
	PERFDATA_TRACING_DATA = 1,
	PERFDATA_BUILD_ID = 2,		/* struct perfdata_build_id, file name; each */
	PERFDATA_HOSTNAME = 3,		/* a text: u32 bytes with its NUL and padding, bytes */
	PERFDATA_OSRELEASE = 4,		/* a text */
	PERFDATA_VERSION = 5,		/* a text */
	PERFDATA_ARCH = 6,		/* a text */
	PERFDATA_NRCPUS = 7,		/* u32 present, online */
	PERFDATA_CPUDESC = 8,		/* a text */
	PERFDATA_CPUID = 9,		/* a text */
	PERFDATA_TOTAL_MEM = 10,	/* u64 KiB */
	PERFDATA_CMDLINE = 11,		/* u32 count, texts */
	PERFDATA_EVENT_DESC = 12,	/* u32 count, attr bytes; each: attr, u32 ids, text, u64 ids */
	PERFDATA_SAMPLE_TIME = 21,	/* u64 first, last */
	PERFDATA_CLOCKID = 23,		/* u64 resolution */
	PERFDATA_DIR_FORMAT = 24,
	PERFDATA_COMPRESSED = 27,	/* u32 version, type, level, ratio, mmap length */
	PERFDATA_CLOCK_DATA = 29,	/* struct perfdata_clock_data */
	PERFDATA_FEATURES = 256,
};

/* An entry of PERFDATA_BUILD_ID and the body of PERFDATA_RECORD_BUILD_ID; the file name follows. */
struct perfdata_build_id {
	u32 type;			/* the header of a record */
	u16 misc, bytes;
	s32 pid;			/* -1: of this machine */
	u8 id[PERFDATA_BUILD_ID_MAX];
	u8 id_bytes;			/* where misc has PERFDATA_MISC_BUILD_ID_SIZE, else all of them */
	u8 pad[3];
};
_Static_assert(sizeof(struct perfdata_build_id) == 36, "an entry of build ids has 36 bytes before the name");

#define PERFDATA_MISC_BUILD_ID_SIZE (1u << 15)

/* Where a clock stood when the wall clock showed wall_ns. */
struct perfdata_clock_data {
	u32 version, clock;		/* 1; CLOCK_MONOTONIC, ... */
	u64 wall_ns, clock_ns;
};

/* perf's own records, which have no sample_id behind them. */
enum perfdata_record {
	PERFDATA_RECORD_ATTR = 64,	/* attr, u64 ids */
	PERFDATA_RECORD_EVENT_TYPE = 65,
	PERFDATA_RECORD_TRACING_DATA = 66,	/* u32 bytes, which follow the record */
	PERFDATA_RECORD_BUILD_ID = 67,
	PERFDATA_RECORD_FINISHED_ROUND = 68,	/* nothing later is older than what came before the one before */
	PERFDATA_RECORD_ID_INDEX = 69,
	PERFDATA_RECORD_AUXTRACE_INFO = 70,
	PERFDATA_RECORD_AUXTRACE = 71,	/* u64 bytes, which follow the record */
	PERFDATA_RECORD_AUXTRACE_ERROR = 72,
	PERFDATA_RECORD_THREAD_MAP = 73,
	PERFDATA_RECORD_CPU_MAP = 74,
	PERFDATA_RECORD_EVENT_UPDATE = 78,
	PERFDATA_RECORD_TIME_CONV = 79,
	PERFDATA_RECORD_FEATURE = 80,	/* u64 feature, its bytes */
	PERFDATA_RECORD_COMPRESSED = 81,	/* zstd, of further records */
	PERFDATA_RECORD_FINISHED_INIT = 82,
	PERFDATA_RECORD_COMPRESSED2 = 83,	/* u64 bytes, zstd, padding */
};

#endif
