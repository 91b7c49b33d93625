/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about amounts: values of labels, charts over time, heat maps. -EINVAL: the call's `why` has a sentence. */
#ifndef WEB_NUMBERS_H
#define WEB_NUMBERS_H

struct api_call;

int numbers_values(struct api_call *call);
int numbers_chart(struct api_call *call);
int numbers_heat(struct api_call *call);

#endif
