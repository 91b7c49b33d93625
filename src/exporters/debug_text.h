/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the Collector's debug exporter shows it: one line a profile, or
 * everything but the stacks, tables first. Two differences: all rows of the
 * attribute and link tables are shown, not only the last, and foreign text cannot leave its line.
 */
#ifndef EXPORTERS_DEBUG_TEXT_H
#define EXPORTERS_DEBUG_TEXT_H

struct profile;
struct textout;

void debug_text_normal(const struct profile *profile, struct textout *out);
void debug_text_detailed(const struct profile *profile, struct textout *out);

#endif
