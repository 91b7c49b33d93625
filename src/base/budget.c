// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>

#define TRIM_BYTES ((u64)16 << 20)
#define SENDERS 256
#define SMALL_PERCENT 100		/* up to which a sender may take who has little */
#define SMALL_PART 8			/* that is, less than such a part of the limit */

static const struct { const char *name; u32 percent; } accounts[BUDGET_ACCOUNT_COUNT] = {
#define X(id, name, percent) { name, percent },
	BUDGET_ACCOUNTS(X)
#undef X
};

static struct {
	_Atomic u64 limit, lower, outside, total;
	_Atomic u64 used[BUDGET_ACCOUNT_COUNT], refused[BUDGET_ACCOUNT_COUNT];
	_Atomic u64 by_sender[SENDERS], seed;
	_Atomic u64 given_back;		/* since memory was last given back to the system */
} ledger = { .limit = UINT64_MAX };

static __thread struct budget_scope *scope_now;

static u8 slot_of(u64 sender)
{
	u64 seed = atomic_load_explicit(&ledger.seed, memory_order_relaxed);

	/* Two threads that come first may each make one: then a few charges are with another sender. */
	if (!seed) {
		if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
			seed = (u64)(uintptr_t)&seed;
		atomic_store_explicit(&ledger.seed, seed | 1, memory_order_relaxed);
	}
	return (u8)(((sender ^ seed) * 0x9e3779b97f4a7c15) >> 56);
}

void budget_set_limit(u64 bytes)
{
	atomic_store(&ledger.limit, bytes);
}

u64 budget_limit(void)
{
	return atomic_load(&ledger.limit);
}

void budget_lower(u64 bytes, u64 outside_bytes)
{
	atomic_store(&ledger.lower, bytes);
	atomic_store(&ledger.outside, outside_bytes);
}

u64 budget_total(void)
{
	return atomic_load(&ledger.total);
}

u64 budget_used(enum budget_account account)
{
	return atomic_load(&ledger.used[account]);
}

u64 budget_refused(enum budget_account account)
{
	return atomic_load(&ledger.refused[account]);
}

const char *budget_account_name(enum budget_account account)
{
	return accounts[account].name;
}

enum budget_account budget_payer(void)
{
	return scope_now ? scope_now->scratch.account : BUDGET_NOBODY;
}

void budget_set_sender(struct budget_scope *scope, u64 sender)
{
	scope->sender = sender;
	scope->scratch.sender = slot_of(sender);
}

u64 budget_sender(void)
{
	return scope_now ? scope_now->sender : 0;
}

void budget_charge_init(struct budget_charge *charge)
{
	*charge = (struct budget_charge){ .account = (u8)budget_payer(),
					  .sender = scope_now ? scope_now->scratch.sender : 0 };
}

/* What is not held for all. */
static u64 free_limit(void)
{
	u64 limit = atomic_load_explicit(&ledger.limit, memory_order_relaxed);
	u64 held = atomic_load_explicit(&ledger.used[BUDGET_STORE], memory_order_relaxed);

	return limit == UINT64_MAX ? limit : held < limit ? limit - held : 0;
}

static u64 most(u32 percent)
{
	u64 limit = free_limit();
	u64 lower = atomic_load_explicit(&ledger.lower, memory_order_relaxed);
	u64 outside = atomic_load_explicit(&ledger.outside, memory_order_relaxed);
	u64 part = limit / 100 * percent, rest;

	if (!lower)
		return limit == UINT64_MAX ? limit : part;
	lower = lower / 100 * percent;
	rest = lower > outside ? lower - outside : 0;
	return rest < part ? rest : part;
}

u64 budget_most(enum budget_account account)
{
	return most(accounts[account].percent);
}

/* The more for who has little. */
static u64 most_for(const struct budget_charge *charge, u64 bytes)
{
	u64 has = atomic_load_explicit(&ledger.by_sender[charge->sender], memory_order_relaxed);

	if (charge->account == BUDGET_OTLP && has + bytes <= free_limit() / SMALL_PART)
		return most(SMALL_PERCENT);
	return budget_most(charge->account);
}

static bool take(const struct budget_charge *charge, u64 bytes)
{
	if (atomic_fetch_add(&ledger.total, bytes) + bytes > most_for(charge, bytes)) {
		atomic_fetch_sub(&ledger.total, bytes);
		atomic_fetch_add(&ledger.refused[charge->account], 1);
		return false;
	}
	atomic_fetch_add(&ledger.used[charge->account], bytes);
	atomic_fetch_add(&ledger.by_sender[charge->sender], bytes);
	return true;
}

static void give(const struct budget_charge *charge, u64 bytes)
{
	atomic_fetch_sub(&ledger.total, bytes);
	atomic_fetch_sub(&ledger.used[charge->account], bytes);
	atomic_fetch_sub(&ledger.by_sender[charge->sender], bytes);
	atomic_fetch_add(&ledger.given_back, bytes);
}

void budget_hold(struct budget_charge *charge, size_t bytes)
{
	charge->account = BUDGET_STORE;
	atomic_fetch_add(&ledger.used[BUDGET_STORE], bytes - charge->bytes);
	if (bytes < charge->bytes)
		atomic_fetch_add(&ledger.given_back, charge->bytes - bytes);
	charge->bytes = bytes;
}

int budget_charge_to(struct budget_charge *charge, size_t bytes)
{
	enum budget_account account = charge->account;

	if (account == BUDGET_NOBODY)
		return 0;
	if (bytes > charge->bytes && budget_check() < 0)
		return -ECANCELED;
	if (bytes > charge->bytes && !take(charge, bytes - charge->bytes))
		return bytes > budget_most(account) ? -E2BIG : -ENOMEM;
	if (bytes < charge->bytes)
		give(charge, charge->bytes - bytes);
	charge->bytes = bytes;
	return 0;
}

void budget_set_end(struct budget_scope *scope, bool (*is_over)(void *arg), void *arg)
{
	scope->is_over = is_over;
	scope->arg = arg;
}

int budget_check(void)
{
	return scope_now && scope_now->is_over && scope_now->is_over(scope_now->arg) ? -ECANCELED : 0;
}

void budget_begin(struct budget_scope *scope, enum budget_account account)
{
	*scope = (struct budget_scope){ .scratch.account = (u8)account, .outer = scope_now };
	scope_now = scope;
}

void budget_end(struct budget_scope *scope)
{
	(void)budget_charge_to(&scope->scratch, 0);
	scope_now = scope->outer;
}

int budget_scratch(size_t more_bytes)
{
	return scope_now ? budget_charge_to(&scope_now->scratch, scope_now->scratch.bytes + more_bytes) : 0;
}

void budget_scratch_back(size_t bytes)
{
	if (scope_now && bytes <= scope_now->scratch.bytes)
		(void)budget_charge_to(&scope_now->scratch, scope_now->scratch.bytes - bytes);
}

/* What was freed stays in the heaps of threads until then: on a small host that must not be twice the budget. */
void budget_settle(void)
{
	u64 kept = budget_limit() / 4;

	if (atomic_load_explicit(&ledger.given_back, memory_order_relaxed) < (kept < TRIM_BYTES ? kept : TRIM_BYTES))
		return;
	atomic_store(&ledger.given_back, 0);
	(void)malloc_trim(0);
}
