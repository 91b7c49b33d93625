# Refuses lines wider than MAX columns, tabs being 8 wide. Run it with LC_ALL=C: a character of several bytes is one column.
{
	line = $0
	gsub(/[\200-\277]/, "", line)
	width = 0
	parts = split(line, part, "\t")
	for (i = 1; i <= parts; i++) {
		width += length(part[i])
		if (i < parts)
			width += 8 - width % 8
	}
	if (width > MAX) { printf "%s:%d: %d columns\n", FILENAME, FNR, width; bad = 1 }
}
END { exit bad }
