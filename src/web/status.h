/* SPDX-License-Identifier: Apache-2.0 */
/* How wick is, for the page's tab Status (docs/api.md): the store and its disk, sampling, components, who sends. */
#ifndef WEB_STATUS_H
#define WEB_STATUS_H

struct api_call;

/* Fills the answer's body; -errno. */
int status_answer(struct api_call *call);

#endif
