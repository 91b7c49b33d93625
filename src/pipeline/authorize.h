/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request may pass: the one place where an extension that tells who may ask is asked. Any thread. */
#ifndef PIPELINE_AUTHORIZE_H
#define PIPELINE_AUTHORIZE_H

#include <stdbool.h>

struct authenticator_ops;
struct exchange;

/*
 * ops and self are the extension's; without one everybody may. A header that is there twice is refused: what stands
 * before us may have looked at the other one.
 */
bool is_authorized(const struct authenticator_ops *ops, void *self, const struct exchange *exchange);

#endif
