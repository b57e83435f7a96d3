/* SPDX-License-Identifier: MIT */
/*
 * programs/src/blocks.c - every function of malloc, in any order, against a model
 *
 * blocks [steps]: two threads, then a forked child. Every usable byte of a block is stamped and
 * looked at again; ends with status 1 and a line at the first thing that is wrong.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 400

#define NEED(what)                                                             \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "blocks.c:%d: %s\n", __LINE__, #what); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

struct block {
	unsigned char *p;
	size_t size; /* usable */
	unsigned char stamp;
};

struct crowd {
	struct block block[BLOCKS];
	uint64_t seed;
	unsigned int steps;
};

static unsigned int draw(struct crowd *c)
{
	c->seed = c->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(c->seed >> 33);
}

/* Mostly small; around a page, where heaps end; now and then whole pages. */
static size_t draw_size(struct crowd *c)
{
	switch (draw(c) % 16) {
	case 0:
		return 4000 + draw(c) % 200;
	case 1:
		return draw(c) % 40000;
	case 2:
		return draw(c) % 300000;
	case 3:
		return 1ul << draw(c) % 14;
	default:
		return draw(c) % 700;
	}
}

static void keep(struct crowd *c, struct block *b, unsigned char *p, size_t asked)
{
	NEED(p && malloc_usable_size(p) >= asked);
	NEED((uintptr_t)p % 16 == 0);
	b->p = p;
	b->size = malloc_usable_size(p);
	b->stamp = (unsigned char)draw(c);
	memset(p, b->stamp, b->size);
}

static void check(const struct block *b, size_t size)
{
	for (size_t i = 0; i < size; i++)
		NEED(b->p[i] == b->stamp);
}

static void make(struct crowd *c, struct block *b)
{
	size_t size = draw_size(c);
	size_t align = 8ul << draw(c) % 11;
	void *p = NULL;

	switch (draw(c) % 6) {
	case 0:
		p = calloc(size / 8 + 1, 8);
		size = (size / 8 + 1) * 8;
		for (size_t i = 0; p && i < size; i++)
			NEED(((char *)p)[i] == 0);
		break;
	case 1:
		NEED(posix_memalign(&p, align, size) == 0 && (uintptr_t)p % align == 0);
		break;
	case 2:
		p = aligned_alloc(4096, size);
		NEED((uintptr_t)p % 4096 == 0);
		break;
	default:
		p = malloc(size);
	}
	keep(c, b, p, size);
}

static void resize(struct crowd *c, struct block *b)
{
	size_t size = draw_size(c) + 1;
	struct block old = *b;

	check(b, b->size);
	b->p = realloc(b->p, size);
	NEED(b->p);
	check(b, size < old.size ? size : old.size);
	keep(c, b, b->p, size);
}

static void drop(struct block *b)
{
	check(b, b->size);
	errno = 99;
	free(b->p);
	NEED(errno == 99);
	b->p = NULL;
}

static void *run(void *arg)
{
	struct crowd *c = arg;

	for (unsigned int i = 0; i < c->steps; i++) {
		struct block *b = &c->block[draw(c) % BLOCKS];

		if (!b->p)
			make(c, b);
		else if (draw(c) % 3)
			drop(b);
		else
			resize(c, b);
		if (i % 5000 == 4999)
			malloc_trim(0);
	}
	return NULL;
}

static void drop_all(struct crowd *c)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (c->block[i].p)
			drop(&c->block[i]);
}

static size_t held(const struct crowd *c)
{
	size_t bytes = 0;

	for (unsigned int i = 0; i < BLOCKS; i++)
		bytes += c->block[i].p ? c->block[i].size : 0;
	return bytes;
}

/* What the books say is in use is at least what we have, and not much more. */
static void check_books(const struct crowd *c)
{
	struct mallinfo2 info = mallinfo2();
	size_t used = info.uordblks + info.hblkhd;
	size_t ours = held(&c[0]) + held(&c[1]);

	if (used < ours || used > 2 * ours + (1u << 20))
		fprintf(stderr, "%zu bytes in use, %zu are ours\n", used, ours);
	NEED(used >= ours && used <= 2 * ours + (1u << 20));
}

int main(int argc, char **argv)
{
	static struct crowd crowd[2];
	pthread_t thread[2];
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < 2; i++) {
		crowd[i].seed = i + 1;
		crowd[i].steps = argc > 1 ? (unsigned int)atoi(argv[1]) : 20000;
		NEED(pthread_create(&thread[i], NULL, run, &crowd[i]) == 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		NEED(pthread_join(thread[i], NULL) == 0);
	check_books(crowd);
	pid = fork();
	crowd[0].steps /= 10;
	run(&crowd[0]);
	drop_all(&crowd[0]);
	drop_all(&crowd[1]);
	if (pid == 0)
		_exit(0);
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	check_books(crowd);
	return 0;
}
