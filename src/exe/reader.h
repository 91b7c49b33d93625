/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader: a second process that parses foreign files, so that a crafted
 * ELF file, or one truncated while we look at it, cannot hurt the agent. It
 * gets open file descriptors over a socket pair, holds no privilege, has
 * limits on memory and time, and answers with flat blocks of bytes in a
 * memfd, which the agent checks before use.
 *
 * If it dies or takes too long it is killed and started anew, the call
 * returns -EBADMSG, and reader_stats() counts it; the caller sets the file
 * aside.
 *
 * A struct reader may be shared by threads: calls take a lock, and each
 * request is bounded (by its count of addresses), so that nobody waits long.
 * File descriptors stay the caller's. Results are the caller's to free().
 */
#ifndef EXE_READER_H
#define EXE_READER_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct reader;
struct exe_lines;
struct lang_file;
struct probe_points;
struct probe_wanted;
struct rows;
struct rows_part;
struct source_map;
struct symbols;
struct tls_wanted;

#define BUILD_ID_MAX 20
#define SEGMENTS_MAX 16

/* A PT_LOAD that may be executed. */
struct exe_segment {
	u64 file_offset;
	u64 ea;		/* ELF virtual address */
	u64 bytes;	/* in memory */
};

/* What a file is, read from its headers. */
struct exe_info {
	u8 build_id[BUILD_ID_MAX];	/* .note.gnu.build-id */
	u8 build_id_bytes;		/* 0 if it has none */
	u8 elf_class;			/* ELFCLASS64 or ELFCLASS32 */
	u16 machine;
	u16 type;			/* ET_EXEC, ET_DYN */
	u16 segment_count;
	u8 htlhash[16];			/* OpenTelemetry's file id, defined in docs/formats.md */
	char go_build_id[128];		/* "" if not a Go program */
	char debuglink[256];		/* .gnu_debuglink, "" if none */
	u32 debuglink_crc;
	u8 altlink_id[BUILD_ID_MAX];	/* .gnu_debugaltlink (dwz) */
	u8 altlink_id_bytes;
	u8 has_symtab, has_debug_info, has_gnu_debugdata;	/* what it offers */
	u8 has_lang_tables;		/* names and lines in tables of its language's own (exe/lang_tables.h) */
	char altlink[256];
	struct exe_segment segment[SEGMENTS_MAX];
};

struct reader_stats {
	u64 requests;
	u64 restarts;		/* it died, or was killed because of a timeout */
	u64 timeouts;
	u64 refused;		/* not a regular file, or too large to look at */
	u64 too_large;		/* more than we are willing to unpack or to answer */
	u64 unfiltered;		/* it was started on a kernel that cannot filter its system calls */
};

/*
 * The process is this program run again: main() hands over to reader_server_main() (exe/reader_protocol.h). It runs at
 * that nice value, if we may.
 */
int reader_start(int nice, struct reader **ret_reader);
/* 0 once it has said that it runs; -ENOEXEC if it does not start; -ENOSYS: see below. */
int reader_check(struct reader *reader);

/*
 * On a kernel that cannot filter system calls a reader is not used, and calls fail with -ENOSYS, unless this was called
 * before any is started: for the process, as the kernel is one.
 */
void reader_allow_unfiltered(void);
#define READER_UNFILTERED "WICK_UNFILTERED_READER"	/* what users say it by */

/*
 * Called before rules of files hold that keep /proc from being written to (base/landlock.h): readers say themselves
 * that they are to be killed first where memory is short, and could not.
 */
void reader_keep_offer(void);
void reader_free(struct reader *reader);
DEFINE_CLEANUP(struct reader *, reader_free)

struct reader_stats reader_stats(struct reader *reader);

/* The process that runs now, 0 if none: its memory counts as ours. */
int reader_pid(struct reader *reader);

/* Ends the call under way, and all later ones, by -EBADMSG. From any thread. */
void reader_cancel(struct reader *reader);

/* How long a request may take; READER_SECONDS unless set. */
void reader_set_timeout(struct reader *reader, unsigned ms);

/*
 * It sleeps so many times as long as it works (exe/reader_rest.h), READER_REST_MAX at most; what it sleeps is not time
 * that a request has taken. From any thread, also while there is one.
 */
void reader_set_rest(struct reader *reader, unsigned times);

/* While it rests, a request that takes more CPU time than that is late, too; 0: none is. Before the first request. */
void reader_set_resting_max(struct reader *reader, u64 cpu_ns);

/* What the file is. -ENOEXEC if it is not an ELF file. */
int reader_identify(struct reader *reader, int fd, struct exe_info *ret_info);

/* Unwind rows, checked. -ENODATA if the file has none. debug_fd (or -1) may supply .debug_frame. */
int reader_rows(struct reader *reader, int fd, int debug_fd, struct rows **ret_rows);

/* ... of a part of its code that was left for later (exe/rows_part.h), checked. */
int reader_rows_part(struct reader *reader, int fd, const struct rows_part *part, struct rows **ret_rows);

/* Where in the file a probe is to be set, checked (exe/probe_points.h). */
int reader_probe_points(struct reader *reader, int fd, const struct probe_wanted *wanted,
			struct probe_points **ret_points);

/* The runtime of a language that the file holds, and variables that are wanted, checked. -ENODATA: it holds none. */
int reader_lang(struct reader *reader, int fd, const struct tls_wanted *wanted, struct lang_file **ret_file);

/* A source map or portable PDB, checked (exe/source_map.h), of its bytes in a sealed file as reader_pack() makes it. */
int reader_source_map(struct reader *reader, int fd, struct source_map **ret_map);

/*
 * The functions that cover up to SYMBOLS_MAX ELF addresses, checked (exe/symbols.h). Takes .symtab, .dynsym,
 * .gnu_debugdata, PLT entries and FDE bounds of fd, and .symtab of the separate debug file where debug_fd is not -1.
 */
int reader_symbols(struct reader *reader, int fd, int debug_fd, const u64 *ea, u32 count,
		   struct symbols **ret_symbols);

/*
 * Inline chains with file and line, from tables of a language's own or from DWARF, for up to LINES_MAX ELF addresses,
 * checked (exe/lines.h); fastest where they ascend. alt_fd is the dwz supplementary file or -1. -ENODATA if neither
 * file has any; -E2BIG if it is compressed and takes too much memory to unpack.
 */
int reader_lines(struct reader *reader, int fd, int debug_fd, int alt_fd, const u64 *ea, u32 count,
		 struct exe_lines **ret_lines);

#endif
