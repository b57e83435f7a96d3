/* SPDX-License-Identifier: MIT */
/*
 * examples/kstrdup.c - copies of strings, and of memory
 *
 *   $ cc -O2 kstrdup.c -luslab -o kstrdup
 *   $ ./kstrdup
 *   one, tw, three!
 *   disk 3, disk 4
 *   the constant was not copied, the variable was
 *   copies of memory: equal
 */
#include <stdio.h>
#include <string.h>
#include <uslab/kstring.h>

static const char driver[] = "driver";

__attribute__((__format__(__printf__, 1, 2))) static char *
name_of(const char *format, ...)
{
	va_list args;
	char *name;

	va_start(args, format);
	name = kvasprintf(GFP_KERNEL, format, args);
	va_end(args);
	return name;
}

__attribute__((__format__(__printf__, 1, 2))) static const char *
const_name_of(const char *format, ...)
{
	va_list args;
	const char *name;

	va_start(args, format);
	name = kvasprintf_const(GFP_KERNEL, format, args);
	va_end(args);
	return name;
}

static int strings(void)
{
	char *one = kstrdup("one", GFP_KERNEL);
	char *two = kstrndup("two", 2, GFP_KERNEL);
	char *three = kmemdup_nul("three!!", 6, GFP_KERNEL);
	char *disk3 = kasprintf(GFP_KERNEL, "disk %d", 3);
	char *disk4 = name_of("disk %d", 4);

	if (!one || !two || !three || !disk3 || !disk4)
		return 1;
	printf("%s, %s, %s\n%s, %s\n", one, two, three, disk3, disk4);
	kfree(disk4);
	kfree(disk3);
	kfree(three);
	kfree(two);
	kfree(one);
	return 0;
}

static int constants(void)
{
	char variable[] = "variable";
	const char *same = kstrdup_const(driver, GFP_KERNEL);
	const char *copy = kstrdup_const(variable, GFP_KERNEL);
	const char *also = const_name_of("%s", driver);

	if (same != driver || also != driver || !copy || copy == variable)
		return 1;
	printf("the constant was not copied, the variable was\n");
	kfree_const(also); /* does nothing */
	kfree_const(copy);
	kfree_const(same);
	return 0;
}

static int memory(void)
{
	const int numbers[] = { 1, 2, 3 };
	void *copies[] = { kmemdup(numbers, sizeof(numbers), GFP_KERNEL),
			   kvmemdup(numbers, sizeof(numbers), GFP_KERNEL),
			   kmemdup_array(numbers, 3, 4, GFP_KERNEL) };

	for (int i = 0; i < 3; i++) {
		if (!copies[i] || memcmp(copies[i], numbers, 12))
			return 1;
		kvfree(copies[i]);
	}
	printf("copies of memory: equal\n");
	return 0;
}

int main(void)
{
	return strings() || constants() || memory();
}
