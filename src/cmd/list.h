/* SPDX-License-Identifier: Apache-2.0 */
/* Every subcommand, in the order of `wick --help`. No include guard: it is included with COMMAND() defined. */
COMMAND(record)
COMMAND(report)
COMMAND(top)
COMMAND(diff)
COMMAND(convert)
COMMAND(probes)
COMMAND(doctor)
COMMAND(run)
COMMAND(validate)
COMMAND(print_config)
COMMAND(list_components)
COMMAND(featuregate)
