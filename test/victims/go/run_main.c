// SPDX-License-Identifier: Apache-2.0
/* Runs a Go program that was built as a library, with its arguments. */
extern void RunMain(void);

int main(void)
{
	RunMain();
	return 0;
}
