#!/bin/sh
# SPDX-License-Identifier: MIT
#
# dropin_test.sh - libuslab_malloc.so under a program of another CPU or C library, and libuslab.so
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "dropin_test: $*"; exit 1; }

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

int main(void)
{
	pthread_t thread[3];
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
# shellcheck disable=SC2086
$USLAB_CC -O2 "$work/program.c" -pthread -ldl -o "$work/program"
case $USLAB_EMULATOR in
qemu-*) set -- $USLAB_EMULATOR -E "LD_PRELOAD=$USLAB_MALLOC_SO" ;;
*) set -- env "LD_PRELOAD=$USLAB_MALLOC_SO" ;;
esac
said=$("$@" "$work/program") || fail "preloaded: $said"
[ "$said" = ok ] || fail "preloaded: $said"

# As a stranger would link with the library: shared and static.
$USLAB_CC -O2 "-I$USLAB_SRC/include" "$USLAB_SRC/tests/install/use.c" -L"$USLAB_LIB" -luslab \
	-Wl,-rpath,"$USLAB_LIB" -o "$work/shared"
$USLAB_CC -O2 "-I$USLAB_SRC/include" "$USLAB_SRC/tests/install/use.c" "$USLAB_LIB/libuslab.a" -o "$work/archive"
$USLAB_CC -O2 -static "-I$USLAB_SRC/include" "$USLAB_SRC/tests/install/use.c" "$USLAB_LIB/libuslab.a" \
	-o "$work/static" 2>"$work/log" || { cat "$work/log"; fail "does not link statically"; }
for program in shared archive static; do
	case $($USLAB_EMULATOR "$work/$program") in
	"ok "*) echo "$program: ok" ;;
	*) fail "$program" ;;
	esac
done
