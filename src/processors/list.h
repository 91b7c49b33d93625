/* SPDX-License-Identifier: Apache-2.0 */
/* Every processor. No include guard: it is included with PROCESSOR() defined. */
PROCESSOR(memory_limiter)
PROCESSOR(batch)
PROCESSOR(resource)
PROCESSOR(customprofilesprocessor)
PROCESSOR(attributes)
PROCESSOR(probabilistic_sampler)
PROCESSOR(filter)
PROCESSOR(transform)
PROCESSOR(symbolize)
PROCESSOR(resource_detection)
PROCESSOR(k8s_attributes)
