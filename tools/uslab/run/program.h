/* SPDX-License-Identifier: MIT */
/*
 * uslab/run/program.h - an executable file: where it is, and whether LD_PRELOAD has an effect on it
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The file that execvp(name) would run. false: none. */
bool program_find(const char *name, char *path, size_t size);

/*
 * Why another malloc in LD_PRELOAD would not become this program's; NULL: it would.
 * *fatal: with LD_PRELOAD set the program would not even start, or not work. The text is
 * good until the next call.
 */
const char *program_ignores_preload(const char *path, bool *fatal);

#endif /* TOOLS_PROGRAM_H */
