/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of methods as their authors know them. What the C# compiler makes of iterators, async methods, lambdas and
 * local functions is named after the method they stand in:
 *
 *	<Work>d__3.MoveNext			Work+MoveNext
 *	<>c__DisplayClass4_0.<Work>b__1		Work+lambda1
 *	<Work>g__Local|5_0			Work+Local
 */
#ifndef LANG_DOTNET_READABLE_H
#define LANG_DOTNET_READABLE_H

struct buf;

/* In this order: the namespace, types from the outermost to the innermost, the method. */
void readable_add_namespace(struct buf *text, const char *name);
void readable_add_type(struct buf *text, const char *name);
void readable_add_method(struct buf *text, const char *name);

#endif
