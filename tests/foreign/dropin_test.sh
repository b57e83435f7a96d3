#!/bin/sh
# SPDX-License-Identifier: MIT
#
# dropin_test.sh - libuslab_malloc.so under a program of another CPU or C library, and libuslab.so
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "dropin_test: $*"; exit 1; }

# qemu-user keeps a record for each page that is only reserved: a limit on addresses makes them fewer.
limited=
case $USLAB_EMULATOR in
qemu-*) limited="prlimit --as=6442450944" ;;
esac

cat >"$work/plugin.c" <<'C'
#include <stdlib.h>
#include <string.h>

static char *kept;

__attribute__((constructor)) static void start(void) { kept = strdup("the plug-in's"); }
__attribute__((destructor)) static void end(void) { free(kept); }
char *hand_over(size_t size);
char *hand_over(size_t size) { return kept ? malloc(size) : NULL; }
C

cat >"$work/program.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *arg)
{
	char *kept[64] = { 0 };
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (int i = 0; i < 20000; i++) {
		unsigned int n = rand_r(&seed) % 64;
		size_t size = rand_r(&seed) % (i % 100 ? 600 : 100000) + 1;

		kept[n] = realloc(kept[n], size);
		memset(kept[n], (int)n, size);
		if (malloc_usable_size(kept[n]) < size)
			return "too small";
		if (i % 3 == 0) {
			free(kept[n]);
			kept[n] = calloc(1, size);
			if (kept[n][size - 1])
				return "calloc does not clear";
		}
	}
	for (int n = 0; n < 64; n++)
		free(kept[n]);
	return NULL;
}

/* Sizes and alignments that libc's own malloc would keep to. */
static const char *shapes(void)
{
	for (size_t align = sizeof(void *); align <= 262144; align *= 2) {
		char *p = aligned_alloc(align, 3 * align);
		char *q = memalign(align, 7);

		if (!p || !q || (uintptr_t)p % align || (uintptr_t)q % align)
			return "aligned_alloc";
		if (malloc_usable_size(p) < 3 * align || malloc_usable_size(q) < 7)
			return "malloc_usable_size";
		memset(p, 0x5a, malloc_usable_size(p));
		p = realloc(p, 5 * align);
		for (size_t i = 0; i < 3 * align; i++)
			if (p[i] != 0x5a)
				return "realloc loses something";
		p = realloc(p, 1);
		if (*p != 0x5a)
			return "realloc to less loses something";
		free(p);
		free(q);
	}
	return malloc_usable_size(NULL) ? "malloc_usable_size(NULL)" : NULL;
}

/* What a plug-in allocates outlives it. */
static const char *plug_in(const char *path)
{
	for (int i = 0; i < 20; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		char *(*hand_over)(size_t) = handle ? (char *(*)(size_t))dlsym(handle, "hand_over") : NULL;
		char *p = hand_over ? hand_over(1000) : NULL;

		if (!p)
			return "dlopen";
		dlclose(handle);
		memset(p, i, 1000);
		free(p);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];
	const char *bad;
	void *wrong;
	void *aligned;
	pid_t pid;
	int status;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size); /* blocks of libc's own */

	if (!dlsym(RTLD_DEFAULT, "uslab_root") || !dlsym(RTLD_DEFAULT, "mallinfo2"))
		return puts("not preloaded"), 1;
	for (uintptr_t n = 0; n < 3; n++)
		pthread_create(&thread[n], NULL, work, (void *)(n + 1));
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0)
			_exit(work((void *)9) ? 1 : 0);
		if (waitpid(pid, &status, 0) != pid || status)
			return puts("a child failed"), 1;
	}
	for (int n = 0; n < 3; n++) {
		pthread_join(thread[n], &wrong);
		if (wrong)
			return puts(wrong), 1;
	}
	if ((bad = shapes()) || (bad = plug_in(argv[argc - 1])))
		return puts(bad), 1;
	if (posix_memalign(&aligned, 4096, 10) || (uintptr_t)aligned % 4096)
		return puts("posix_memalign"), 1;
	free(aligned);
	fprintf(stream, "%0999d", 1);
	fclose(stream);
	status = size != 999;
	free(text);
	return status ? (puts("open_memstream"), 1) : (puts("ok"), 0);
}
C
cat >"$work/first.c" <<'C'
/* A thread forks while another one makes the first request of the process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 100
#define SPINS 40000

static volatile int begun;

static void request(void)
{
	char *volatile p = malloc(100);

	free(p);
}

static void *first_request(void *arg)
{
	begun = 1;
	request();
	return arg;
}

static int forks_beside(int spins)
{
	pthread_t thread;
	int status;
	pid_t pid;

	alarm(20);
	if (pthread_create(&thread, NULL, first_request, NULL))
		return 1;
	while (!begun)
		;
	for (volatile int i = 0; i < spins; i++)
		;
	pid = fork();
	if (pid == 0) {
		alarm(10);
		request();
		_exit(0);
	}
	return waitpid(pid, &status, 0) != pid || status;
}

int main(void)
{
	for (int n = 0; n < PROCESSES; n++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(forks_beside(SPINS / PROCESSES * n));
		if (waitpid(pid, &status, 0) != pid || status)
			return printf("a child of process %d waits for ever\n", n), 1;
	}
	return puts("ok"), 0;
}
C
# shellcheck disable=SC2086
$USLAB_CC -O2 "$work/first.c" -pthread -o "$work/first"
# shellcheck disable=SC2086
$USLAB_CC -O2 "$work/program.c" -pthread -ldl -o "$work/program"
# shellcheck disable=SC2086
$USLAB_CC -O2 -shared -fPIC "$work/plugin.c" -o "$work/plugin.so"

# preloaded <program> <emulator's options>...: the program under the drop-in says that all is well.
preloaded() {
	program=$1
	shift
	case $USLAB_EMULATOR in
	qemu-*) set -- $limited $USLAB_EMULATOR "$@" -E "LD_PRELOAD=$USLAB_MALLOC_SO" ;;
	*) set -- env "LD_PRELOAD=$USLAB_MALLOC_SO" ;;
	esac
	said=$("$@" "$work/$program" "$work/plugin.so") || fail "preloaded: $program: $said"
	[ "$said" = ok ] || fail "preloaded: $program: $said"
}
preloaded program
preloaded first
# Machines of this CPU have pages of 4, 16 or 64 KiB. With pages larger than the real ones qemu-user 7.2 knows nothing
# of the end of the loader's last page, where thread-local data lie, and vector instructions (SVE), unlike others, ask
# it: memcpy() stops there, in any program. So a CPU without.
case $USLAB_EMULATOR in
qemu-aarch64*)
	preloaded program -cpu cortex-a57 -p 16384
	preloaded program -cpu cortex-a57 -p 65536 ;;
esac

# As a stranger would link with the library: shared, and the archive in programs of all kinds.
use="$USLAB_SRC/tests/install/use.c"

# links <what> <arguments>...: use.c links and runs.
links() {
	what=$1
	shift
	# shellcheck disable=SC2086
	$USLAB_CC -O2 "-I$USLAB_SRC/include" "$use" "$@" -o "$work/use" 2>"$work/log" ||
		{ cat "$work/log"; fail "$what: does not link"; }
	# shellcheck disable=SC2086
	case $($limited $USLAB_EMULATOR "$work/use") in
	"ok "*) echo "$what: ok" ;;
	*) fail "$what" ;;
	esac
}
archive=$USLAB_LIB/libuslab.a
links shared -L"$USLAB_LIB" -luslab -Wl,-rpath,"$USLAB_LIB"
links "archive, fixed address" "$archive" -no-pie
links "archive, PIE" "$archive" -fPIE -pie
links "archive, static" "$archive" -static
if echo 'int main(void) { return 0; }' | $USLAB_CC -x c -fPIE -static-pie - -o "$work/use" 2>"$work/log"; then
	links "archive, static PIE" "$archive" -fPIE -static-pie
else
	echo "archive, static PIE: skipped: this C library has none: $(head -n 1 "$work/log")"
fi
limited=
links "archive, no limit on addresses" "$archive"
