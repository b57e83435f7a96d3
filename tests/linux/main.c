/* SPDX-License-Identifier: MIT */
/*
 * main.c - the program around one piece of kernel code, whose module_init() has run before this
 */
#include <stdio.h>

int main(void)
{
	puts("ok");
	return 0;
}
