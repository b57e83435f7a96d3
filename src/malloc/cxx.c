/* SPDX-License-Identifier: MIT */
/*
 * malloc/cxx.c - operator new and delete, by their names in the ABI
 *
 * Data:       forms: the operators that others are defined by, as the program sees them.
 * Invariants: as in the C++ standard: new returns memory or throws std::bad_alloc, after calling
 *             the new-handler as long as there is one; the nothrow forms give NULL instead. Arrays,
 *             nothrow and sized forms do what the form that they are defined by does, also when
 *             that is the program's own.
 * Locks:      none; forms_state publishes forms.
 * Flow:       called by the program; calls slow.c, align.c, os/symbol/symbol.c.
 *
 * This library does not need a C++ library; the program that calls operator new has one. The
 * functions of it that a failure needs are looked up at the first failure: std::get_new_handler and
 * the function that throws, or, for the nothrow forms, libstdc++'s own operator, which catches what
 * a handler throws (C cannot) and calls back here. A program without any of them gets one line and
 * abort(). Exceptions pass through these functions, which need no cleanup.
 */
#include <string.h>

#include "base/atomic.h"
#include "malloc/hot.h"
#include "os/process/die.h"
#include "os/symbol/symbol.h"
#include <uslab/slab.h>

/* The names are the compiler's; no header declares them for C. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct nothrow; /* std::nothrow_t: an empty tag */

/* ---- the forms that others are defined by ---------------------------------------------------- */

/*
 * A program may replace any operator, and few replace all. This library comes after the program in
 * the lookup order of symbols, and is linked so that its own calls are not looked up: dlsym() is
 * called once, at the first call of an operator that is defined by another.
 */
struct forms {
	void *(*new_one)(size_t);
	void *(*new_array)(size_t);
	void *(*new_aligned)(size_t, size_t);
	void *(*new_aligned_array)(size_t, size_t);
	void (*delete_one)(void *);
	void (*delete_array)(void *);
	void (*delete_aligned)(void *, size_t);
	void (*delete_aligned_array)(void *, size_t);
};

void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void _ZdlPv(void *p);
void _ZdaPv(void *p);
void _ZdlPvSt11align_val_t(void *p, size_t align);
void _ZdaPvSt11align_val_t(void *p, size_t align);
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align, const struct nothrow *tag);

static const struct forms our_forms = {
	.new_one = _Znwm,
	.new_array = _Znam,
	.new_aligned = _ZnwmSt11align_val_t,
	.new_aligned_array = _ZnamSt11align_val_t,
	.delete_one = _ZdlPv,
	.delete_array = _ZdaPv,
	.delete_aligned = _ZdlPvSt11align_val_t,
	.delete_aligned_array = _ZdaPvSt11align_val_t,
};

enum { FORMS_UNKNOWN, FORMS_OURS, FORMS_REPLACED };

static struct forms forms;   /* const once forms_state says so */
static uint32_t forms_state; /* written by look_up_forms(); several threads write the same */

/* The program's definition of a symbol that this library defines as well. */
#define PROGRAMS(name, ours)                                 \
	({                                                   \
		__typeof__(ours) f = os_symbol_global(name); \
		f ? f : (ours);                              \
	})

static cold noinline const struct forms *look_up_forms(void)
{
	struct forms f;

	/* A call before the loader has finished cannot use dlsym(); its memory is from early.c. */
	if (!malloc_usable())
		return &our_forms;
	if (load_acquire(&forms_state) == FORMS_UNKNOWN) { /* pairs with the release below */
		f.new_one = PROGRAMS("_Znwm", our_forms.new_one);
		f.new_array = PROGRAMS("_Znam", our_forms.new_array);
		f.new_aligned = PROGRAMS("_ZnwmSt11align_val_t", our_forms.new_aligned);
		f.new_aligned_array = PROGRAMS("_ZnamSt11align_val_t", our_forms.new_aligned_array);
		f.delete_one = PROGRAMS("_ZdlPv", our_forms.delete_one);
		f.delete_array = PROGRAMS("_ZdaPv", our_forms.delete_array);
		f.delete_aligned = PROGRAMS("_ZdlPvSt11align_val_t", our_forms.delete_aligned);
		f.delete_aligned_array =
			PROGRAMS("_ZdaPvSt11align_val_t", our_forms.delete_aligned_array);
		forms = f;
		/* pairs with are_ours() and the acquire above */
		store_release(&forms_state,
			      memcmp(&f, &our_forms, sizeof(f)) ? FORMS_REPLACED : FORMS_OURS);
	}
	return &forms;
}

/* No form is replaced: operators that are called often may take the short path. */
static always_inline bool are_ours(void)
{
	return likely(load_relaxed(&forms_state) == FORMS_OURS);
}

/* ---- operator new ---------------------------------------------------------------------------- */

static void *aligned_any(size_t size, size_t align, const void *caller)
{
	return align ? malloc_aligned(align, size, caller) : malloc_slow(size, caller);
}

/* align 0: none asked for. Returns memory, or never returns. */
static noinline void *new_slow(size_t size, size_t align, const void *caller)
{
	void (*(*get_handler)(void))(void);
	void (*handler)(void);
	void (*throw_bad_alloc)(void);
	void *p;

	while (!(p = aligned_any(size, align, caller))) {
		get_handler = os_symbol("_ZSt15get_new_handlerv", caller);
		handler = get_handler ? get_handler() : NULL;
		if (handler) {
			handler(); /* frees memory, or throws, or exits */
			continue;
		}
		throw_bad_alloc = os_symbol("_ZSt17__throw_bad_allocv", caller);
		if (throw_bad_alloc)
			throw_bad_alloc();
		os_die_fmt("operator new: out of memory for %zu bytes, and no C++ library to throw "
			   "std::bad_alloc",
			   size);
	}
	return p;
}

/* No hit, unless threads are in groups. */
static noinline void *new_missed(size_t size, const void *caller)
{
	void *p;

	return malloc_hot_group(size, &p) ? p : new_slow(size, 0, caller);
}

MALLOC_HIT void *_Znwm(size_t size)
{
	void *p;

	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return new_missed(size, MALLOC_CALLER);
}

MALLOC_HIT void *_Znam(size_t size)
{
	void *p;

	if (unlikely(!are_ours()))
		return look_up_forms()->new_one(size);
	if (likely(malloc_hot_alloc(size, &p)))
		return p;
	return new_missed(size, MALLOC_CALLER);
}

/* What is no power of two compilers do not pass; the standard does not say what it gets. */
static always_inline bool hot_aligned(size_t size, size_t align, void **result)
{
	return likely(is_pow2(align)) && malloc_hot_aligned(align, size, result);
}

MALLOC_HIT void *_ZnwmSt11align_val_t(size_t size, size_t align)
{
	void *p;

	return likely(hot_aligned(size, align, &p)) ? p : new_slow(size, align, MALLOC_CALLER);
}

USLAB_API void *_ZnamSt11align_val_t(size_t size, size_t align)
{
	void *p;

	if (unlikely(!are_ours()))
		return look_up_forms()->new_aligned(size, align);
	return likely(hot_aligned(size, align, &p)) ? p : new_slow(size, align, MALLOC_CALLER);
}

/*
 * Calls the form of the C++ library, which calls the one that may throw, the program's if there is
 * one, and catches. NULL: there is no such library. self: the calling function, in case the lookup
 * finds that.
 */
static noinline void *library_form(const char *name, const void *self, const void *caller)
{
	void *form = os_symbol(name, caller);

	return form != self ? form : NULL;
}

/* The nothrow forms; without a C++ library an exception of a replaced operator passes through. */
static noinline void *nothrow_slow(size_t size, const struct nothrow *tag, bool array,
				   const void *caller)
{
	const struct forms *f = look_up_forms();
	void *(*form)(size_t) = array ? f->new_array : f->new_one;
	bool ours = are_ours() || f == &our_forms;
	void *(*library)(size_t, const struct nothrow *);
	void *p = ours ? aligned_any(size, 0, caller) : NULL;

	if (p)
		return p;
	library = array ? library_form("_ZnamRKSt9nothrow_t", (void *)_ZnamRKSt9nothrow_t, caller)
			: library_form("_ZnwmRKSt9nothrow_t", (void *)_ZnwmRKSt9nothrow_t, caller);
	if (library)
		return library(size, tag);
	return ours ? NULL : form(size);
}

static noinline void *nothrow_aligned(size_t size, size_t align, const struct nothrow *tag,
				      bool array, const void *caller)
{
	const struct forms *f = look_up_forms();
	void *(*form)(size_t, size_t) = array ? f->new_aligned_array : f->new_aligned;
	bool ours = are_ours() || f == &our_forms;
	void *(*library)(size_t, size_t, const struct nothrow *);
	void *p = ours ? aligned_any(size, align, caller) : NULL;

	if (p)
		return p;
	library = array ? library_form("_ZnamSt11align_val_tRKSt9nothrow_t",
				       (void *)_ZnamSt11align_val_tRKSt9nothrow_t, caller)
			: library_form("_ZnwmSt11align_val_tRKSt9nothrow_t",
				       (void *)_ZnwmSt11align_val_tRKSt9nothrow_t, caller);
	if (library)
		return library(size, align, tag);
	return ours ? NULL : form(size, align);
}

USLAB_API void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	void *p;

	if (are_ours() && likely(malloc_hot_alloc(size, &p)))
		return p;
	return nothrow_slow(size, tag, false, MALLOC_CALLER);
}

USLAB_API void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag)
{
	void *p;

	if (are_ours() && likely(malloc_hot_alloc(size, &p)))
		return p;
	return nothrow_slow(size, tag, true, MALLOC_CALLER);
}

USLAB_API void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						   const struct nothrow *tag)
{
	void *p;

	if (are_ours() && likely(hot_aligned(size, align, &p)))
		return p;
	return nothrow_aligned(size, align, tag, false, MALLOC_CALLER);
}

USLAB_API void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t size, size_t align,
						   const struct nothrow *tag)
{
	void *p;

	if (are_ours() && likely(hot_aligned(size, align, &p)))
		return p;
	return nothrow_aligned(size, align, tag, true, MALLOC_CALLER);
}

/* ---- operator delete ------------------------------------------------------------------------- */

/* The names in reports: what the program wrote, not the form that its compiler chose. */
static const struct cache_call delete_one = { "operator delete", FIX_NOTHING };
static const struct cache_call delete_array = { "operator delete[]", FIX_NOTHING };

static bool look_up_ours(void)
{
	return look_up_forms() == &our_forms || are_ours();
}

/*
 * A form that is defined by another need not call that one if it is ours: so reports have its own
 * name. Not known yet, or not ours: form is the one that it calls.
 */
static cold void delete_by(const struct cache_call *call, void *p, void (**form)(void *),
			   const void *caller)
{
	if (look_up_ours())
		free_slow_as(call, p, caller);
	else
		(*form)(p);
}

static cold void delete_aligned_by(const struct cache_call *call, void *p, size_t align,
				   void (**form)(void *, size_t), const void *caller)
{
	if (look_up_ours())
		free_slow_as(call, p, caller);
	else
		(*form)(p, align);
}

MALLOC_HIT void _ZdlPv(void *p)
{
	malloc_free_as(&delete_one, p);
}

USLAB_API void _ZdlPvSt11align_val_t(void *p, size_t align)
{
	(void)align;
	malloc_free_as(&delete_one, p);
}

/* What compilers call for `delete p`, and for arrays. */

MALLOC_HIT void _ZdlPvm(void *p, size_t size)
{
	(void)size;
	if (likely(are_ours()))
		malloc_free_as(&delete_one, p);
	else
		delete_by(&delete_one, p, &forms.delete_one, MALLOC_CALLER);
}

MALLOC_HIT void _ZdaPv(void *p)
{
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_by(&delete_array, p, &forms.delete_one, MALLOC_CALLER);
}

MALLOC_HIT void _ZdaPvm(void *p, size_t size)
{
	(void)size;
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_by(&delete_array, p, &forms.delete_array, MALLOC_CALLER);
}

/* The rest are rare: alignment, and what a constructor's exception calls. */

USLAB_API void _ZdaPvSt11align_val_t(void *p, size_t align)
{
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_aligned_by(&delete_array, p, align, &forms.delete_aligned, MALLOC_CALLER);
}

USLAB_API void _ZdlPvmSt11align_val_t(void *p, size_t size, size_t align)
{
	(void)size;
	if (likely(are_ours()))
		malloc_free_as(&delete_one, p);
	else
		delete_aligned_by(&delete_one, p, align, &forms.delete_aligned, MALLOC_CALLER);
}

USLAB_API void _ZdaPvmSt11align_val_t(void *p, size_t size, size_t align)
{
	(void)size;
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_aligned_by(&delete_array, p, align, &forms.delete_aligned_array,
				  MALLOC_CALLER);
}

USLAB_API void _ZdlPvRKSt9nothrow_t(void *p, const struct nothrow *tag)
{
	(void)tag;
	if (likely(are_ours()))
		malloc_free_as(&delete_one, p);
	else
		delete_by(&delete_one, p, &forms.delete_one, MALLOC_CALLER);
}

USLAB_API void _ZdaPvRKSt9nothrow_t(void *p, const struct nothrow *tag)
{
	(void)tag;
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_by(&delete_array, p, &forms.delete_array, MALLOC_CALLER);
}

USLAB_API void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag)
{
	(void)tag;
	if (likely(are_ours()))
		malloc_free_as(&delete_one, p);
	else
		delete_aligned_by(&delete_one, p, align, &forms.delete_aligned, MALLOC_CALLER);
}

USLAB_API void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, const struct nothrow *tag)
{
	(void)tag;
	if (likely(are_ours()))
		malloc_free_as(&delete_array, p);
	else
		delete_aligned_by(&delete_array, p, align, &forms.delete_aligned_array,
				  MALLOC_CALLER);
}
