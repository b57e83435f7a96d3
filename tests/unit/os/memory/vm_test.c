/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/vm_test.c - address ranges, limits, names
 *
 * What must fault or hit a limit happens in a child. /proc/self/smaps is the judge.
 */
#include <errno.h>
#include <linux/mempolicy.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "bytes.h"
#include "child.h"
#include "layout.h"
#include "os/process/file.h"
#include "os/memory/vm.h"
#include "smaps.h"

#define MIB (1ul << 20)

static size_t page;

static void test_page_size(void **state)
{
	(void)state;
	assert_int_equal(os_page_size(), sysconf(_SC_PAGESIZE));
}

static void test_alignment(void **state)
{
	size_t align;

	(void)state;
	for (align = 1; align <= 64 * MIB; align *= 4) {
		void *reserved[3];
		char *mapped;
		int i;

		/* Several sizes, so that not all are aligned by luck. */
		for (i = 0; i < 3; i++) {
			reserved[i] = os_reserve((size_t)(2 * i + 1) * page, align);
			assert_non_null(reserved[i]);
			assert_int_equal((uintptr_t)reserved[i] & (align - 1), 0);
		}
		mapped = os_map(3 * page, align);
		assert_non_null(mapped);
		assert_int_equal((uintptr_t)mapped & (align - 1), 0);
		assert_true(all_bytes((unsigned char *)mapped, 3 * page, 0));
		memset(mapped, 1, 3 * page);
		os_release(mapped, 3 * page);
		for (i = 0; i < 3; i++)
			os_release(reserved[i], (size_t)(2 * i + 1) * page);
	}
}

/* The ends that alignment costs are cut off: size and alignment again at once fit beside. */
static void test_trimmed(void **state)
{
	char statm[64];
	long before;
	void *p;

	(void)state;
	if (is_emulated())
		skip_because("the kernel counts the emulator's addresses too");
	os_read_text("/proc/self/statm", statm, sizeof(statm));
	before = atol(statm);
	p = os_reserve(64 * MIB, 64 * MIB);
	os_read_text("/proc/self/statm", statm, sizeof(statm));
	assert_int_equal((atol(statm) - before) * (long)page, 64 * MIB);
	os_release(p, 64 * MIB);
	os_read_text("/proc/self/statm", statm, sizeof(statm));
	assert_int_equal(atol(statm), before);
}

static void test_too_large(void **state)
{
	(void)state;
	errno = 77;
	assert_null(os_reserve(1ul << 62, 1));
	assert_null(os_map(1ul << 62, 1));
	assert_null(os_reserve(ALIGN_DOWN(SIZE_MAX, page), 64 * MIB));
	assert_int_equal(errno, 77);
}

/* Would an access fault? */
static bool faults(const void *addr)
{
	char entry[4096];

	return !find_smaps(addr, entry, sizeof(entry)) || !strstr(entry, " rw-p ");
}

static void touch(void *arg)
{
	signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would not end by the signal */
	*(volatile char *)arg = 1;
}

static void test_reserved_faults(void **state)
{
	char *p = os_reserve(page, page);
	struct child c;

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND")) /* valgrind would report the access, and fail the test */
		skip();
	c = child_run(touch, p);
	assert_true(WIFSIGNALED(c.status) && WTERMSIG(c.status) == SIGSEGV);
	os_release(p, page);
}

/* Is the mapping that addr lies in left out of core files ("dd" among its flags)? */
static bool is_left_out(const void *addr)
{
	assert_true(smaps_has(addr, "VmFlags:"));
	return smaps_has_flag(addr, "dd");
}

/* Emulators may take part of what madvise() can do, and say yes to everything. */
static bool madvise_answers(char *unmapped)
{
	return madvise(unmapped, page, MADV_DONTNEED) == -1;
}

static void test_core_files(void **state)
{
	char *p = os_reserve(8 * page, page);

	(void)state;
	os_release(p + 7 * page, page);
	if (!madvise_answers(p + 7 * page))
		skip_because("madvise() has no effect here");
	os_release(p, 7 * page);
	p = os_reserve(8 * page, page);
	assert_true(is_left_out(p) && is_left_out(p + 7 * page));
	assert_int_equal(os_commit(p + 2 * page, 3 * page), 0);
	assert_true(is_left_out(p) && is_left_out(p + 5 * page));
	assert_false(is_left_out(p + 2 * page) || is_left_out(p + 4 * page));
	os_release(p, 8 * page);
	assert_true(os_reserve_at(p, page));
	assert_true(is_left_out(p));
	os_release(p, page);
}

static void test_commit_purge(void **state)
{
	unsigned char *p = os_reserve(16 * page, page);

	(void)state;
	assert_non_null(p);
	errno = 77;
	assert_true(faults(p));
	assert_int_equal(os_commit(p + 4 * page, 8 * page), 0);
	assert_true(faults(p + 4 * page - 1));
	assert_true(faults(p + 12 * page));
	assert_true(all_bytes(p + 4 * page, 8 * page, 0));
	memset(p + 4 * page, 0x55, 8 * page);

	assert_int_equal(os_purge(p + 6 * page, 2 * page), 0);
	assert_true(all_bytes(p + 4 * page, 2 * page, 0x55));
	assert_true(all_bytes(p + 6 * page, 2 * page, 0));
	assert_true(all_bytes(p + 8 * page, 4 * page, 0x55));
	/* committing again keeps what is there */
	assert_int_equal(os_commit(p, 16 * page), 0);
	assert_true(all_bytes(p + 8 * page, 4 * page, 0x55));
	assert_int_equal(errno, 77);
	os_release(p, 16 * page);
	assert_true(faults(p + 8 * page));
}

static void test_purge_returns_memory(void **state)
{
	char *p = os_reserve(4 * MIB, page);
	long resident;

	(void)state;
	os_commit(p, 4 * MIB);
	memset(p, 1, 4 * MIB);
	resident = smaps_kib(p, "Rss:");
	assert_true(resident >= 4096);
	assert_int_equal(os_purge(p, 4 * MIB), 0);
	assert_int_equal(smaps_kib(p, "Rss:"), resident - 4096);
	os_release(p, 4 * MIB);
}

static void test_failures(void **state)
{
	char *p = os_reserve(4 * page, page);
	bool answers;

	(void)state;
	os_release(p + page, page);
	answers = madvise_answers(p + page);
	errno = 77;
	assert_int_equal(os_commit(p, 4 * page), -ENOMEM);
	if (answers)
		assert_int_equal(os_purge(p, 4 * page), -ENOMEM);
	assert_int_equal(errno, 77);
	os_release(p, 4 * page);
}

/* Reserved ranges are not charged to the overcommit limit ("ac"), committed ones are. */
static void test_accounting(void **state)
{
	char *p = os_reserve(8 * page, page);

	(void)state;
	assert_true(smaps_has(p, "VmFlags:"));
	assert_false(smaps_has(p, " ac "));
	assert_int_equal(os_commit(p, 4 * page), 0);
	assert_true(smaps_has(p, " ac "));
	assert_false(smaps_has(p + 4 * page, " ac "));
	os_release(p, 8 * page);
}

static void test_reserve_at(void **state)
{
	unsigned char *p = os_map(8 * page, page);

	(void)state;
	memset(p, 7, 8 * page);
	errno = 77;
	/* occupied in whole, at the start, at the end */
	assert_false(os_reserve_at(p, 8 * page));
	assert_false(os_reserve_at(p + 4 * page, 4 * page));
	os_release(p, 4 * page);
	assert_false(os_reserve_at(p, 8 * page));
	assert_true(all_bytes(p + 4 * page, 4 * page, 7));
	/* free */
	assert_true(os_reserve_at(p, 4 * page));
	assert_true(faults(p));
	assert_int_equal(os_commit(p, 4 * page), 0);
	assert_true(all_bytes(p, 4 * page, 0));
	assert_int_equal(errno, 77);
	os_release(p, 8 * page);
}

/* Of two mappings the higher one comes second: then there is room above both, and nothing in it. */
static void test_room_upward(void **state)
{
	char *first = os_map(page, page);
	char *second = os_map(page, page);
	char *from = NULL;
	size_t room;

	(void)state;
	errno = 77;
	room = os_room_upward(&from);
	assert_int_equal(errno, 77);
	os_release(first, page);
	os_release(second, page);
	if (!bare_process() || is_emulated())
		skip_because("a tool chooses the places of mappings");
	if (layout_is_legacy())
		assert_true(room > 0);
	if (room == 0) {
		assert_null(from);
		return;
	}
	assert_true(first < second);
	/* up to here, on the first stack, of which this may be the last page */
	assert_true((uintptr_t)&from > (uintptr_t)from &&
		    (uintptr_t)&from < (uintptr_t)from + room + page);
	assert_true(os_reserve_at((char *)ALIGN_DOWN((uintptr_t)from + room / 4, page), page));
}

static void test_remap(void **state)
{
	char *hole = os_reserve(64 * page, page);
	char *p = hole + 16 * page;
	char *moved;

	(void)state;
	/* a block of 8 pages with room for 8 more behind, then something in the way */
	os_release(p, 8 * page);
	assert_true(os_reserve_at(p, 8 * page));
	os_release(p + 8 * page, 8 * page);
	os_commit(p, 8 * page);
	memset(p, 3, 8 * page);
	errno = 77;

	assert_ptr_equal(os_remap(p, 8 * page, 16 * page, false), p);
	assert_true(all_bytes((unsigned char *)p, 8 * page, 3));
	assert_true(all_bytes((unsigned char *)p + 8 * page, 8 * page, 0));
	assert_null(os_remap(p, 16 * page, 17 * page, false));
	assert_true(all_bytes((unsigned char *)p, 8 * page, 3));

	assert_ptr_equal(os_remap(p, 16 * page, 4 * page, false), p);
	/* nothing is there; to read the system's list might map something */
	assert_true(os_reserve_at(p + 4 * page, 12 * page));
	os_release(p + 4 * page, 12 * page);
	assert_ptr_equal(os_remap(p, 4 * page, 12 * page, false), p);

	moved = os_remap(p, 12 * page, 40 * page, true);
	assert_non_null(moved);
	assert_ptr_not_equal(moved, p);
	assert_true(os_reserve_at(p, 16 * page));
	assert_true(all_bytes((unsigned char *)moved, 4 * page, 3));
	assert_true(all_bytes((unsigned char *)moved + 4 * page, 36 * page, 0));

	assert_null(os_remap(moved, 40 * page, 1ul << 62, true));
	assert_true(all_bytes((unsigned char *)moved, 4 * page, 3));
	assert_int_equal(errno, 77);
	os_release(moved, 40 * page);
	os_release(hole, 64 * page);
}

/* Without a copy: no page of what moves is faulted in, and what it leaves is zero. */
static void test_move(void **state)
{
	char *from = os_map(8 * page, page);
	char *to = os_map(8 * page, page);
	bool kernel_can;

	(void)state;
	memset(from, 3, 8 * page);
	memset(to, 4, page);
	errno = 77;
	kernel_can = os_move(from + 2 * page, to + page, 4 * page) == OS_MOVED;
	assert_true(all_bytes((unsigned char *)from, 2 * page, 3));
	assert_true(all_bytes((unsigned char *)from + 2 * page, 4 * page, kernel_can ? 0 : 3));
	assert_true(all_bytes((unsigned char *)from + 6 * page, 2 * page, 3));
	assert_true(all_bytes((unsigned char *)to, page, 4));
	assert_true(all_bytes((unsigned char *)to + page, 4 * page, kernel_can ? 3 : 0));

	/* Nothing is there, and one mapping is all there is to the end of another range. */
	os_release(from, 2 * page);
	if (kernel_can) { /* valgrind, which cannot, ends where nothing is */
		assert_int_equal(os_move(from, to + 6 * page, 2 * page), OS_MOVE_SEVERAL);
		assert_int_equal(os_move(from + 6 * page, to + 6 * page, 2 * page), OS_MOVED);
	}
	assert_true(os_reserve_at(from, page)); /* it did not grow to there */
	assert_int_equal(errno, 77);
	os_release(from, 8 * page);
	os_release(to, 8 * page);
}

/*
 * Of several mappings: before Linux 6.17 the system would unmap what is at the other place before
 * it refuses, and another thread might map something there.
 */
static void test_move_of_several(void **state)
{
	char *from = os_map(4 * page, page);
	char *to = os_map(4 * page, page);

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND")) /* it does not refuse */
		skip();
	memset(from, 3, 4 * page);
	memset(to, 4, 4 * page);
	assert_int_equal(mprotect(from + 2 * page, 2 * page, PROT_READ), 0);
	assert_int_equal(os_move(from, to, 4 * page), OS_MOVE_SEVERAL);
	assert_true(all_bytes((unsigned char *)from, 4 * page, 3));
	assert_true(all_bytes((unsigned char *)to, 4 * page, 4));
	os_release(from, 4 * page);
	os_release(to, 4 * page);
}

static void test_name(void **state)
{
	char *p = os_map(4 * page, page);
	/* not prctl(), in which AddressSanitizer of GCC 14 reads the name */
	bool kernel_can = syscall(SYS_prctl, 0x53564d41, 0, p, page, NULL) == 0;

	(void)state;
	errno = 77;
	os_name(p, 4 * page, "uslab test");
	assert_int_equal(smaps_has(p, "[anon:uslab test]"), kernel_can);
	os_name(p, 4 * page, "not [allowed]");
	os_name(NULL, page, "nothing there");
	assert_int_equal(errno, 77);
	os_release(p, 4 * page);
}

static void test_small_pages(void **state)
{
	char *p = os_map(4 * MIB, 2 * MIB);

	(void)state;
	assert_non_null(p);
	errno = 7;
	os_small_pages(p, 2 * MIB); /* also where there are no huge ones */
	assert_int_equal(errno, 7);
	if (smaps_has(p, "VmFlags:") && !is_emulated() && /* whose madvise() does nothing */
	    !access("/sys/kernel/mm/transparent_hugepage", F_OK)) {
		assert_true(smaps_has_flag(p, "nh"));
		assert_false(smaps_has_flag(p + 2 * MIB, "nh"));
	}
	os_release(p, 4 * MIB);
}

static void test_no_limit(void **state)
{
	struct rlimit limit;

	(void)state;
	getrlimit(RLIMIT_AS, &limit);
	if (limit.rlim_cur != RLIM_INFINITY)
		skip();
	assert_true(os_address_space_left(0) == SIZE_MAX);
}

/* Address space, and how much of it counts as data (a bit more: with the stack). */
static size_t mapped_bytes(size_t *data)
{
	unsigned long size;
	unsigned long writable;
	char statm[128];

	CHILD_CHECK(os_read_text("/proc/self/statm", statm, sizeof(statm)) > 0);
	CHILD_CHECK(sscanf(statm, "%lu %*u %*u %*u %*u %lu", &size, &writable) == 2);
	if (data)
		*data = writable * page;
	return size * page;
}

static void set_limit(int resource, size_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	child_limit(resource, &limit);
}

static void under_rlimit_as(void *arg)
{
	char *p;

	(void)arg;
	set_limit(RLIMIT_AS, mapped_bytes(NULL) + 64 * MIB);
	errno = 77;
	CHILD_CHECK(os_address_space_left(0) == 64 * MIB);
	p = os_reserve(16 * MIB, page);
	CHILD_CHECK(p);
	CHILD_CHECK(os_address_space_left(0) == 48 * MIB);
	CHILD_CHECK(!os_reserve(49 * MIB, page));
	CHILD_CHECK(!os_map(49 * MIB, page));
	CHILD_CHECK(!os_map(32 * MIB, 32 * MIB));
	CHILD_CHECK(!os_remap(p, 16 * MIB, 65 * MIB, true));
	CHILD_CHECK(os_address_space_left(0) == 48 * MIB);
	os_release(p, 16 * MIB);
	CHILD_CHECK(os_address_space_left(0) == 64 * MIB);
	set_limit(RLIMIT_AS, mapped_bytes(NULL) / 2);
	CHILD_CHECK(os_address_space_left(0) == 0);
	CHILD_CHECK(os_address_space_left(SIZE_MAX) < SIZE_MAX);
	CHILD_CHECK(errno == 77);
}

static void under_rlimit_data(void *arg)
{
	char *p = os_reserve(256 * MIB, page);
	size_t mapped;
	size_t data;

	(void)arg;
	mapped_bytes(&data);
	set_limit(RLIMIT_DATA, data + 64 * MIB);
	errno = 77;
	CHILD_CHECK(os_commit(p, MIB) == 0);
	CHILD_CHECK(os_commit(p + MIB, 255 * MIB) == -ENOMEM);
	CHILD_CHECK(os_commit(p + MIB, MIB) == 0);
	p[2 * MIB - 1] = 1;
	CHILD_CHECK(!os_map(255 * MIB, page));
	/* only what stays is charged, not what alignment cuts off */
	mapped = mapped_bytes(NULL);
	CHILD_CHECK(!os_map(63 * MIB, 128 * MIB) && mapped_bytes(NULL) == mapped);
	p = os_map(MIB, 128 * MIB);
	CHILD_CHECK(p && !((uintptr_t)p & (128 * MIB - 1)));
	CHILD_CHECK(mapped_bytes(NULL) == mapped + MIB);
	memset(p, 1, MIB);
	CHILD_CHECK(errno == 77);
}

/* The limit was lowered below what is mapped: what is unmapped in a move cannot be mapped again. */
static void move_under_rlimit_as(void *arg)
{
	char *from = os_map(4 * page, page);
	char *to = os_map(4 * page, page);
	unsigned char there[4];
	bool kernel_can;

	(void)arg;
	memset(from, 3, 4 * page);
	kernel_can = os_move(from, to, page) == OS_MOVED;
	set_limit(RLIMIT_AS, mapped_bytes(NULL) / 2);
	errno = 77;
	if (kernel_can) {
		CHILD_CHECK(os_move(from + page, to + page, 2 * page) == OS_MOVE_LOST);
		CHILD_CHECK(errno == 77);
		CHILD_CHECK(mincore(to + page, 2 * page, there) != 0);
		CHILD_CHECK(all_bytes((unsigned char *)to, page, 3));
	}
	CHILD_CHECK(all_bytes((unsigned char *)from + page, 3 * page, 3));
	CHILD_CHECK(all_bytes((unsigned char *)to + 3 * page, page, 0));
}

/* Returns where to move to. */
static char *move_denied(int error, enum os_move how)
{
	char *from = os_map(4 * page, page);
	char *to = os_map(4 * page, page);

	memset(from, 3, 4 * page);
	child_deny(SYS_mremap, error);
	CHILD_CHECK(os_move(from, to, 4 * page) == how);
	CHILD_CHECK(all_bytes((unsigned char *)from, 4 * page, 3));
	return to;
}

/* Nobody knows whether something was unmapped, so it is not used any more. */
static void move_refused_for_memory(void *arg)
{
	(void)arg;
	move_denied(ENOMEM, OS_MOVE_LOST);
}

static void move_refused(void *arg)
{
	char *to = move_denied(EPERM, OS_MOVE_REFUSED);

	(void)arg;
	CHILD_CHECK(all_bytes((unsigned char *)to, 4 * page, 0));
}

static void test_moves_that_fail(void **state)
{
	void (*const how[])(void *) = { move_under_rlimit_as, move_refused_for_memory,
					move_refused };

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		struct child c = child_run(how[i], NULL);

		assert_true(child_passed(&c));
	}
}

static void test_limits(void **state)
{
	struct child c;

	(void)state;
	/* valgrind keeps RLIMIT_DATA for itself, and ends when RLIMIT_AS stops it */
	if (getenv("USLAB_TEST_VALGRIND"))
		skip();
	c = child_run(under_rlimit_as, NULL);
	assert_true(child_passed(&c));
	c = child_run(under_rlimit_data, NULL);
	assert_true(child_passed(&c));
}

/* At the system's limit on the number of mappings no hole can be made; its memory goes back. */
static void many_mappings(void *arg)
{
	size_t count = (size_t)(uintptr_t)arg;
	char *p = os_map(3 * page, page);
	char *r = os_reserve(2 * (count + 1) * page, page);
	size_t i;
	int ret = 0;

	CHILD_CHECK(p && r);
	memset(p, 9, 3 * page);
	for (i = 0; i <= count && ret == 0; i++)
		ret = os_commit(r + 2 * i * page, page);
	CHILD_CHECK(ret == -ENOMEM);
	os_release(p + page, page);
	CHILD_CHECK(p[0] == 9 && p[2 * page] == 9);
	CHILD_CHECK(all_bytes((unsigned char *)p + page, page, 0));
}

static void test_many_mappings(void **state)
{
	char text[32];
	struct child c;
	long count;

	(void)state;
	if (os_read_text("/proc/sys/vm/max_map_count", text, sizeof(text)) < 0)
		skip();
	count = atol(text);
	if (count > 100000 || getenv("USLAB_TEST_VALGRIND")) /* valgrind has a limit of its own */
		skip();
	c = child_run(many_mappings, (void *)(uintptr_t)count);
	assert_true(child_passed(&c));
}

/* The preference is readable where the kernel has nodes and lets this process choose. */
static void test_bind(void **state)
{
	char *p = os_map(4 * page, page);
	unsigned long nodes = 0;
	int mode = -1;

	(void)state;
	errno = 0;
	os_bind(p + page, page, 0);
	os_bind(p + 2 * page, page, 63); /* no such node: nothing happens */
	assert_int_equal(errno, 0);
	memset(p, 1, 4 * page);
	if (syscall(SYS_mbind, p, page, MPOL_DEFAULT, NULL, 0, 0) != 0)
		skip();
	assert_int_equal(syscall(SYS_get_mempolicy, &mode, &nodes, 65, p + page, MPOL_F_ADDR), 0);
	assert_int_equal(mode, MPOL_PREFERRED);
	assert_int_equal(nodes, 1);
	assert_int_equal(syscall(SYS_get_mempolicy, &mode, &nodes, 65, p + 3 * page, MPOL_F_ADDR),
			 0);
	assert_int_equal(mode, MPOL_DEFAULT);
	os_release(p, 4 * page);
}

static void test_limit(void **state)
{
	struct rlimit limit;
	struct rlimit got;
	bool is_ours;

	(void)state;
	errno = 77;
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(os_limit(0, RLIMIT_AS, NULL, &got, &is_ours), 0);
	assert_false(is_ours);
	assert_memory_equal(&limit, &got, sizeof(got));
	assert_int_equal(os_limit(getpid(), RLIMIT_AS, &limit, NULL, &is_ours), 0);
	assert_true(is_ours);
	assert_int_equal(os_limit(0, RLIMIT_DATA, NULL, &got, &is_ours), 0);
	assert_int_equal(os_limit(0, RLIMIT_DATA, &got, NULL, &is_ours), 0);
	assert_false(is_ours);
	assert_int_equal(os_limit(-1, RLIMIT_AS, NULL, &got, &is_ours), -ESRCH);
	assert_false(is_ours);
	assert_int_equal(errno, 77);
}

static void test_physical_memory(void **state)
{
	size_t expected = (size_t)sysconf(_SC_PHYS_PAGES) * page;

	(void)state;
	assert_true(os_physical_memory() > expected / 2);
	assert_true(os_physical_memory() < expected * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_size),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_trimmed),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_reserved_faults),
		cmocka_unit_test(test_core_files),
		cmocka_unit_test(test_commit_purge),
		cmocka_unit_test(test_purge_returns_memory),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_accounting),
		cmocka_unit_test(test_reserve_at),
		cmocka_unit_test(test_room_upward),
		cmocka_unit_test(test_remap),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_move_of_several),
		cmocka_unit_test(test_moves_that_fail),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_small_pages),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_physical_memory),
		cmocka_unit_test(test_legacy_layout),
	};

	page = os_page_size();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
