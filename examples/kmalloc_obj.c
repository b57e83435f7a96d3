/* SPDX-License-Identifier: MIT */
/*
 * examples/kmalloc_obj.c - memory by type
 *
 *   $ cc -O2 kmalloc_obj.c -luslab -o kmalloc_obj
 *   $ ./kmalloc_obj
 *   a line of 3 points, the last is 3,9
 *   all of the others: yes
 *   too many points: NULL
 */
#include <stdio.h>
#include <uslab/slab.h>

struct point {
	int x, y;
};

struct line {
	size_t n;
	struct point points[];
};

static bool others(void)
{
	struct point *p[] = {
		kmalloc_obj(struct point),
		kmalloc_obj(*p[0], GFP_NOWAIT),
		kzalloc_obj(struct point),
		kvmalloc_obj(struct point),
		kvzalloc_obj(struct point),
		kmalloc_objs(struct point, 100),
		kzalloc_objs(struct point, 100, GFP_NOWAIT),
		kvmalloc_objs(struct point, 100000),
		kvzalloc_objs(struct point, 100000),
	};
	struct line *lines[] = {
		kzalloc_flex(struct line, points, 10),
		kvmalloc_flex(struct line, points, 100000),
		kvzalloc_flex(struct line, points, 100000, GFP_KERNEL),
	};
	bool all = true;

	for (int i = 0; i < 9; i++) {
		all = all && p[i];
		kvfree(p[i]);
	}
	for (int i = 0; i < 3; i++) {
		all = all && lines[i];
		kvfree(lines[i]);
	}
	return all;
}

int main(void)
{
	struct line *line = kmalloc_flex(*line, points, 3);

	if (!line)
		return 1;
	line->n = 3;
	for (int i = 0; i < 3; i++)
		line->points[i] =
			(struct point){ i + 1, (i + 1) * (i + 1) };
	printf("a line of %zu points, the last is %d,%d\n", line->n,
	       line->points[2].x, line->points[2].y);
	kfree(line);
	printf("all of the others: %s\n", others() ? "yes" : "no");
	if (!kmalloc_objs(struct point, SIZE_MAX / 4))
		printf("too many points: NULL\n");
	return 0;
}
