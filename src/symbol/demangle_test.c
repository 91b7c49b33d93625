// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include "test.h"

TEST(demangle_reads_cpp_and_rust)
{
	static const struct {
		const char *name, *want;
	} table[] = {
		{ "_Z3foov", "foo" },
		{ "_ZN3foo3barEi", "foo::bar" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN1AC2Ev", "A::A" },
		{ "_ZN1AD0Ev", "A::~A" },
		{ "_ZplRK1AS1_", "operator+" },
		{ "_ZTV3foo", "vtable for foo" },
		{ "_Z3foov.cold", "foo" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f" },
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$"
		  "foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		  "<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3u643max", "mycrate::u64::max" },
		{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		  "utf8_idents::საჭმელად_გემრიელი_სადილი" },
	};
	char at[DEMANGLE_MAX];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		EQ(demangle(table[i].name, at), strlen(table[i].want));
		STREQ(at, table[i].want);
	}
}

TEST(demangle_leaves_other_names_alone)
{
	static const char *const names[] = { "", "_", "main", "_start", "Zebra", "_Z", "_R", "_ZN", "_Znonsense",
					     "h.cold", "_ZN4core3fmt", "memcpy@plt" };
	char at[DEMANGLE_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		EQ(demangle(names[i], at), 0);
}

TEST(demangle_refuses_names_that_are_too_long)
{
	char name[DEMANGLE_NAME_MAX + 64], at[DEMANGLE_MAX];

	memset(name, 'x', sizeof(name));
	memcpy(name, "_Z4000", 6);
	name[6 + 4000] = 'v';
	name[6 + 4001] = '\0';
	EQ(demangle(name, at), 4000);
	memset(name, 'x', sizeof(name));
	memcpy(name, "_Z4095", 6);
	name[6 + 4095] = 'v';
	name[6 + 4096] = '\0';
	EQ(demangle(name, at), 0);
}

/* f<p<A, A>, p<p<A, A>, p<A, A>>, ...> where each argument is a pair of the one before: 2^30 words. */
TEST(demangle_stops_names_that_explode)
{
	char name[2048] = "_Z1fI1pI1AS1_E", at[DEMANGLE_MAX];
	size_t len = strlen(name);

	for (const char *digit = "23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"; *digit; digit++)
		len += snprintf(name + len, sizeof(name) - len, "S0_IS%c_S%c_E", *digit, *digit);
	snprintf(name + len, sizeof(name) - len, "Evv");
	EQ(demangle(name, at), 0);
}

TEST(demangle_bears_deep_nesting)
{
	char name[DEMANGLE_NAME_MAX + 1], at[DEMANGLE_MAX];

	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1fI", 5);
	name[sizeof(name) - 1] = '\0';
	EQ(demangle(name, at), 0);
	memcpy(name + sizeof(name) - 5, "iEvv", 5);
	EQ(demangle(name, at), 0);
}
