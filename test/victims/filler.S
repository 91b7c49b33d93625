/* SPDX-License-Identifier: Apache-2.0 */
/* More code without unwind information than is looked through at once, next to that of the victim: functions that return. */
	.text
	.fill	1250000, 8, 0x90909090c3c03190	/* nop; xor %eax,%eax; ret; nops */
	.section .note.GNU-stack, "", @progbits
