/* SPDX-License-Identifier: MIT */
/*
 * stress/malloc/limit_test.c - little address space: ENOMEM, never a crash
 *
 * ctest: label=full timeout=120 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Runs itself again under RLIMIT_AS and RLIMIT_DATA of many values, because the range of addresses
 * is reserved at the start. The child takes memory of one size until there is none, looks at the
 * error, gives half back, and must get about as much again; then all of it, for another size.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = { 48, 1000, 20000, 200000, 6 << 20 };

#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define MIN_SHARE 4 /* at least 1/4 of the limit must be had */

/* Volatile: compilers believe that these leave errno alone. */
static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile zalloc)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;

struct node {
	struct node *next;
	size_t size;
};

static _Noreturn void fail(const char *what, size_t size)
{
	dprintf(2, "limit_test: %s (blocks of %zu bytes)\n", what, size);
	_exit(1);
}

/* Until there is none: bytes had. */
static size_t take_all(struct node **list, size_t size, unsigned int with)
{
	size_t total = 0;
	struct node *node;

	for (;;) {
		errno = 0;
		node = with == 0 ? alloc(size) : with == 1 ? zalloc(1, size) : resize(NULL, size);
		if (!node)
			break;
		node->next = *list;
		node->size = size;
		((char *)node)[size - 1] = 1;
		*list = node;
		total += size;
	}
	if (errno != ENOMEM)
		fail("no memory, and errno is not ENOMEM", size);
	return total;
}

/* Every n-th block back; bytes. */
static size_t give_some(struct node **list, unsigned int n)
{
	struct node **link = list;
	size_t total = 0;

	for (unsigned int i = 0; *link; i++) {
		struct node *node = *link;

		if (i % n) {
			link = &node->next;
			continue;
		}
		*link = node->next;
		total += node->size;
		free(node);
	}
	return total;
}

static void in_child(size_t limit, unsigned int i)
{
	struct node *list = NULL;
	size_t first = take_all(&list, sizes[i], i % 3);
	size_t given, again;

	if (first < limit / MIN_SHARE)
		fail("hardly any of the memory could be had", sizes[i]);
	given = give_some(&list, 2);
	again = take_all(&list, sizes[i], (i + 1) % 3);
	if (again < given - given / 4)
		fail("freed memory does not come back", sizes[i]);
	give_some(&list, 1);
	/* what one size had is there for another one */
	if (take_all(&list, 3000, 0) < limit / MIN_SHARE)
		fail("freed memory does not come back for another size", sizes[i]);
	give_some(&list, 1);
	if (alloc((size_t)1 << 50) || errno != ENOMEM)
		fail("an absurd size", sizes[i]);
}

/* The library takes 1 MiB for each possible CPU; of addresses its arena takes half of the rest. */
static size_t for_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return cpus > 2 ? (size_t)(cpus - 2) << 21 : 0;
}

/* With so much room on a machine of two CPUs. */
static void run_limited(int resource, size_t limit, unsigned int i)
{
	struct rlimit rlimit = { limit + for_cpus(), limit + for_cpus() };
	char text[2][32];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		snprintf(text[0], sizeof(text[0]), "%zu", limit);
		snprintf(text[1], sizeof(text[1]), "%u", i);
		if (setrlimit(resource, &rlimit))
			_exit(1);
		execl("/proc/self/exe", "limit_test", text[0], text[1], NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork", 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		dprintf(2, "limit_test: resource %d limited to %zu MiB: status %#x\n", resource,
			limit >> 20, (unsigned int)status);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		in_child(strtoul(argv[1], NULL, 10), (unsigned int)strtoul(argv[2], NULL, 10));
		return 0;
	}
	for (size_t mib = 48; mib <= 256; mib = mib * 2 - mib / 3)
		for (unsigned int i = 0; i < NR_SIZES; i++) {
			run_limited(RLIMIT_AS, mib << 20, i);
			run_limited(RLIMIT_DATA, mib << 20, i);
		}
	printf("limits from 48 to 256 MiB\n");
	return 0;
}
