/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What is known of a file that holds CoreCLR. The kernel half needs to know nothing of a process. */
#ifndef LANG_DOTNET_DOTNET_H
#define LANG_DOTNET_DOTNET_H

#include "abi.h"

struct dotnet_facts {
	u64 major, minor;	/* 0: not found */
	u64 roots_ea;		/* g_dacTable: where debuggers find what is what; 0: not exported */
	u64 contract_ea;	/* DotNetRuntimeContractDescriptor; 0: it has none */
	u64 is_arm64;
};

#endif
