/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor, which starts both halves and parses nothing else, hears from them and tells them, over a
 * SOCK_SEQPACKET pair with each. A message has one size; each is checked whole.
 *
 *	service -> supervisor	READY error			everything has started; a reload is over, error: in vain
 *				SAMPLER text = id		a connection to the sampler of that receiver, please
 *	supervisor -> service	SAMPLER error, text = why	error 0: with one end of a pair (halves/channel.h)
 *	supervisor -> sampler	ATTACH pid of the service	with the other end
 *				RULES				with a file: other rules (proc/process_rules.h)
 *	sampler -> supervisor	READY, or FAILED error, text = why
 *	both -> supervisor	ALIVE				where it is watched: they go on
 */
#ifndef HALVES_CONTROL_H
#define HALVES_CONTROL_H

#include <pthread.h>

#include "base/arena.h"
#include "base/interner.h"
#include "base/types.h"

struct buf;

#define CONTROL_TEXT_MAX 496
#define CONTROL_ID_MAX 128

enum control_kind { CONTROL_READY = 1, CONTROL_FAILED, CONTROL_SAMPLER, CONTROL_ATTACH, CONTROL_RULES,
		    CONTROL_ALIVE, CONTROL_KINDS };

struct control_message {
	u32 magic;
	u32 kind;	/* enum control_kind */
	s32 error;	/* 0 or -errno */
	s32 pid;
	char text[CONTROL_TEXT_MAX];
};

/* 0, or -EBADMSG. */
int control_check(const struct control_message *message, size_t bytes);

/* Never waits. fd is -1 for none, and stays the caller's. */
int control_send(int socket_fd, enum control_kind kind, int error, s32 pid, const char *text, int fd);

/* 1 and a message, ret_fd -1 or the caller's; 0: the other side is gone; -EAGAIN, -EBADMSG, -errno. */
int control_receive(int socket_fd, struct control_message *ret_message, int *ret_fd);

/* The service's side, as long as it runs. */
struct control {
	pthread_mutex_t lock;	/* one question at a time */
	int fd;			/* of the supervisor */
	pthread_mutex_t texts_lock;
	struct arena arena;	/* of the texts */
	struct interner texts;
};

void control_init(struct control *control, int fd);
void control_done(struct control *control);

/* A copy that lives as long as it does, one of equal ones; NULL: there are too many. Any thread. */
const char *control_keep_text(struct control *control, const char *text);

/*
 * A new connection to the sampler of the receiver with this id. Waits until it samples, or stop_fd is readable
 * (-ECANCELED). On failure `why` gets a sentence. control may be NULL: nobody has samplers. Any thread.
 */
int control_connect(struct control *control, const char *id, int stop_fd, int *ret_fd, struct buf *why);

#endif
