/* SPDX-License-Identifier: MIT */
/*
 * support/temp_file.h - a file for the tests of one program
 */
#ifndef SUPPORT_TEMP_FILE_H
#define SUPPORT_TEMP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEMP_FILE "/tmp/uslab-test-XXXXXX"

static char temp_file[] = TEMP_FILE;

/* For cmocka's groups: makes it, with a name that is new each time, and removes it. */
static inline int temp_file_make(void **state)
{
	int fd;

	(void)state;
	strcpy(temp_file, TEMP_FILE);
	fd = mkstemp(temp_file);
	return fd < 0 || close(fd);
}

static inline int temp_file_remove(void **state)
{
	(void)state;
	return unlink(temp_file);
}

/* 0, or not: these bytes and no others are in it. */
static inline int temp_file_fill(const void *bytes, size_t length)
{
	FILE *file = fopen(temp_file, "w");

	if (!file)
		return -1;
	if (fwrite(bytes, 1, length, file) != length) {
		fclose(file);
		return -1;
	}
	return fclose(file);
}

#endif /* SUPPORT_TEMP_FILE_H */
