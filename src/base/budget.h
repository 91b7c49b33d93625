/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of memory that others can make this process take: what they send, what they ask. It is charged before
 * memory is taken, so that what does not fit is refused instead of being found out about afterwards.
 *
 *	struct budget_scope scope;
 *
 *	budget_begin(&scope, BUDGET_OTLP);	this thread works for a sender from here on
 *	budget_set_sender(&scope, key);		for this one
 *	...					buffers, arenas, tables and profiles that begin here are charged
 *	budget_end(&scope);			so are arrays, but only until here
 *
 *  - One limit for all accounts together. An account is refused when all of them would hold more than its part of the
 *    limit: questions first, then senders. Of the last part only those senders may take who have little: one who takes
 *    all that there is leaves that to the others. What this machine samples is counted nowhere and never refused.
 *  - What is kept for all (the store's dictionaries) is held: counted, but bounded by who keeps it. What it leaves of
 *    the limit is what the accounts have parts of.
 *  - A thread outside any scope works for nobody: what it makes is not charged. What was charged stays so until it
 *    is freed, by whichever thread.
 *  - There is one ledger, as there is one heap. Any thread; no locks.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

/* id, name, percent of what is not held that all together may have after it has taken something. */
#define BUDGET_ACCOUNTS(X)		\
	X(NOBODY, "", 0)		\
	X(QUESTIONS, "questions", 60)	\
	X(OTLP, "otlp", 80)		\
	X(STORE, "store", 0)

enum budget_account {
#define X(id, ...) BUDGET_##id,
	BUDGET_ACCOUNTS(X)
#undef X
	BUDGET_ACCOUNT_COUNT,
};

/* What something holds; in the struct whose memory it is. All zero: nobody pays. */
struct budget_charge {
	size_t bytes;
	u8 account;
	u8 sender;		/* a hash: senders that meet share a part */
};

struct budget_scope {
	struct budget_charge scratch;
	u64 sender;
	struct budget_scope *outer;
	bool (*is_over)(void *arg);	/* NULL: it goes on until it is done */
	void *arg;
};

/* Bytes; there is no limit until it is set. */
void budget_set_limit(u64 bytes);
u64 budget_limit(void);

/* The most that an account can ever get. */
u64 budget_most(enum budget_account account);

/* A lower one for now, with what the process holds besides counted against it: memory_limiter measures. 0, 0: none. */
void budget_lower(u64 bytes, u64 outside_bytes);

/* What all accounts hold. */
u64 budget_total(void);

void budget_begin(struct budget_scope *scope, enum budget_account account);
void budget_end(struct budget_scope *scope);
enum budget_account budget_payer(void);

/* Whom the thread works for, by a key that others cannot choose to have; 0: this machine itself, or nobody. */
void budget_set_sender(struct budget_scope *scope, u64 sender);
u64 budget_sender(void);

/* From now on it may be over before it is done, since nobody waits any more, or for too long. */
void budget_set_end(struct budget_scope *scope, bool (*is_over)(void *arg), void *arg);

/* -ECANCELED if the work is over; asked now and then by who works long, and whenever memory is charged. */
int budget_check(void);

/* Whoever the thread works for pays. Nothing is held yet. */
void budget_charge_init(struct budget_charge *charge);

/*
 * It is to hold so many bytes from now on. -ENOMEM: not now; -E2BIG: not ever; -ECANCELED: the work is over. Then it
 * holds what it held. Less is always granted.
 */
int budget_charge_to(struct budget_charge *charge, size_t bytes);

/* More scratch of the thread's scope, until that ends, or it is given back. */
int budget_scratch(size_t more_bytes);
void budget_scratch_back(size_t bytes);

/* What is kept for all holds so many bytes from now on, in BUDGET_STORE; never refused. */
void budget_hold(struct budget_charge *charge, size_t bytes);

u64 budget_used(enum budget_account account);
u64 budget_refused(enum budget_account account);	/* how often */
const char *budget_account_name(enum budget_account account);

/* Work on behalf of others is over: if much was given back since the last time, so is it to the system. */
void budget_settle(void);

#endif
