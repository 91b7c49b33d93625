/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: .eh_frame and .debug_frame of an ELF file, as the
 * DWARF standard (6.4) and the LSB describe them. A section is a list of
 * entries: CIEs, which hold what functions have in common, and FDEs, one for
 * each function.
 *
 * Malformed entries are skipped and counted; a length that leads out of the
 * section ends it.
 */
#ifndef EXE_CFI_H
#define EXE_CFI_H

#include <stdbool.h>

#include "base/cursor.h"
#include "base/types.h"
#include "exe/cfi_run.h"
#include "exe/elf.h"

#define CFI_CIES_CACHED 64	/* a power of two */

/* What the FDEs of one compiler run have in common. */
struct cfi_cie {
	u64 offset;		/* in the section, of its length field */
	bool used;		/* this slot of the cache */
	bool bad;		/* malformed, or of a kind we do not know */
	bool has_data;		/* augmentation 'z' */
	bool is_signal;		/* augmentation 'S' */
	struct cfi_machine machine;
	struct cfi_state initial;
};

struct cfi {
	const struct exe *exe;	/* whose addresses the section speaks of */
	struct exe_data data;
	u64 ea;
	bool is_eh;		/* .eh_frame, not .debug_frame */
	bool ends_at_zero;	/* its size is not known */
	u64 data_base_ea;	/* for DW_EH_PE_datarel, 0 if unknown */
	struct cfi_cie cie[CFI_CIES_CACHED];
};

struct cfi_fde {
	u64 start_ea, end_ea;
	const struct cfi_cie *cie;	/* until the next call with this cfi */
	struct cursor program;
};

/*
 * Sections of a file, -ENODATA if it has none. cfi_open_eh() finds .eh_frame by its section or, where headers were
 * stripped, through PT_GNU_EH_FRAME. exe is used until cfi_done().
 */
int cfi_open_eh(struct cfi *cfi, const struct exe *exe);
int cfi_open_debug(struct cfi *cfi, const struct exe *exe);
void cfi_done(struct cfi *cfi);

/*
 * Walks entries from offset 0 on: 1 and an FDE, or 0 at the end. *offset is moved on; before that it is where
 * cfi_read() would find the same FDE again. Malformed FDEs add to *ret_bad_count.
 */
int cfi_next(struct cfi *cfi, u64 *offset, struct cfi_fde *ret_fde, u64 *ret_fde_offset, u32 *ret_bad_count);

/* The FDE at an offset that cfi_next() told. */
bool cfi_read(struct cfi *cfi, u64 offset, struct cfi_fde *ret_fde);

/*
 * The index that linkers write beside .eh_frame (.eh_frame_hdr): its FDEs by the addresses of their functions. In a
 * malformed one functions are not found, or found elsewhere; what is found is an FDE of that address.
 */
struct cfi_index {
	const u8 *at;
	u32 count;
	u64 ea;			/* that addresses count from */
};

/* Of an open .eh_frame, -ENODATA if there is none of the usual encoding. It lives as long as the file. */
int cfi_open_index(const struct cfi *cfi, struct cfi_index *ret_index);

/* The last entry at or before an address; 0 if there is none. */
u32 cfi_index_find(const struct cfi_index *index, u64 ea);

u64 cfi_index_start(const struct cfi_index *index, u32 i);

/* The FDE of an entry, and its offset for cfi_read(). */
bool cfi_index_read(struct cfi *cfi, const struct cfi_index *index, u32 i, struct cfi_fde *ret_fde, u64 *ret_offset);

/* Calls fn with the bounds of each FDE, in file order; they may overlap or lie anywhere. Their number, or -ENODATA. */
int cfi_each_function(const struct exe *exe, void (*fn)(void *arg, u64 start_ea, u64 end_ea), void *arg);

#endif
