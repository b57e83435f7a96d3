/* SPDX-License-Identifier: MIT */
/*
 * uslab/alloc_tag.h - allocation profiling: bytes and calls for each call site
 *
 * The kernel has these names in <linux/alloc_tag.h>. A program that is compiled with
 * USLAB_MEM_ALLOC_PROFILING defined, before it includes anything of uslab, has a tag in each call
 * that allocates: file, line and function. While profiling is on, an allocation is counted for its
 * tag until it is freed, by whoever. Everything can be read from outside, as the kernel's
 * /proc/allocinfo: uslab-info(1), --allocinfo.
 *
 * Without that definition nothing of this is compiled in, alloc_hooks() is what it is given, and
 * the names with _noprof are those without.
 *
 * The functions may be called from any thread, and from signal handlers where it says so. What is
 * counted, and what it costs: docs/adr/0050.
 */
#ifndef USLAB_ALLOC_TAG_H
#define USLAB_ALLOC_TAG_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call site; static, and never moved. Files that use it see one layout (USLAB_LAYOUT). */
struct alloc_tag {
	const char *file;
	const char *function;
	uint32_t line;
	uint32_t site; /* its number, given by the library; 0: none so far */
	uint64_t reserved;
};

/* The tags of a program or shared library that are in its section of that name. */
struct uslab_alloc_tags {
	struct alloc_tag *start;
	struct alloc_tag *end;
	struct uslab_alloc_tags *next; /* the library's */
};

struct alloc_tag_counters {
	uint64_t bytes; /* in use; of objects the stride of their cache, as in the kernel */
	uint64_t calls; /* whose memory is in use */
};

/* Not 0: allocations are counted. To be read only. */
USLAB_API extern int uslab_mem_profiling_on;

USLAB_INLINE bool mem_alloc_profiling_enabled(void)
{
	return __builtin_expect(__atomic_load_n(&uslab_mem_profiling_on, __ATOMIC_RELAXED), 0);
}

/**
 * uslab_set_mem_profiling - switches the counting on and off (kernel: sysctl vm.mem_profiling)
 *
 * On, if it was off: counters begin at 0; what was allocated before is not counted. Off: they stay
 * as they are, and frees change them no more. Caches are slower while it is on, see
 * uslab_set_mem_profiling(3).
 * Returns 0; -EPERM: USLAB_CONF=mem_profiling=never; -ENOMEM; -EOVERFLOW: it was switched on 65535
 * times. Not for signal handlers.
 */
USLAB_API int uslab_set_mem_profiling(bool on);

/*
 * What is counted for a tag now; exact when no thread allocates or frees. Not for signal handlers.
 */
USLAB_API struct alloc_tag_counters alloc_tag_read(struct alloc_tag *tag);

/*
 * From now on, names with _noprof count for that tag what this thread allocates; NULL: for none.
 * Returns the tag before, for alloc_tag_restore(). Any signal handler may call both, and restores
 * what it found.
 */
USLAB_API struct alloc_tag *alloc_tag_save(struct alloc_tag *tag);

USLAB_INLINE void alloc_tag_restore(struct alloc_tag *tag, struct alloc_tag *old)
{
	(void)tag;
	alloc_tag_save(old);
}

/* ---- what the macros call; programs have no need to ---- */

/*
 * p was allocated just now for a tag; NULL: for that of alloc_tag_save(). s: of that cache; NULL:
 * kfree() frees it. keep: it may be an object that has a tag, which it keeps (krealloc() in place).
 * Anything but an object or a block of ours is ignored. Signal handlers may call these; in one that
 * interrupted the library nothing is counted.
 */
USLAB_API void uslab_alloc_tag_add(struct alloc_tag *tag, struct kmem_cache *s, const void *p,
				   bool keep);
USLAB_API void uslab_alloc_tag_add_all(struct alloc_tag *tag, struct kmem_cache *s, size_t nr,
				       void *const *p);

/* From constructors and destructors of the file that has the section. */
USLAB_API void uslab_alloc_tags_register(struct uslab_alloc_tags *tags);
USLAB_API void uslab_alloc_tags_unregister(struct uslab_alloc_tags *tags);

#define USLAB_CAT(a, b) USLAB_CAT1(a, b)
#define USLAB_CAT1(a, b) a##b

/*
 * In C tags lie in a section, so that call sites are known before their first call. In C++ a static
 * variable of an inline function or a template cannot be in one with others: there a call site is
 * known from its first call that is counted.
 */
#ifdef __cplusplus
#define USLAB_TAG_SECTION
#define USLAB_AUTO auto
#else
#define USLAB_TAG_SECTION __attribute__((__section__("uslab_alloc_tags"), __aligned__(8), __used__))
#define USLAB_AUTO __auto_type
#endif

#define DEFINE_ALLOC_TAG(name) \
	static struct alloc_tag name USLAB_TAG_SECTION = { __FILE__, __func__, __LINE__, 0, 0 }

#ifdef USLAB_MEM_ALLOC_PROFILING

/* What a call returns is counted for a tag, or for that of alloc_tag_save(). */
#define USLAB_TAGGED(keep, ...) USLAB_TAGGED1(USLAB_CAT(uslab_tag_, __COUNTER__), keep, __VA_ARGS__)
#define USLAB_TAGGED1(tag, keep, ...)                         \
	__extension__({                                       \
		DEFINE_ALLOC_TAG(tag);                        \
		USLAB_COUNTED(&tag, NULL, keep, __VA_ARGS__); \
	})
#define USLAB_COUNTED(tag, s, keep, ...) \
	USLAB_COUNTED1(USLAB_CAT(uslab_p_, __COUNTER__), tag, s, keep, __VA_ARGS__)
#define USLAB_COUNTED1(p, tag, s, keep, ...)                      \
	__extension__({                                           \
		USLAB_AUTO p = (__VA_ARGS__);                     \
		if (mem_alloc_profiling_enabled())                \
			uslab_alloc_tag_add((tag), (s), p, keep); \
		p;                                                \
	})

/* The same of function(s, ...), where s is a cache. */
#define USLAB_TAGGED_OF(function, s, ...)                                                      \
	USLAB_TAGGED_OF1(USLAB_CAT(uslab_tag_, __COUNTER__), USLAB_CAT(uslab_s_, __COUNTER__), \
			 function, s, __VA_ARGS__)
#define USLAB_TAGGED_OF1(tag, of, function, s, ...)                          \
	__extension__({                                                      \
		DEFINE_ALLOC_TAG(tag);                                       \
		struct kmem_cache *of = (s);                                 \
		USLAB_COUNTED(&tag, of, false, (function)(of, __VA_ARGS__)); \
	})
#define USLAB_CURRENT_OF(function, s, ...) \
	USLAB_CURRENT_OF1(USLAB_CAT(uslab_s_, __COUNTER__), function, s, __VA_ARGS__)
#define USLAB_CURRENT_OF1(of, function, s, ...)                              \
	__extension__({                                                      \
		struct kmem_cache *of = (s);                                 \
		USLAB_COUNTED(NULL, of, false, (function)(of, __VA_ARGS__)); \
	})

/* The same of kmem_cache_alloc_bulk(): as many objects as it returns. */
#define USLAB_TAGGED_BULK(s, flags, nr, p) \
	USLAB_TAGGED_BULK1(USLAB_CAT(uslab_tag_, __COUNTER__), s, flags, nr, p)
#define USLAB_TAGGED_BULK1(tag, s, flags, nr, p)           \
	__extension__({                                    \
		DEFINE_ALLOC_TAG(tag);                     \
		USLAB_COUNTED_BULK(&tag, s, flags, nr, p); \
	})
#define USLAB_COUNTED_BULK(tag, s, flags, nr, p)                                                \
	USLAB_COUNTED_BULK1(USLAB_CAT(uslab_s_, __COUNTER__), USLAB_CAT(uslab_p_, __COUNTER__), \
			    USLAB_CAT(uslab_n_, __COUNTER__), tag, s, flags, nr, p)
#define USLAB_COUNTED_BULK1(of, to, n, tag, s, flags, nr, p) \
	USLAB_COUNTED_MANY(of, to, n, tag, s, p, kmem_cache_alloc_bulk, flags, nr, to)
#define USLAB_COUNTED_MANY(of, to, n, tag, s, p, function, ...)                        \
	__extension__({                                                                \
		struct kmem_cache *of = (s);                                           \
		void **to = (p);                                                       \
		int n = (function)(of, __VA_ARGS__);                                   \
		if (mem_alloc_profiling_enabled() && n > 0)                            \
			uslab_alloc_tag_add_all((tag), of, USLAB_CAST(size_t, n), to); \
		n;                                                                     \
	})

/* The same of kmem_cache_alloc_array(). */
#define USLAB_TAGGED_ARRAY(s, flags, nr, p, mode) \
	USLAB_TAGGED_ARRAY1(USLAB_CAT(uslab_tag_, __COUNTER__), s, flags, nr, p, mode)
#define USLAB_TAGGED_ARRAY1(tag, s, flags, nr, p, mode)           \
	__extension__({                                           \
		DEFINE_ALLOC_TAG(tag);                            \
		USLAB_COUNTED_ARRAY(&tag, s, flags, nr, p, mode); \
	})
#define USLAB_COUNTED_ARRAY(tag, s, flags, nr, p, mode)                                          \
	USLAB_COUNTED_ARRAY1(USLAB_CAT(uslab_s_, __COUNTER__), USLAB_CAT(uslab_p_, __COUNTER__), \
			     USLAB_CAT(uslab_n_, __COUNTER__), tag, s, flags, nr, p, mode)
#define USLAB_COUNTED_ARRAY1(of, to, n, tag, s, flags, nr, p, mode) \
	USLAB_COUNTED_MANY(of, to, n, tag, s, p, kmem_cache_alloc_array, flags, nr, to, mode)

/*
 * alloc_hooks(f_noprof(...)) - what f_noprof() allocates by names with _noprof counts for this line
 *
 * For functions that allocate for their callers:
 * #define my_alloc(...) alloc_hooks(my_alloc_noprof(__VA_ARGS__)). The result must not be void.
 */
#define alloc_hooks(...) \
	USLAB_HOOKS(USLAB_CAT(uslab_tag_, __COUNTER__), DEFINE_ALLOC_TAG, __VA_ARGS__)
#define USLAB_HOOKS(tag, define, ...)                                      \
	__extension__({                                                    \
		define(tag);                                               \
		bool USLAB_CAT(on_, tag) = mem_alloc_profiling_enabled();  \
		struct alloc_tag *USLAB_CAT(old_, tag) =                   \
			USLAB_CAT(on_, tag) ? alloc_tag_save(&tag) : NULL; \
		USLAB_AUTO USLAB_CAT(result_, tag) = (__VA_ARGS__);        \
		if (USLAB_CAT(on_, tag))                                   \
			alloc_tag_restore(&tag, USLAB_CAT(old_, tag));     \
		USLAB_CAT(result_, tag);                                   \
	})

#ifndef __cplusplus
/*
 * Registers the section once for each program and library: whichever object file comes first. Weak,
 * so that a file which includes this and allocates nothing need not be linked with the library.
 */
#pragma weak uslab_alloc_tags_register
#pragma weak uslab_alloc_tags_unregister
extern struct alloc_tag __start_uslab_alloc_tags[]
	__attribute__((__weak__, __visibility__("hidden")));
extern struct alloc_tag __stop_uslab_alloc_tags[]
	__attribute__((__weak__, __visibility__("hidden")));
extern struct uslab_alloc_tags uslab_alloc_tags_here
	__attribute__((__weak__, __visibility__("hidden")));
struct uslab_alloc_tags uslab_alloc_tags_here;

static __attribute__((__constructor__, __used__)) void uslab_alloc_tags_load(void)
{
	struct uslab_alloc_tags *here = &uslab_alloc_tags_here;

	if (here->start || &__start_uslab_alloc_tags[0] == &__stop_uslab_alloc_tags[0] ||
	    !uslab_alloc_tags_register)
		return;
	here->start = __start_uslab_alloc_tags;
	here->end = __stop_uslab_alloc_tags;
	uslab_alloc_tags_register(here);
}

static __attribute__((__destructor__, __used__)) void uslab_alloc_tags_unload(void)
{
	struct uslab_alloc_tags *here = &uslab_alloc_tags_here;

	if (!here->start)
		return;
	uslab_alloc_tags_unregister(here);
	here->start = NULL;
}
#endif

#else /* nothing is compiled in */

#define USLAB_COUNTED(tag, s, keep, ...) (__VA_ARGS__)
#define USLAB_CURRENT_OF(function, ...) ((function)(__VA_ARGS__))
#define USLAB_COUNTED_BULK(tag, ...) ((kmem_cache_alloc_bulk)(__VA_ARGS__))
#define USLAB_COUNTED_ARRAY(tag, ...) ((kmem_cache_alloc_array)(__VA_ARGS__))
#define alloc_hooks(...) (__VA_ARGS__)

#endif

#ifdef __cplusplus
}
#endif

#include <uslab/alloc_hooks.h>

#endif /* USLAB_ALLOC_TAG_H */
