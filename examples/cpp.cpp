/* SPDX-License-Identifier: MIT */
/*
 * examples/cpp.cpp - a C++ class whose objects come from a cache
 *
 *   $ c++ -O2 cpp.cpp -luslab -o cpp
 *   $ ./cpp
 *   3 shapes, the last one: square
 *   all are back: yes
 */
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <uslab/slab.h>
#include <vector>

class Shape {
public:
	explicit Shape(const char *what) : name(what) {}
	const std::string &what() const { return name; }

	static void *operator new(std::size_t size)
	{
		void *p = size <= sizeof(Shape)
				  ? kmem_cache_alloc(cache(), GFP_KERNEL)
				  : nullptr;

		if (!p)
			throw std::bad_alloc();
		return p;
	}
	static void operator delete(void *p)
	{
		if (p) // a cache takes no NULL
			kmem_cache_free(cache(), p);
	}

	/* Made at the first use. With SLAB_PANIC it is made, or the program ends. */
	static struct kmem_cache *cache()
	{
		static struct kmem_cache *shapes = kmem_cache_create(
			"shapes", sizeof(Shape), alignof(Shape),
			SLAB_PANIC | SLAB_NOLEAKTRACE, nullptr);
		return shapes;
	}

private:
	std::string name;
};

int main()
{
	std::vector<std::unique_ptr<Shape>> all;

	for (const char *name : { "circle", "triangle", "square" })
		all.emplace_back(new Shape(name));
	std::printf("%zu shapes, the last one: %s\n", all.size(),
		    all.back()->what().c_str());
	all.clear();
	std::printf("all are back: %s\n",
		    kmem_cache_shrink(Shape::cache()) ? "no" : "yes");
	kmem_cache_destroy(Shape::cache());
}
