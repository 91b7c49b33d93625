// SPDX-License-Identifier: Apache-2.0
/* A module of Perl that calls back: one sub, then another; and that spoils what a profiler looks at. */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"
#include "XSUB.h"

__attribute__((noinline)) static void native_inner(pTHX_ SV *code)
{
	dSP;

	PUSHMARK(SP);
	call_sv(code, G_VOID | G_DISCARD | G_NOARGS);
}

XS(native_call)
{
	dXSARGS;
	SV *first = ST(0), *second = ST(1);

	native_inner(aTHX_ first);
	native_inner(aTHX_ second);
	PERL_UNUSED_VAR(items);
	XSRETURN_EMPTY;
}

/* Writes a byte to a random place of what the name and the lines of a sub are read from. */
XS(native_spoil)
{
	dXSARGS;
	GV *glob = (GV *)SvRV(ST(0));
	unsigned long number = SvUV(ST(1));
	unsigned char *name = (unsigned char *)GvNAME_HEK(glob), *package = (unsigned char *)HvNAME_HEK(GvSTASH(glob));
	unsigned char *file = (unsigned char *)CopFILE(PL_curcop);
	unsigned char value = (unsigned char)(number >> 16);

	switch (number & 3) {
	case 0:
		name[4 + (number >> 2) % 9] = value;
		break;
	case 1:
		package[4 + (number >> 2) % 9] = value;
		break;
	case 2:
		file[(number >> 2) % 4] = value;
		break;
	default:
		CopLINE_set((COP *)PL_curcop, (number >> 2) * 77777);
	}
	PERL_UNUSED_VAR(items);
	XSRETURN_EMPTY;
}

XS(boot_native)
{
	dXSARGS;

	newXS("Native::call", native_call, __FILE__);
	newXS("Native::spoil", native_spoil, __FILE__);
	PERL_UNUSED_VAR(items);
	XSRETURN_EMPTY;
}
