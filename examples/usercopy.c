/* SPDX-License-Identifier: MIT */
/*
 * examples/usercopy.c - only the name of an account may leave the program
 *
 *   $ cc -O2 usercopy.c -luslab -o usercopy
 *   $ ./usercopy
 *   the name: Success
 *   the password: Permission denied
 *   more than there is: Bad address
 *   a variable: No such file or directory
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

struct account {
	char name[32];
	char password[32];
};

static void ask(const char *what, const void *p, size_t size)
{
	printf("%s: %s\n", what, strerror(-uslab_check_object(p, size)));
}

int main(void)
{
	struct kmem_cache *accounts = KMEM_CACHE_USERCOPY(account, 0, name);
	struct kmem_cache *same = kmem_cache_create_usercopy(
		"same", sizeof(struct account), 0, 0, 0, 32, NULL);
	struct account *a;

	if (!accounts || !same)
		return 1;
	a = kmem_cache_zalloc(accounts, GFP_KERNEL);
	if (!a)
		return 1;
	ask("the name", a->name, sizeof(a->name));
	ask("the password", a->password, sizeof(a->password));
	ask("more than there is", a->name, 1000);
	ask("a variable", &a, sizeof(a));
	kmem_cache_free(accounts, a);
	kmem_cache_destroy(same);
	kmem_cache_destroy(accounts);
	return 0;
}
