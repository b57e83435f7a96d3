/* SPDX-License-Identifier: MIT */
/*
 * examples/version.c - which version of the library a program runs with
 *
 *   $ cc -O2 version.c -luslab -o version
 *   $ ./version | sed 's/[0-9.]\+/NUMBER/'
 *   uslab NUMBER
 */
#include <stdio.h>
#include <uslab/slab.h>

int main(void)
{
	printf("uslab %s\n", uslab_version());
	return 0;
}
