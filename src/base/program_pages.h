/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of the program itself and of its libraries. Most of what starting
 * up has touched of them is not needed any more, but counts as memory of every
 * process that has them mapped.
 */
#ifndef BASE_PROGRAM_PAGES_H
#define BASE_PROGRAM_PAGES_H

/* Lets go of all code and constants; what is used comes back from the page cache, page by page. */
void program_pages_forget(void);

#endif
