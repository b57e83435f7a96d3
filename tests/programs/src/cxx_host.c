/* SPDX-License-Identifier: MIT */
/*
 * programs/src/cxx_host.c - a C program with a plug-in in C++, whose library nobody else sees
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*check)(void);
	int result;

	if (!handle) {
		fprintf(stderr, "cxx_host: %s\n", argc == 2 ? dlerror() : "usage: cxx_host PLUGIN");
		return 2;
	}
	check = (int (*)(void))dlsym(handle, "cxx_check");
	result = check();
	printf("cxx_check: %d\n", result);
	return result;
}
