# SPDX-License-Identifier: Apache-2.0
# Reads folded stacks, root first, and prints: WHOLE OF SEEN ALL, in samples. SEEN have a victim's function in them,
# WHOLE of those match the pattern `chain`. Up to three that do not match go to the file `bad`.
# Equal frames that follow each other are matched as one: victim_deep*1000.
function shorten(stack, frames, count, i, run, out) {
	count = split(stack, frames, ";")
	for (i = 1; i <= count; i += run) {
		for (run = 1; i + run <= count && frames[i + run] == frames[i]; run++)
			;
		out = out (i > 1 ? ";" : "") frames[i] (run > 1 ? "*" run : "")
	}
	return out
}
{
	samples = $NF
	stack = $0
	sub(/ [0-9]+$/, "", stack)
	all += samples
	if (stack !~ /(^|;)victim_/)
		next
	seen += samples
	stack = shorten(stack)
	if (stack ~ chain)
		whole += samples
	else if (wrong++ < 3)
		print samples " " stack > bad
}
END { printf "%.0f %.0f %.0f\n", whole, seen, all }	# nanoseconds are many
