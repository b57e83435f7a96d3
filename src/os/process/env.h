/* SPDX-License-Identifier: MIT */
/*
 * os/process/env.h - text from the environment: "key=value,key=value"
 *
 * Data:       none; reads secure_getenv() each time.
 * Invariants: no allocation; works before any constructor ran.
 * Locks:      none.
 * Flow:       called by cache/, debug/ and, for sizes, tools/uslab/fs/fs_store.c.
 */
#ifndef OS_ENV_H
#define OS_ENV_H

#include "base/compiler.h"

/* The variable's text or NULL; NULL in a set-user-ID program, and where it is another program's. */
const char *os_env(const char *name);

/*
 * Are variables for this process? They are; the command says no where it only becomes another
 * program, whose library reads them, and reports mistakes in them (tools/uslab/run/cmd_run.c).
 * Called before any constructor.
 */
bool os_env_is_ours(void);

#define OS_ENV_WHY_BYTES 1024

struct os_env_reader {
	/* false: the pair is of no use */
	bool (*set)(const char *key, const char *value, void *arg);
	/* what is wrong with it, after that; NULL: nobody knows */
	void (*explain)(char why[OS_ENV_WHY_BYTES], const char *key, const char *value);
	void *arg;
};

/*
 * Calls set for each pair of a "key=value,key=value" text, in order, with NUL-terminated copies of
 * at most 127 bytes each; "key" alone gives value "". A pair that is refused or too long is
 * reported once by os_say(), with the reason, and skipped. Never aborts.
 */
void os_env_pairs(const char *name, const struct os_env_reader *reader);

/* "64", "16k", "1M", "2g" -> bytes. false for anything else or overflow. */
bool os_parse_size(const char *text, size_t *bytes);

#endif /* OS_ENV_H */
