/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss table of docs/formats.md as code, for tests: what is left of a
 * profile after a format has held it. A new profile each, never NULL.
 */
#ifndef WIRE_FORGET_TEST_H
#define WIRE_FORGET_TEST_H

struct profile;

struct profile *forget_otlp(const struct profile *profile);	/* as protobuf and as JSON */
struct profile *forget_pprof(const struct profile *profile);
struct profile *forget_folded(const struct profile *profile);

/* Of profiles of one sample type and no times or periods, as folded stacks show what is left. */
struct profile *forget_perfdata(const struct profile *profile);

#endif
