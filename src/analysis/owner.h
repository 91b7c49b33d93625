/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose sample it is: process and thread from the attributes of its resource
 * and its own, under OTLP's names and those that pprof files use.
 */
#ifndef ANALYSIS_OWNER_H
#define ANALYSIS_OWNER_H

#include "base/cleanup.h"
#include "analysis/summary.h"

struct owner_finder;

/* Frames are added to a set, which must outlive it; by anything but PROCESS and THREAD all samples have frame 0. */
struct owner_finder *owner_finder_new(const struct profile *profile, enum summary_by by, struct frame_set *set);
void owner_finder_free(struct owner_finder *finder);
DEFINE_CLEANUP(struct owner_finder *, owner_finder_free)

/* The samples that follow are of this resource. */
void owner_finder_resource(struct owner_finder *finder, const struct profile_resource *resource);

/* The frame of a sample's owner, a label; FRAMES_NONE if memory ran out. */
u32 owner_finder_frame(struct owner_finder *finder, const struct profile_sample *sample);

#endif
