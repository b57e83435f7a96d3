#!/bin/sh
# SPDX-License-Identifier: MIT
#
# header_test.sh - <uslab/slab.h> in programs that are compiled in unusual ways, and what they then do
#
# USLAB_TEST_ALL=1 (make test-all): every combination of compiler, language or standard, level and macros;
# without it each of them, and each macro at the levels that inline nothing and most.
set -eu

every=${USLAB_TEST_ALL:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings="-Wall -Wextra -Werror -O2"
include="-I$USLAB_SRC/include"
use=$USLAB_SRC/tests/install/use.c

# builds <what> <compiler and flags>...: use.c compiles, links with the archive and runs.
builds() {
	what=$1
	shift
	# shellcheck disable=SC2086
	"$@" $warnings "$include" "$use" -x none "$USLAB_LIB/libuslab.a" -o "$work/program" ||
		{ echo "$what: does not build"; exit 1; }
	case $("$work/program") in
	"ok "*) echo "$what: ok" ;;
	*) echo "$what: does not run"; exit 1 ;;
	esac
}

# A machine that it is not for is named, before anything else goes wrong.
refuses() {
	said=$(echo '#include <uslab/slab.h>' | "$@" "$include" -fsyntax-only -x c - 2>&1) &&
		{ echo "$*: is accepted"; exit 1; }
	case $said in
	*"error: "*"uslab: this is for $machine"*) echo "$*: refused, ok" ;;
	*) echo "$*: $said"; exit 1 ;;
	esac
}
machine="machines with pointers and longs of 64 bits"
refuses gcc -m32
refuses clang -m32
machine="little-endian machines"
refuses clang -target s390x-linux-gnu
machine="C99 and later"
refuses gcc -std=c89
refuses clang -ansi

# What <uslab/slab.h> includes names it, alone.
for header in fastpath kmalloc partition; do
	for compiler in gcc g++ clang clang++; do
		said=$(echo "#include <uslab/$header.h>" | $compiler "$include" -fsyntax-only \
			-x "$([ "$compiler" = "${compiler%++}" ] && echo c || echo c++)" - 2>&1) &&
			{ echo "$compiler: <uslab/$header.h> is accepted alone"; exit 1; }
		case $(echo "$said" | grep error: | head -n 1) in
		*"include <uslab/slab.h>, which includes this"*) ;;
		*) echo "$compiler, <uslab/$header.h>: $said"; exit 1 ;;
		esac
	done
done
echo "parts of <uslab/slab.h> alone: refused, ok"

# Rows have to be asked for first: neither without the macro nor with it too late.
for asked in "" "#define USLAB_KMALLOC_PARTITION"; do
	for compiler in gcc clang; do
		said=$(printf '#include <uslab/slab.h>\n%s\n#include <uslab/partition.h>\n' "$asked" |
			$compiler "$include" -fsyntax-only -x c - 2>&1) &&
			{ echo "$compiler: <uslab/partition.h> is accepted behind <uslab/slab.h> $asked"; exit 1; }
		case $(echo "$said" | grep -E "error:|warning:" | head -n 1) in
		*"error: "*"define USLAB_KMALLOC_PARTITION and include <uslab/slab.h>"*) ;;
		*) echo "$compiler, <uslab/partition.h> behind <uslab/slab.h>: $said"; exit 1 ;;
		esac
	done
done
echo "<uslab/partition.h> behind <uslab/slab.h>: refused, ok"

# Every inline function, with the warnings that a program may have switched on, at each level: what
# is inlined there the compiler sees otherwise at another.
cat >"$work/inlines.c" <<'TEXT'
#include <uslab/cleanup.h>
#include <uslab/rcu.h>
#include <uslab/shrinker.h>

struct point { double x, y; };
struct node { struct rcu_head rcu; int n; };
DEFINE_FREE(node, struct node *, if (_T) kfree(_T))
struct line { size_t n; struct point points[1]; }; /* C++ has no [] */
struct kmem_cache *points(void);
struct kmem_cache *as_in_the_kernel(void);
struct line *by_type(size_t n);
void *by_node(size_t n, int node);
void *virtual_ones(size_t n, int node);
int texts(const char *s, const char **constant);
void *one(struct kmem_cache *s);
int some(struct kmem_cache *s, size_t n, void **p);
void *by_size(size_t n);
void *by_user(kmem_buckets *b, size_t n);
void give(struct kmem_cache *s, void *p);
void later(struct node *p, const struct node *q);
int by_macro(struct shrinker *shrinker);

struct kmem_cache *points(void)
{
	return KMEM_CACHE(point, SLAB_HWCACHE_ALIGN | SLAB_PANIC);
}

void *one(struct kmem_cache *s)
{
	void *p = kmem_cache_zalloc(s, GFP_KERNEL);

	return p ? p : kmem_cache_alloc(s, GFP_KERNEL);
}

int some(struct kmem_cache *s, size_t n, void **p)
{
	if (kmem_cache_alloc_bulk(s, GFP_KERNEL, 2, p))
		kmem_cache_free_bulk(s, 2, p);
	if (kmem_cache_alloc_bulk(s, GFP_KERNEL, n, p))
		kmem_cache_free_bulk(s, n, p);
	kfree_bulk(n, p);
	return kmem_cache_alloc_bulk(s, GFP_KERNEL | __GFP_ZERO, n, p);
}

void *by_size(size_t n)
{
	void *p = kmalloc(96, GFP_KERNEL);

	kfree(kmalloc(n, GFP_ATOMIC));
	kfree(kzalloc(64, GFP_KERNEL));
	kfree(kzalloc_node(n, GFP_KERNEL, 0));
	kfree(kcalloc(n, 2, GFP_KERNEL));
	kfree(krealloc_array(NULL, n, 2, GFP_KERNEL));
	return ZERO_OR_NULL_PTR(p) ? kmalloc(32, GFP_NOWAIT | __GFP_NOWARN) : p;
}

void *by_user(kmem_buckets *b, size_t n)
{
	kfree(kmem_buckets_alloc(b, n, GFP_KERNEL));
	kvfree(kmem_buckets_valloc(b, n, GFP_KERNEL));
	return kmem_buckets_alloc_track_caller(b, n, GFP_KERNEL);
}

struct kmem_cache *as_in_the_kernel(void)
{
	static struct kmem_cache_args args;

	args.align = 64;
	if (!slab_is_available() || kmem_dump_obj(&args))
		return kmem_cache_create("none", 64, NULL, 0);
	return kmem_cache_create("points", sizeof(struct point), &args, SLAB_NO_MERGE);
}

struct line *by_type(size_t n)
{
	struct point *p __free(kfree) = kmalloc_obj(*p);
	struct point *q __free(kvfree) = kvzalloc_objs(struct point, n, GFP_NOWAIT);
	struct point *r __free(kfree_sensitive) = kzalloc_objs(struct point, 3);
	struct line *line __free(kfree) = kmalloc_flex(struct line, points, n);
	struct line *taken = no_free_ptr(line);

	kfree(taken);
	retain_and_null_ptr(taken);
	line = kvzalloc_flex(*line, points, 3, GFP_KERNEL);
	if (!p || !q || !r || !line || taken)
		return NULL;
	line->n = n;
	return_ptr(line);
}

void *by_node(size_t n, int node)
{
	void *p = kmalloc_array_node(n, 8, GFP_KERNEL, node);

	kfree(kcalloc_node(n, 8, GFP_KERNEL, node));
	kfree(kmalloc_track_caller(n, GFP_KERNEL));
	kfree(kmalloc_node_track_caller(n, GFP_KERNEL, node));
	kfree(krealloc_node_align(NULL, n, 64, GFP_KERNEL, node));
	return krealloc_node(p, n, GFP_KERNEL, node);
}

void *virtual_ones(size_t n, int node)
{
	void *p = kvmalloc(n, GFP_KERNEL);

	kvfree(kvmalloc(64, GFP_KERNEL));
	kvfree(kvzalloc(64, GFP_KERNEL));
	kvfree(kvmalloc_array(n, 8, GFP_KERNEL));
	kvfree(kvcalloc(n, 8, GFP_KERNEL));
	kvfree(kvmalloc_array_node(n, 8, GFP_KERNEL, node));
	kvfree(kvcalloc_node(n, 8, GFP_KERNEL, node));
	kvfree_sensitive(kvzalloc_node(n, GFP_KERNEL, node), n);
	return kvrealloc(p, 2 * n, GFP_KERNEL);
}

int texts(const char *s, const char **constant)
{
	char *copy __free(kfree) = kstrdup(s, GFP_KERNEL);
	char *part __free(kfree) = kstrndup(s, 3, GFP_KERNEL);
	void *bytes __free(kvfree) = kvmemdup(s, 3, GFP_KERNEL);
	void *array __free(kfree) = kmemdup_array(s, 1, 3, GFP_KERNEL);
	char *text __free(kfree) = kasprintf(GFP_KERNEL, "%s %d", s, 3);
	const char *name __free(kfree_const) = kstrdup_const(s, GFP_KERNEL);

	*constant = no_free_ptr(name);
	return copy && part && bytes && array && text;
}

void give(struct kmem_cache *s, void *p)
{
	kmem_cache_free(s, p);
}

void later(struct node *p, const struct node *q)
{
	if (p->n)
		kfree_rcu(p, rcu);
	else
		kvfree_rcu_mightsleep(p);
	if (ZERO_OR_NULL_PTR(q))
		kfree(ZERO_SIZE_PTR);
}

int by_macro(struct shrinker *shrinker)
{
	struct node *p __free(node) = kzalloc_obj(*p);

	kmem_cache_destroy(KMEM_CACHE_USERCOPY(node, 0, n));
	return register_shrinker(shrinker) || !no_free_ptr(p);
}
TEXT
strict="-Wall -Wextra -Wpedantic -Wredundant-decls -Wshadow -Wconversion -Wsign-conversion -Wundef"
strict="$strict -Wcast-qual -Wcast-align -Wpointer-arith -Wwrite-strings -Wnull-dereference -Werror"

# quiet <flags>...: no compiler, level or language warns.
levels="0 g 1 2 3 s"
quiet() {
	for compiler in gcc clang; do
		for language in c c++; do
			casts=
			[ $language = c ] || casts=-Wold-style-cast
			for level in $levels; do
				# shellcheck disable=SC2086
				$compiler -x $language -O$level $strict $casts "$@" "$include" -c "$work/inlines.c" \
					-o "$work/inlines.o" ||
					{ echo "$compiler -x $language -O$level $*: warns"; exit 1; }
			done
		done
	done
	echo "no warnings ${*:-as it is}: ok"
}
quiet
[ -n "$every" ] || levels="0 3"
quiet -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wno-cpp '-Wno-#warnings'
quiet -DUSLAB_NO_RSEQ
quiet -DUSLAB_KMALLOC_PARTITION
# With a tag in each call.
quiet -DUSLAB_MEM_ALLOC_PROFILING
quiet -DUSLAB_MEM_ALLOC_PROFILING -DUSLAB_KMALLOC_PARTITION

# Warnings of casts and of NULL that a C++ program has switched on are for its own code, also with -I.
{
	echo '#include <uslab/slab.h>'
	for header in "$USLAB_SRC"/include/uslab/*.h "$USLAB_SRC"/include/uslab/*.hpp; do
		[ "${header##*/}" = partition.h ] || # <uslab/slab.h> includes it where it is wanted
			echo "#include <uslab/${header##*/}>"
	done
} >"$work/headers.cpp"
for compiler in g++ clang++; do
	$compiler -std=c++20 -Wall -Wextra -Werror -Wold-style-cast -Wzero-as-null-pointer-constant "$include" \
		-fsyntax-only "$work/headers.cpp" || { echo "$compiler: a header warns"; exit 1; }
done

# -Wpedantic is for these and later ones, says <uslab/slab.h>.
grep -v '\.hpp>' "$work/headers.cpp" >"$work/headers.c"
for standard in "gcc -std=c99" "clang -std=c99" "g++ -std=c++11 -x c++" "clang++ -std=c++11 -x c++"; do
	$standard -Wall -Wextra -Wpedantic -Werror "$include" -fsyntax-only "$work/headers.c" ||
		{ echo "$standard: a header warns"; exit 1; }
done

# <uslab/cache.hpp> by each standard, also without exceptions and type information, and what it then does.
hpp=$USLAB_SRC/tests/install/use_containers.cpp
for compiler in g++ clang++; do
	for standard in c++17 c++20 c++2b; do
		for more in "" "-fno-exceptions -fno-rtti" "-DUSLAB_NO_RSEQ" "-O0"; do
			[ -n "$every" ] || [ -z "$more" ] || [ $standard = c++17 ] || continue
			# shellcheck disable=SC2086
			$compiler -std=$standard -O2 $strict $more "$include" "$hpp" "$USLAB_LIB/libuslab.a" \
				-o "$work/hpp" || { echo "$compiler -std=$standard $more: warns"; exit 1; }
			case $("$work/hpp") in
			"ok "*) ;;
			*) echo "$compiler -std=$standard $more: does not run"; exit 1 ;;
			esac
		done
	done
	said=$(echo '#include <uslab/cache.hpp>' | $compiler -std=c++14 "$include" -fsyntax-only -x c++ - 2>&1) &&
		{ echo "$compiler -std=c++14: is accepted"; exit 1; }
	constant=$(printf '#include <uslab/cache.hpp>\nuslab::cache<const int> c("c");\n' |
		$compiler -std=c++20 "$include" -fsyntax-only -x c++ - 2>&1) && { echo "a cache of constants is accepted"; exit 1; }
	case $constant in
	*"a cache has objects, which are made and ended"*) ;;
	*) echo "$compiler: $constant"; exit 1 ;;
	esac
	case $said in
	*"error: "*"is for C++17 and later"*) echo "$compiler, <uslab/cache.hpp>: ok" ;;
	*) echo "$compiler -std=c++14: $said"; exit 1 ;;
	esac
done

# Where nothing can be thrown, what would throw ends the program.
cat >"$work/abort.cpp" <<'TEXT'
#include <uslab/cache.hpp>

int main()
{
	return *uslab::allocator<char>().allocate(SIZE_MAX);
}
TEXT
g++ -std=c++17 -O2 -fno-exceptions "$include" "$work/abort.cpp" "$USLAB_LIB/libuslab.a" -o "$work/abort"
status=0
(ulimit -c 0; exec "$work/abort") || status=$?
[ "$status" -eq 134 ] || { echo "-fno-exceptions: status $status, not that of abort()"; exit 1; }

# The library's own files, where the headers of valgrind and SystemTap are missing.
for compiler in gcc clang; do
	for file in instrument/memcheck instrument/probe memory/readable; do
		# shellcheck disable=SC2086
		$compiler $warnings -std=gnu17 -D_GNU_SOURCE= -DUSLAB_NO_TOOL_HEADERS "$include" \
			"-I$USLAB_SRC/src" -c "$USLAB_SRC/src/os/$file.c" -o "$work/object.o" ||
			{ echo "$compiler: src/os/$file.c needs a header that may be missing"; exit 1; }
	done
	echo "$compiler, no headers of tools: ok"
done

# glibc's own declaration of what the hit path reads, before ours and after it.
if echo '#include <sys/rseq.h>' | gcc -fsyntax-only -x c - 2>/dev/null; then
	echo '#include <uslab/slab.h>' >"$work/before.h"
	echo '#include <sys/rseq.h>' >>"$work/before.h"
	for compiler in gcc clang g++ clang++; do
		language=c
		[ "$compiler" = "${compiler%++}" ] || language=c++
		builds "$compiler, <sys/rseq.h> first" $compiler -include sys/rseq.h -x $language
		builds "$compiler, <sys/rseq.h> last" $compiler -include "$work/before.h" -x $language
	done
fi

# Programs with inline assembly of their own in Intel's syntax.
if [ "$(uname -m)" = x86_64 ]; then
	cat >"$work/intel.h" <<'TEXT'
static inline int one_more(int n)
{
	__asm__("mov eax, 1\n\tadd %0, eax" : "+r"(n) : : "eax", "cc");
	return n;
}
TEXT
	for compiler in gcc clang; do
		builds "$compiler -masm=intel" $compiler -masm=intel -include "$work/intel.h" -x c
		builds "$compiler -masm=intel -S" $compiler -masm=intel -save-temps=obj -include "$work/intel.h" -x c
	done
	builds "g++ -masm=intel" g++ -masm=intel -include "$work/intel.h" -x c++
	builds "clang++ -masm=intel" clang++ -masm=intel -include "$work/intel.h" -x c++
	builds "gcc -masm=intel -flto" gcc -masm=intel -flto -include "$work/intel.h" -x c
	builds "clang -masm=intel, no sequences" clang -masm=intel -DUSLAB_NO_RSEQ -include "$work/intel.h" -x c

	# Both texts of each instruction mean the same.
	cat >"$work/all.c" <<'TEXT'
#include <uslab/slab.h>

int (*volatile pop)(void *, ptrdiff_t, void **) = uslab_rseq_pop;
int (*volatile push)(void *, void *, ptrdiff_t) = uslab_rseq_push;
int (*volatile take)(void *, ptrdiff_t, void **) = uslab_rseq_take;
int (*volatile give)(void *, void *, ptrdiff_t) = uslab_rseq_give;
size_t (*volatile pop_run)(void *, ptrdiff_t, size_t, void **) = uslab_rseq_pop_run;
size_t (*volatile push_run)(void *, ptrdiff_t, size_t, void *const *) = uslab_rseq_push_run;
size_t (*volatile take_run)(void *, ptrdiff_t, size_t, void **) = uslab_rseq_take_run;
size_t (*volatile give_run)(void *, ptrdiff_t, size_t, void *const *) = uslab_rseq_give_run;
TEXT
	for compiler in gcc clang; do
		for syntax in att intel; do
			$compiler -O2 -masm=$syntax "$include" -c "$work/all.c" -o "$work/all.o"
			objdump -sr -j .text -j __rseq_failure -j __rseq_cs "$work/all.o" >"$work/all.$syntax"
		done
		cmp "$work/all.att" "$work/all.intel" ||
			{ echo "$compiler: other instructions with -masm=intel"; exit 1; }
		echo "$compiler: the same instructions with -masm=intel: ok"
	done
fi
