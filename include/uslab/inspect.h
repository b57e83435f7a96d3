/* SPDX-License-Identifier: MIT */
/*
 * uslab/inspect.h - the caches of a process, core file or kernel, as `uslab info` sees them
 *
 * A library of its own (-luslab_inspect), made of the same parts as the command. It reads; it
 * changes nothing, and needs nothing of the process that it reads. What may be read of whom is as
 * for uslab-info(1). Python's module uslab is made of it: docs/languages.md.
 */
#ifndef USLAB_INSPECT_H
#define USLAB_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

#define USLAB_API __attribute__((__visibility__("default")))

/**
 * struct uslab_inspect_source - whose caches; one of pid, core and tree is set, the others are 0
 * @pid:     a process that uses uslab
 * @core:    a core file of one
 * @tree:    a folder like /sys/kernel/slab; "": the running kernel's
 * @program: of a core: the program that left it; NULL: the file that the core names
 * @library: of several copies of uslab in one process, the one in a file that is named like this;
 *           NULL: the one with the largest arena
 * @sysroot: of a core: the folder in which the files lie that it names; NULL: the root
 */
struct uslab_inspect_source {
	int pid;
	const char *core;
	const char *tree;
	const char *program;
	const char *library;
	const char *sysroot;
};

/**
 * uslab_inspect_json - what `uslab info --json` prints of it, a text that ends with a newline
 * @messages: set to what the command would say on stderr, one message a line, without its name; to
 *            NULL if it would say nothing. May be NULL
 *
 * Returns NULL if it cannot be read, or memory is out: *messages says why, unless there was no
 * memory for that either. Both texts are the caller's, who frees them by free(). Any thread may
 * call this at any time; signal handlers may not.
 */
USLAB_API char *uslab_inspect_json(const struct uslab_inspect_source *source, char **messages)
	__attribute__((__warn_unused_result__, __nonnull__(1)));

#ifdef __cplusplus
}
#endif

#endif /* USLAB_INSPECT_H */
