# Two modules whose structs have one name: whoever reads one finds the other. A struct is a module's if its header
# defines it, or declares it and the .c beside it defines it. Those that a .c keeps to itself may be called alike.
# usage: awk -f tools/structs.awk FILES (headers and sources, any order)
FNR == 1 { stem = FILENAME; is_header = sub(/\.h$/, "", stem); sub(/\.c$/, "", stem) }
is_header && match($0, /^struct [a-z0-9_]+;/) { declared[substr($0, 8, RLENGTH - 8), stem] = 1 }
match($0, /^struct [a-z0-9_]+ \{/) {
	tag = substr($0, 8, RLENGTH - 9)
	if (is_header)
		note(tag, stem)
	else
		kept[++kept_count] = tag SUBSEP stem
}
function note(tag, stem)
{
	if (tag in owner && owner[tag] != stem) {
		printf "struct %s: both %s and %s have one; rename it in one of them\n", tag, owner[tag], stem
		failed = 1
	}
	owner[tag] = stem
}
END {
	for (i = 1; i <= kept_count; i++)
		if (kept[i] in declared) {
			split(kept[i], part, SUBSEP)
			note(part[1], part[2])
		}
	exit failed
}
