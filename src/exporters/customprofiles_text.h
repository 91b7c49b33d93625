/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as the text of customprofilesexporter: a block for each resource,
 * in it one for each profile, in it one for each sample with its frames.
 */
#ifndef EXPORTERS_CUSTOMPROFILES_TEXT_H
#define EXPORTERS_CUSTOMPROFILES_TEXT_H

#include <stdbool.h>

#include "config/fields.h"

struct profile;
struct textout;

struct customprofiles_text_options {
	bool ignore_profiles_without_container_id;
	bool resource_attributes, profile_attributes, sample_attributes, stack_frames, function_file;
	struct config_texts frame_types, sample_types;	/* empty: all */
};

void customprofiles_text(const struct profile *profile, const struct customprofiles_text_options *options,
			 struct textout *out);

#endif
