/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_share.c - the operations of a trace in a file that several processes map
 *
 * Flow:       called by compare/compare_trace.c, which writes the file, and
 *             compare/compare_worker.c, which maps it. In: struct trace_ops; out: a descriptor, and
 *             the same struct in another process.
 *
 * The file is a header and then the arrays, each at a multiple of 8 bytes. Writer and readers are
 * the same program, so the arrays are there as they are in memory.
 */
#define _GNU_SOURCE
#include "trace/trace_share.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6563617274627375ull /* "usbtrace" */

enum { PART_OPS, PART_STAMPS, PART_CLASSES, PART_CACHES, NR_PARTS };

struct header {
	uint64_t magic;
	struct trace_ops trace; /* its pointers mean nothing here */
	uint64_t start[NR_PARTS];
	uint64_t bytes; /* of the file */
};

/* Bytes of the arrays. */
static void measure(const struct trace_ops *t, size_t size[NR_PARTS])
{
	size[PART_OPS] = t->nr_ops * sizeof(*t->ops);
	size[PART_STAMPS] = t->nr_ops * sizeof(*t->stamps);
	size[PART_CLASSES] = t->nr_classes * sizeof(*t->classes);
	size[PART_CACHES] = t->nr_caches * sizeof(*t->caches);
}

static void place(struct header *header)
{
	size_t size[NR_PARTS];
	uint64_t at = (sizeof(*header) + 7) / 8 * 8;

	measure(&header->trace, size);
	for (int part = 0; part < NR_PARTS; part++) {
		header->start[part] = at;
		at += (size[part] + 7) / 8 * 8;
	}
	header->bytes = at;
}

/* 0 or -errno. */
static int write_at(int fd, const void *data, size_t size, uint64_t at)
{
	const char *from = data;

	while (size) {
		ssize_t n = pwrite(fd, from, size, (off_t)at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			size -= (size_t)n;
			at += (uint64_t)n;
		}
	}
	return 0;
}

int trace_share(const struct trace_ops *t)
{
	struct header header = { .magic = MAGIC, .trace = *t };
	const void *const data[NR_PARTS] = { t->ops, t->stamps, t->classes, t->caches };
	size_t size[NR_PARTS];
	int fd = memfd_create("uslab-trace", MFD_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	place(&header);
	measure(t, size);
	ret = ftruncate(fd, (off_t)header.bytes) ? -errno : 0;
	if (!ret)
		ret = write_at(fd, &header, sizeof(header), 0);
	for (int part = 0; part < NR_PARTS && !ret; part++)
		ret = write_at(fd, data[part], size[part], header.start[part]);
	if (ret)
		close(fd);
	return ret ? ret : fd;
}

int trace_attach(int fd, struct trace_ops *t)
{
	const struct header *header;
	struct stat file;
	char *map;

	if (fstat(fd, &file))
		return -errno;
	if ((size_t)file.st_size < sizeof(*header))
		return -EINVAL;
	map = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	header = (const struct header *)map;
	if (header->magic != MAGIC || header->bytes != (uint64_t)file.st_size) {
		munmap(map, (size_t)file.st_size);
		return -EINVAL;
	}
	*t = header->trace;
	t->ops = (struct trace_op *)(map + header->start[PART_OPS]);
	t->stamps = (uint64_t *)(map + header->start[PART_STAMPS]);
	t->classes = (struct trace_class *)(map + header->start[PART_CLASSES]);
	t->caches = (struct trace_cache *)(map + header->start[PART_CACHES]);
	return 0;
}
