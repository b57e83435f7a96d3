/* SPDX-License-Identifier: MIT */
/*
 * tools/src/fs_kinds.c - what a folder's listing itself says of the kinds of its entries
 */
#include <dirent.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	DIR *dir = opendir(argv[argc - 1]);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		printf("%s %d\n", entry->d_name, entry->d_type);
	return dir ? 0 : 1;
}
