/* SPDX-License-Identifier: MIT */
/*
 * uslab/cache.hpp - caches in C++: cache<T>, allocator<T> for containers, memory_resource
 *
 * Header only, for C++17 and later, on <uslab/slab.h>. A hit is the same inline sequence as in C.
 *
 * Errors: what throws, throws std::bad_alloc; where exceptions are switched off it ends the program
 * instead (std::abort()). Forms that are noexcept return nullptr.
 *
 * Safety: any thread may call everything at any time, but moves and destructors of an object that
 * others use. Signal handlers may allocate and free, as in <uslab/slab.h>, where the cache has been
 * made: allocator and memory_resource make each at its first use. A child of fork() goes on using
 * all of it.
 *
 * Where the caches of allocator live, and why they never die: docs/adr/0043.
 */
#ifndef USLAB_CACHE_HPP
#define USLAB_CACHE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "uslab: <uslab/cache.hpp> is for C++17 and later"
#endif

#include <uslab/slab.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

namespace uslab
{

/* ---- what the classes share ---- */

namespace detail
{

constexpr std::size_t max_align = 4096; /* bytes: of objects of a cache */

[[noreturn]] inline void out_of_memory()
{
#ifdef __cpp_exceptions
	throw std::bad_alloc();
#else
	std::abort();
#endif
}

inline void *not_null(void *p)
{
	if (__builtin_expect(!p, 0))
		out_of_memory();
	return p;
}

/* Blocks that are no object of a cache of ours: arrays, large ones. No bytes are one byte. */
inline void *allocate_block(std::size_t bytes, std::size_t align)
{
	bytes += bytes == 0;
	return not_null(kvmalloc_node_align(bytes, align, GFP_KERNEL, NUMA_NO_NODE));
}

/*
 * The size of the cache for an object: a multiple of its alignment, and of the word. One cache per
 * size serves all alignments, since its objects are aligned to the largest power of two that
 * divides their size.
 */
constexpr std::size_t cache_size(std::size_t size, std::size_t align)
{
	if (align < ARCH_SLAB_MINALIGN)
		align = ARCH_SLAB_MINALIGN;
	return (size + (size == 0) + align - 1) & ~(align - 1);
}

constexpr unsigned int natural_align(std::size_t size)
{
	const std::size_t align = size & (~size + 1);

	return static_cast<unsigned int>(align < max_align ? align : max_align);
}

/*
 * The library's cache for objects of one size, as this program, library or plug-in remembers it:
 * hidden, since another one may have a copy of the library of its own, and other caches. Those that
 * have one copy of the library together get the same cache from it. No destructor.
 */
template <std::size_t Size> struct __attribute__((__visibility__("hidden"))) shared_cache {
	static inline std::atomic<struct kmem_cache *> slot{ nullptr };
};

/* For a slot that is empty. nullptr: there is none, and it could not be made. */
[[gnu::visibility("hidden"), gnu::noinline, gnu::cold]] inline struct kmem_cache *
find_cache(std::atomic<struct kmem_cache *> &slot, std::size_t size) noexcept
{
	struct kmem_cache *s = uslab_cache_of_size(size);

	if (s)
		slot.store(s, std::memory_order_release); /* who finds a cache finds it whole */
	return s;
}

} // namespace detail

/* ---- cache<T> ---- */

/* Destroys a T and gives its memory back to a cache: two words in a unique_ptr. */
template <class T> class deleter
{
public:
	constexpr deleter() noexcept = default;
	explicit constexpr deleter(struct kmem_cache *s) noexcept : handle(s) {}

	/* p must not be nullptr; unique_ptr sees to that. */
	void operator()(T *p) const noexcept
	{
		p->~T();
		kmem_cache_free(handle, p);
	}

private:
	struct kmem_cache *handle = nullptr;
};

/**
 * cache<T> - a cache of its own for objects of type T, which dies with this object
 *
 * T has at most KMALLOC_MAX_SIZE bytes and an alignment of at most a page. All objects must have
 * been freed when a cache is destroyed or assigned to: those that are not are reported, and stay
 * valid (kmem_cache_destroy()). One that was moved from may only be assigned to and destroyed.
 */
template <class T> class cache
{
	static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
		      "a cache has objects, which are made and ended");
	static_assert(sizeof(T) <= KMALLOC_MAX_SIZE && alignof(T) <= detail::max_align,
		      "an object has at most 4 MiB, and an alignment of at most a page");

public:
	using value_type = T;
	using unique_ptr = std::unique_ptr<T, deleter<T>>;

	/**
	 * cache - makes it (kmem_cache_create_args())
	 * @name: copied; at most USLAB_MAX_NAME bytes
	 * @args: engine, front, capacity, ...; its alignment is raised to that of T. What a ctor
	 *        leaves is for allocate() only, see there
	 *
	 * If it cannot be made a line on stderr says why, and errno. Then the first two throw, and
	 * the last leaves a cache that is false.
	 */
	explicit cache(const char *name, slab_flags_t flags = 0) : cache(name, {}, flags) {}
	cache(const char *name, const struct kmem_cache_args &args, slab_flags_t flags = 0)
		: cache(std::nothrow, name, args, flags)
	{
		if (!handle)
			detail::out_of_memory();
	}
	cache(const std::nothrow_t &, const char *name, struct kmem_cache_args args = {},
	      slab_flags_t flags = 0) noexcept
	{
		if (args.align < alignof(T))
			args.align = alignof(T);
		handle = kmem_cache_create_args(name, sizeof(T), &args, flags);
	}

	cache(cache &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
	cache &operator=(cache &&other) noexcept
	{
		cache(std::move(other)).swap(*this);
		return *this;
	}
	~cache() { kmem_cache_destroy(handle); }

	void swap(cache &other) noexcept { std::swap(handle, other.handle); }
	explicit operator bool() const noexcept { return handle; }

	/* What functions of <uslab/slab.h> take; it stays this object's. */
	struct kmem_cache *get() const noexcept { return handle; }

	/* A T, constructed from args. Throws, also what its constructor does: nothing is lost. */
	template <class... Args> T *construct(Args &&...args)
	{
		return construct_at(detail::not_null(kmem_cache_alloc(handle, GFP_KERNEL)),
				    std::forward<Args>(args)...);
	}

	/* The same; out of memory is nullptr. */
	template <class... Args>
	T *try_construct(Args &&...args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
	{
		void *p = kmem_cache_alloc(handle, GFP_KERNEL);

		return p ? construct_at(p, std::forward<Args>(args)...) : nullptr;
	}

	/* Destroys what either of them returned, and frees it. nullptr is ignored. */
	void destroy(T *p) noexcept
	{
		if (p)
			deleter<T>{ handle }(p);
	}

	/* construct(), owned. The cache must outlive it. */
	template <class... Args> unique_ptr make_unique(Args &&...args)
	{
		return unique_ptr(construct(std::forward<Args>(args)...), deleter<T>{ handle });
	}

	/*
	 * Memory for a T, in which nothing was constructed; with a ctor, an object as that left it,
	 * or as it was when it was freed. nullptr: out of memory.
	 */
	T *allocate(gfp_t flags = GFP_KERNEL) noexcept
	{
		return static_cast<T *>(kmem_cache_alloc(handle, flags));
	}

	/* Frees it, and destroys nothing. p must not be nullptr. */
	void deallocate(T *p) noexcept { kmem_cache_free(handle, p); }

	const char *name() const noexcept { return kmem_cache_name(handle); }
	/* Bytes; see kmem_cache_size(). */
	std::size_t object_size() const noexcept { return kmem_cache_size(handle); }
	/* Returns whether all objects were free, and with them all memory was given back. */
	bool shrink() noexcept { return !kmem_cache_shrink(handle); }

private:
	/* Frees memory whose object was not constructed. */
	struct pending {
		struct kmem_cache *s;
		void *p;

		~pending()
		{
			if (p)
				kmem_cache_free(s, p);
		}
	};

	template <class... Args> T *construct_at(void *p, Args &&...args)
	{
		pending memory{ handle, p };
		T *object = ::new (p) T(std::forward<Args>(args)...);

		memory.p = nullptr;
		return object;
	}

	struct kmem_cache *handle;
};

/*
 * The deleter of one cache that has a name of its own, a variable outside of functions: nothing is
 * stored, so a unique_ptr with it has one word.
 *
 *	uslab::cache<point> points("points");
 *	using point_ptr = std::unique_ptr<point, uslab::deleter_of<points>>;
 *	point_ptr p(points.construct(1, 2));
 */
template <auto &Cache> struct deleter_of {
	void
	operator()(typename std::remove_reference_t<decltype(Cache)>::value_type *p) const noexcept
	{
		Cache.destroy(p);
	}
};

/*
 * struct kmem_cache_args::ctor that constructs a T where its slab is made. Its destructor never
 * runs, so it must have nothing to do.
 */
template <class T> void slab_constructor(void *object) noexcept
{
	static_assert(std::is_nothrow_default_constructible_v<T> &&
			      std::is_trivially_destructible_v<T>,
		      "an object of a slab is constructed without exceptions, and never destroyed");
	::new (object) T();
}

/* ---- allocator<T> ---- */

/**
 * allocator<T> - for containers with nodes: std::map, std::list, std::unordered_map, ...
 *
 * Single objects come from a cache for their size ("cpp-SIZE"), inline; arrays, and objects of more
 * than KMALLOC_MAX_CACHE_SIZE bytes, from kvmalloc(). All allocators are equal. The caches are made
 * at the first use and never destroyed: static containers may use them to their end.
 */
template <class T> class allocator
{
public:
	using value_type = T;
	using size_type = std::size_t;
	using difference_type = std::ptrdiff_t;
	using propagate_on_container_move_assignment = std::true_type;
	using is_always_equal = std::true_type;

	constexpr allocator() noexcept = default;
	template <class U> constexpr allocator(const allocator<U> &) noexcept {}

	/* Memory for n objects. Throws. */
	[[nodiscard, gnu::always_inline]] T *allocate(std::size_t n)
	{
		if constexpr (has_cache())
			if (__builtin_expect(n == 1, 1))
				return static_cast<T *>(detail::not_null(
					kmem_cache_alloc(cache_found(), GFP_KERNEL)));
		if (n > max_size())
			detail::out_of_memory();
		return static_cast<T *>(detail::allocate_block(n * sizeof(T), alignof(T)));
	}

	/* What allocate(n) returned. */
	[[gnu::always_inline]] void deallocate(T *p, std::size_t n) noexcept
	{
		if constexpr (has_cache()) {
			if (__builtin_expect(n == 1, 1)) {
				kmem_cache_free(cache_of_object(), p);
				return;
			}
		}
		kvfree(p);
	}

	/* Objects in the largest block of kvmalloc(). */
	static constexpr std::size_t max_size() noexcept { return INT_MAX / sizeof(T); }

private:
	static constexpr std::size_t size() { return detail::cache_size(sizeof(T), alignof(T)); }
	static constexpr bool has_cache()
	{
		return size() <= KMALLOC_MAX_CACHE_SIZE && alignof(T) <= detail::max_align;
	}
	/* Throws. */
	[[gnu::always_inline]] static struct kmem_cache *cache_found()
	{
		auto &slot = detail::shared_cache<size()>::slot;
		/* pairs with find_cache() */
		struct kmem_cache *s = slot.load(std::memory_order_acquire);

		if (__builtin_expect(!s, 0) && !(s = detail::find_cache(slot, size())))
			detail::out_of_memory();
		return s;
	}
	/* Who allocated an object had found the cache, so relaxed; maybe in another library, so look. */
	[[gnu::always_inline]] static struct kmem_cache *cache_of_object() noexcept
	{
		auto &slot = detail::shared_cache<size()>::slot;
		struct kmem_cache *s = slot.load(std::memory_order_relaxed);

		return __builtin_expect(!s, 0) ? detail::find_cache(slot, size()) : s;
	}
};

template <class T, class U>
constexpr bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
	return true;
}

template <class T, class U>
constexpr bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
	return false;
}

/* ---- memory_resource ---- */

#ifdef __cpp_lib_memory_resource
/**
 * memory_resource - for std::pmr: a cache for each size of up to largest bytes, else kvmalloc()
 *
 * The caches are this resource's own ("NAME-SIZE"), so tools show what it has, and no other
 * resource is equal. They are made at their first use and destroyed with it: what has not been
 * deallocated by then is reported and stays valid. Any thread may use it at any time.
 */
class memory_resource : public std::pmr::memory_resource
{
public:
	static constexpr std::size_t largest = 1024; /* bytes */

	/* name is copied, of which 58 bytes are used. flags: of its caches. */
	explicit memory_resource(const char *name = "pmr", slab_flags_t flags = SLAB_NO_MERGE)
		: cache_flags(flags)
	{
		for (std::size_t i = 0; i < sizeof(prefix) - 1 && name[i]; i++)
			prefix[i] = name[i];
	}
	memory_resource(const memory_resource &) = delete;
	memory_resource &operator=(const memory_resource &) = delete;
	~memory_resource() override
	{
		for (auto &slot : slots)
			kmem_cache_destroy(slot.load(std::memory_order_relaxed));
	}

protected:
	/* Throws, also for more than INT_MAX bytes, or an alignment above KMALLOC_MAX_SIZE. */
	void *do_allocate(std::size_t bytes, std::size_t align) override
	{
		if (bytes > INT_MAX)
			detail::out_of_memory();
		if (!has_cache(bytes, align))
			return detail::allocate_block(bytes, align);
		/* pairs with make_cache() */
		struct kmem_cache *s = slot(bytes, align).load(std::memory_order_acquire);

		if (__builtin_expect(!s, 0) && !(s = make_cache(bytes, align)))
			detail::out_of_memory();
		return detail::not_null(kmem_cache_alloc(s, GFP_KERNEL));
	}

	void do_deallocate(void *p, std::size_t bytes, std::size_t align) override
	{
		if (has_cache(bytes, align)) /* relaxed: who allocated it had found the cache */
			kmem_cache_free(slot(bytes, align).load(std::memory_order_relaxed), p);
		else
			kvfree(p);
	}

	bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
	{
		return this == &other;
	}

private:
	static constexpr bool has_cache(std::size_t bytes, std::size_t align)
	{
		return detail::cache_size(bytes, align) <= largest;
	}
	std::atomic<struct kmem_cache *> &slot(std::size_t bytes, std::size_t align)
	{
		return slots[detail::cache_size(bytes, align) / ARCH_SLAB_MINALIGN - 1];
	}

	/*
	 * "PREFIX-SIZE", into its slot. nullptr: it could not be made. Of two threads that make it
	 * at once one keeps its own, and the other takes that.
	 */
	[[gnu::noinline, gnu::cold]] struct kmem_cache *make_cache(std::size_t bytes,
								   std::size_t align) noexcept
	{
		const std::size_t size = detail::cache_size(bytes, align);
		auto &where = slot(bytes, align);
		char name[sizeof(prefix) + 20];
		struct kmem_cache *there = nullptr;

		std::snprintf(name, sizeof(name), "%s-%u", prefix, static_cast<unsigned int>(size));
		struct kmem_cache *made = kmem_cache_create(name, static_cast<unsigned int>(size),
							    detail::natural_align(size),
							    cache_flags, nullptr);
		/* who finds a cache finds it whole: pairs with itself and do_allocate() */
		if (!made || where.compare_exchange_strong(there, made, std::memory_order_acq_rel,
							   std::memory_order_acquire))
			return made;
		kmem_cache_destroy(made);
		return there;
	}

	char prefix[USLAB_MAX_NAME - 4] = {}; /* of the caches' names: room for "-1024" */
	slab_flags_t cache_flags;
	std::atomic<struct kmem_cache *> slots[largest / ARCH_SLAB_MINALIGN] = {};
};
#endif

} // namespace uslab

#endif /* USLAB_CACHE_HPP */
