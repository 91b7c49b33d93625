/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What filter and transform do when a condition or statement fails on some
 * data: log it and go on, go on in silence, or give the whole batch up. It is counted in any case.
 */
#ifndef PROCESSORS_ERROR_MODE_H
#define PROCESSORS_ERROR_MODE_H

enum error_mode { ERROR_IGNORE, ERROR_SILENT, ERROR_PROPAGATE };

/* For CONFIG_CHOICE. */
extern const char *const error_modes[];

struct metric;

/* 0: go on; -EBADMSG: give it up. why: of the failure; text: the condition or statement. */
int error_mode_failed(enum error_mode mode, struct metric *failures, const char *id, const char *text, const char *why);

#endif
