/* SPDX-License-Identifier: MIT */
/*
 * os/memory/vm.c - address ranges: reserve, commit, map
 *
 * Data:       does the kernel take names of mappings; libc knows the system's page size (4 KiB to
 *             64 KiB) from the kernel.
 * Invariants: errno is the same before and after every function.
 * Locks:      none; callers serialise what they do to one range.
 * Flow:       see vm.h; calls mmap, mprotect, madvise, mbind, mremap, prctl, os/process/file.h.
 *
 * Reserved addresses have PROT_NONE. The kernel charges a private mapping to the overcommit limit
 * and to RLIMIT_DATA when it becomes writable, which is in os_commit(). MAP_NORESERVE would
 * take the range out of that account for good (measured: Committed_AS stays the same over
 * mprotect), so it is not used; a range without access costs nothing without it, under
 * every vm.overcommit_memory.
 */
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/process/file.h"
#include "os/sys.h"
#include "os/memory/vm.h"

/* linux/mman.h since Linux 5.7 */
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* linux/prctl.h since Linux 5.17 */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

size_t os_page_size(void)
{
	size_t size = getauxval(AT_PAGESZ);

	return likely(size) ? size : PAGE_SIZE;
}

static bool is_page_multiple(size_t n)
{
	return !(n & (os_page_size() - 1));
}

/* mmap of private anonymous memory; NULL instead of MAP_FAILED. */
static void *map_pages(void *addr, size_t size, int prot, int flags)
{
	int saved = errno;
	void *p = mmap(addr, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

/*
 * Maps more than needed and cuts both ends off. A cut can fail only at the limit on the number of
 * mappings; what then stays behind has never been touched.
 */
static void *map_aligned(size_t size, size_t align, int prot)
{
	size_t page = os_page_size();
	size_t whole;
	size_t head;
	char *p;

	ASSERT(is_pow2(align) && size && is_page_multiple(size));
	if (align <= page)
		return map_pages(NULL, size, prot, 0);
	if (__builtin_add_overflow(size, align - page, &whole))
		return NULL;
	p = map_pages(NULL, whole, prot, 0);
	if (!p)
		return NULL;

	head = ALIGN_UP((uintptr_t)p, align) - (uintptr_t)p;
	if (head)
		os_release(p, head);
	if (whole - head - size)
		os_release(p + head + size, whole - head - size);
	return p + head;
}

/* Debuggers that write core files (gcore) would read all of a range without access. */
static void leave_out_of_cores(void *addr, size_t size, bool leave_out)
{
	int saved = errno;

	madvise(addr, size, leave_out ? MADV_DONTDUMP : MADV_DODUMP);
	errno = saved;
}

void *os_reserve(size_t size, size_t align)
{
	void *p = map_aligned(size, align, PROT_NONE);

	if (p)
		leave_out_of_cores(p, size, true);
	return p;
}

bool os_reserve_at(void *addr, size_t size)
{
	void *p = map_pages(addr, size, PROT_NONE, MAP_FIXED_NOREPLACE);

	/* Before Linux 4.17 the flag is unknown and addr no more than a hint. */
	if (p && p != addr)
		os_release(p, size);
	if (!p || p != addr)
		return false;
	leave_out_of_cores(p, size, true);
	return true;
}

/* Two pages tell: of two equal requests the second gets the next lower or the next higher place. */
size_t os_room_upward(char **from)
{
	uintptr_t stack = getauxval(AT_RANDOM); /* its bytes lie at the upper end of the stack */
	size_t page = os_page_size();
	char *first = map_pages(NULL, page, PROT_NONE, 0);
	char *second = map_pages(NULL, page, PROT_NONE, 0);

	if (first)
		os_release(first, page);
	if (second)
		os_release(second, page);
	if (!first || (uintptr_t)first > (uintptr_t)second || (uintptr_t)second > stack)
		return 0;
	*from = second;
	return ALIGN_DOWN(stack - (uintptr_t)second, page);
}

void os_release(void *addr, size_t size)
{
	int saved = errno;

	ASSERT(is_page_multiple((uintptr_t)addr) && is_page_multiple(size));
	/* A hole needs one mapping more; at the limit at least the memory goes back. */
	if (munmap(addr, size) != 0)
		madvise(addr, size, MADV_DONTNEED);
	errno = saved;
}

int os_commit(void *addr, size_t size)
{
	int saved = errno;
	int ret;

	ASSERT(is_page_multiple((uintptr_t)addr) && is_page_multiple(size));
	ret = mprotect(addr, size, PROT_READ | PROT_WRITE);
	errno = saved;
	if (!ret)
		leave_out_of_cores(addr, size, false);
	return ret ? -ENOMEM : 0;
}

int os_protect(void *addr, size_t size)
{
	int saved = errno;
	int ret;

	ASSERT(is_page_multiple((uintptr_t)addr) && is_page_multiple(size));
	ret = mprotect(addr, size, PROT_NONE);
	errno = saved;
	return ret ? -ENOMEM : 0;
}

static void advise(void *addr, size_t size, int advice)
{
	int saved = errno;

	madvise(addr, size, advice);
	errno = saved;
}

void os_small_pages(void *addr, size_t size)
{
	advise(addr, size, MADV_NOHUGEPAGE);
}

void os_huge_pages(void *addr, size_t size)
{
	advise(addr, size, MADV_HUGEPAGE);
}

/* A parent, or the program itself, may have switched them off. */
bool os_huge_pages_are_off(void)
{
	char modes[64];
	int saved = errno;
	bool off;

	off = os_read_text("/sys/kernel/mm/transparent_hugepage/enabled", modes, sizeof(modes)) >
		      0 &&
	      strstr(modes, "[never]");
	off |= prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
	errno = saved;
	return off;
}

void os_bind(void *addr, size_t size, unsigned int node)
{
	unsigned long nodes = 1ul << node;

	ASSERT(node < OS_WORD_BITS);
	/* The kernel reads one bit less than the argument says. */
	os_syscall(SYS_mbind, addr, size, MPOL_PREFERRED, &nodes, OS_WORD_BITS + 1, 0);
}

/*
 * What is cut off is charged as what stays, for a moment. Where only that is too much (it may be
 * more than the machine's memory) it takes two calls.
 */
void *os_map(size_t size, size_t align)
{
	void *p = map_aligned(size, align, PROT_READ | PROT_WRITE);
	int saved = errno;

	if (p || align <= os_page_size())
		return p;
	p = map_aligned(size, align, PROT_NONE);
	if (p && mprotect(p, size, PROT_READ | PROT_WRITE)) {
		errno = saved;
		os_release(p, size);
		return NULL;
	}
	return p;
}

void *os_remap(void *addr, size_t old_size, size_t new_size, bool may_move)
{
	int saved = errno;
	void *p;

	ASSERT(is_page_multiple(old_size) && is_page_multiple(new_size) && new_size);
	if (new_size < old_size) {
		/*
		 * What mremap() does then; but emulators (QEMU) move the rest, which fails half-way
		 * where the range is of several mappings.
		 */
		p = munmap((char *)addr + new_size, old_size - new_size) ? NULL : addr;
		errno = saved;
		return p;
	}
	p = mremap(addr, old_size, new_size, may_move ? MREMAP_MAYMOVE : 0);
	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

/*
 * Asks the kernel to grow the range by a page: of several mappings it refuses that by EFAULT. (A
 * move it would refuse so too, but before Linux 6.17 after it has unmapped what is at the other
 * place, where another thread may then map something.)
 */
static bool is_one_mapping(char *addr, size_t size)
{
	size_t page = os_page_size();

	if (mremap(addr, size, size + page, 0) == MAP_FAILED)
		return errno != EFAULT;
	os_release(addr + size, page);
	return true;
}

/* What a failed move unmapped. EEXIST: it did not, or another thread has mapped something there. */
static bool map_again(void *to, size_t size)
{
	void *p = map_pages(to, size, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE);

	if (p && p != to)
		os_release(p, size);
	return p == to;
}

enum os_move os_move(void *from, void *to, size_t size)
{
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	enum os_move ret = OS_MOVED;
	int saved = errno;

	ASSERT(is_page_multiple((uintptr_t)from | (uintptr_t)to | size));
	if (!is_one_mapping(from, size))
		ret = OS_MOVE_SEVERAL;
	else if (mremap(from, size, size, flags, to) == MAP_FAILED)
		/* Memory and limits are looked at when what was there has been unmapped. */
		ret = errno == ENOMEM || errno == EAGAIN ? OS_MOVE_LOST : OS_MOVE_REFUSED;
	errno = saved;
	if (ret == OS_MOVE_LOST && map_again(to, size))
		ret = OS_MOVE_REFUSED;
	return ret;
}

/* Kernels without CONFIG_ANON_VMA_NAME refuse all names: they are asked once. */
void os_name(void *addr, size_t size, const char *name)
{
	static enum { UNKNOWN, KNOWN, REFUSED } names; /* relaxed: each thread may ask */
	int saved = errno;

	if (load_relaxed(&names) == REFUSED)
		return;
	if (!prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr, size, name))
		store_relaxed(&names, KNOWN);
	else if (errno == EINVAL && load_relaxed(&names) == UNKNOWN)
		store_relaxed(&names, REFUSED);
	errno = saved;
}

/* Bytes of address space in use, 0 when /proc cannot be read. */
static size_t address_space_used(void)
{
	char text[128];
	const char *p = text;
	size_t pages = 0;

	/* the first is of Linux 3.17, the second has nothing once the main thread has ended */
	if (os_read_text("/proc/thread-self/statm", text, sizeof(text)) < 0 &&
	    os_read_text("/proc/self/statm", text, sizeof(text)) < 0)
		return 0;
	for (; *p >= '0' && *p <= '9'; p++) /* the first number */
		pages = pages * 10 + (size_t)(*p - '0');
	return pages * os_page_size();
}

size_t os_address_space_left(size_t given_back)
{
	struct rlimit limit;
	int saved = errno;
	int ret = getrlimit(RLIMIT_AS, &limit);
	size_t used;

	errno = saved;
	if (ret != 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	used = address_space_used();
	used -= MIN(used, given_back);
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

/* The kernel's structure has two words of 64 bits. */
BUILD_ASSERT(sizeof(struct rlimit) == 16);

int os_limit(int pid, int resource, const struct rlimit *new, struct rlimit *old, bool *is_ours)
{
	int ret = (int)os_syscall(SYS_prlimit64, pid, resource, new, old);

	*is_ours = !ret && new &&resource == (int)RLIMIT_AS && (!pid || pid == getpid());
	return ret;
}

size_t os_physical_memory(void)
{
	struct sysinfo info;
	int saved = errno;
	int ret = sysinfo(&info);

	errno = saved;
	return ret ? 0 : (size_t)info.totalram * info.mem_unit;
}
