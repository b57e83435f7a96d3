/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs.h - the parts of `uslab fs`: the caches of a process as the kernel's files
 *
 * The tree is laid out so that it can stand in for /sys, with /proc/slabinfo beside it:
 *
 *     kernel/slab/NAME/ATTRIBUTE              spec 6.3; links for the names of merged caches
 *     kernel/debug/slab/NAME/alloc_traces     spec 6.4; caches with stored users; and free_traces
 *     proc/slabinfo                           spec 9.1
 *     proc/allocinfo                          allocation profiling
 *     proc/memory                             resident memory by kind
 *     proc/numastat                           what each node has, and where pages were found
 *     proc/sys/vm/mem_profiling               0 or 1: whether it is on
 *     groups/NUMBER-NAME/usage                accounting groups; limit, peak, events and so on
 *
 * Everything comes from one snapshot, which is made anew when a request comes
 * and it is no longer fresh.
 */
#ifndef TOOLS_FS_H
#define TOOLS_FS_H

#include <stdio.h>
#include <sys/stat.h>

#include "command/command.h"
#include "distinct.h"
#include "inspect/cpu_stats.h"
#include "inspect/snapshot.h"
#include "symbols/resolve.h"
#include "process/source.h"
#include "info/traces.h"

#define FS_COMMAND "fs"
#define FS_FRESH_NS 100000000ull /* a snapshot serves all who ask within this time */
#define FS_FILE_MAX 4095	 /* bytes: the kernel's slabinfo reads into a buffer of 4096 */
#define FS_FILE_SIZE 4096	 /* what stat() says of an attribute, as sysfs does */
#define FS_MAX_LISTED 2000	 /* folders that the kernel's slabinfo has room for */
#define FS_MAX_LINKS 500	 /* links, likewise */
#define FS_WAIT_MS 3000		 /* for the process to carry out what was written */

/* ---- fs_names.c: names of folders and links -------------------------------------------------- */

#define FS_NAME_MAX DISTINCT_NAME_MAX
#define FS_MAX_ENTRIES DISTINCT_MAX

/* Names of all folders and links of a snapshot; a link is a further name of its cache. */
void fs_names_make(struct distinct *names, const struct snapshot *s);
/* The first words of the lines of slabinfo: one for each cache, without blanks. */
void fs_names_words(struct distinct *names, const struct snapshot *s);

/* ---- the mounted process --------------------------------------------------------------------- */

struct fs {
	struct source source;
	struct snapshot *s;
	struct distinct *names;
	struct cpu_stats *cpus; /* of one cache, for the file that is being made */
	uint64_t taken_ns;	/* when the snapshot was begun; 0: there is none, or it is old */
	uint64_t took_ns;
	uint64_t serial;	 /* of the snapshot */
	bool read_only;		 /* a core */
	bool gone;		 /* the process has ended */
	bool warned_cut;	 /* there are more names than slabinfo takes */
	struct resolve *resolve; /* NULL: nothing was to be resolved so far */
	struct fs_file *files;	 /* that are open, see fs_serve.c */
	time_t mounted;
	uid_t uid;
	gid_t gid;
};

/* fs_snapshot.c: EXIT_OK, or EXIT_FAILED after saying why not. The process is looked at once. */
int fs_open(struct fs *fs, const struct source_options *options);
/* Only after fs_open() has returned EXIT_OK. */
void fs_close(struct fs *fs);
/* Makes a new snapshot if it is time to. 0; -EIO: the process has ended or cannot be read. */
int fs_refresh(struct fs *fs);
/* NULL: no memory. */
struct resolve *fs_resolve(struct fs *fs);

/* ---- fs_attr.c: the files of a cache's folder ------------------------------------------------ */

struct fs_attribute;

/* How a text that was written becomes a command. */
enum fs_store {
	FS_READ_ONLY,
	FS_STORE_NUMBER,   /* any unsigned long */
	FS_STORE_BYTES,	   /* the same, or as 64k, 1M, 2G, 1T */
	FS_STORE_UINT,	   /* any unsigned int */
	FS_STORE_OBJECTS,  /* likewise; only 0 while debugging */
	FS_STORE_PERCENT,  /* 0 to 100, else ERANGE */
	FS_STORE_CAPACITY, /* a number that fits, or "default" */
	FS_STORE_FLAG,	   /* '1' sets a debug flag, all else clears it */
	FS_STORE_BIT,	   /* '0' or '1' */
	FS_STORE_ZERO,	   /* '0' */
	FS_STORE_SHRINK,   /* '1' */
	FS_STORE_VALIDATE, /* '1', on debug caches */
	FS_STORE_DEFRAG,   /* microseconds, where objects move */
};

struct fs_attribute {
	const char *name;
	/* 0 or -errno. value, node: what it needs to know */
	int (*show)(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a);
	unsigned long value;
	unsigned long node;
	enum fs_store store;
	char letter; /* FS_STORE_FLAG */
};

/* Number i; NULL behind the last. */
const struct fs_attribute *fs_attribute(unsigned int i);
/* NULL: no file of that name. */
const struct fs_attribute *fs_attribute_find(const char *name);
/* Of a row that is no cache, of a core: nothing can be written. */
mode_t fs_attribute_mode(const struct fs *fs, unsigned int cache, const struct fs_attribute *a);

/* ---- fs_store.c: what is written ------------------------------------------------------------- */

struct fs_request {
	enum control_command command;
	uint64_t value;
	char pattern[CONTROL_TEXT]; /* names exactly one cache, or caches of one name */
	char argument[CONTROL_TEXT];
};

/* 0; -EINVAL, -ERANGE: as the kernel says to such a text; -ENAMETOOLONG. */
int fs_store_parse(const struct fs_attribute *a, const struct snapshot_cache *c, const char *text,
		   size_t size, struct fs_request *request);
/*
 * The same for a line written to slabinfo (spec 9.2). 1: accepted, and nothing is to be done; -EIO.
 */
int fs_tune_parse(const struct snapshot *s, const char *text, size_t size,
		  struct fs_request *request);
/* The same for "0" or "1" written to mem_profiling. */
int fs_profiling_parse(const char *text, size_t size, struct fs_request *request);
/* Of that cache of the last snapshot: false if the process may lack the memory (need.h). */
bool fs_store_fits(const struct fs *fs, unsigned int cache, const struct fs_request *request);
/* Has the process do it. 0 or -errno. */
int fs_store_send(struct fs *fs, const struct fs_request *request);

/* ---- fs_slabinfo.c --------------------------------------------------------------------------- */

/* The whole of it. 0 or -errno. */
int fs_slabinfo(FILE *out, const struct snapshot *s);
/* A line for each number of nodes, its name first; nothing with one node. Returns 0. */
int fs_numastat(FILE *out, const struct snapshot *s);
/* Has a cache queues, so that limits can be written? */
bool fs_slabinfo_tunable(const struct snapshot *s);

/* ---- fs_groups.c: accounting groups ---------------------------------------------------------- */

/* File number i of each group; NULL behind the last. */
const char *fs_group_file(unsigned int i);
/* 0; -ENOENT: there is no such group any more; -errno. */
int fs_group_content(FILE *out, const struct fs *fs, unsigned int id, unsigned int file);
/* Calls visit for each, with the name of its folder; one that returns true ends it. */
void fs_groups_each(const struct fs *fs,
		    bool (*visit)(const char *name, unsigned int id, void *arg), void *arg);

/* ---- fs_tree.c: paths ------------------------------------------------------------------------ */

enum fs_kind {
	FS_NOTHING,
	FS_FOLDER,
	FS_CACHE,
	FS_LINK,
	FS_ATTRIBUTE,
	FS_TRACES,
	FS_SLABINFO,
	FS_ALLOCINFO,
	FS_MEMORY,
	FS_NUMASTAT,
	FS_PROFILING,
	FS_GROUP,
	FS_GROUP_FILE
};

struct fs_node {
	enum fs_kind kind;
	unsigned int level; /* FS_FOLDER: which */
	unsigned int cache;
	const struct fs_attribute *attribute;
	enum track_item item;
	bool debug;	    /* FS_CACHE: below kernel/debug */
	unsigned int group; /* its number */
	unsigned int file;  /* FS_GROUP_FILE: as for fs_group_file() */
};

/* Of the present snapshot; path begins with '/'. FS_NOTHING: no such file. */
struct fs_node fs_tree_find(const struct fs *fs, const char *path);
/* As lstat() would of that file. */
void fs_tree_stat(const struct fs *fs, const struct fs_node *node, struct stat *st);
/* Calls visit for each name in a folder, "." and ".." not; a visit that returns true ends it. */
void fs_tree_list(struct fs *fs, const struct fs_node *node,
		  bool (*visit)(const char *name, const struct fs_node *node, void *arg),
		  void *arg);
/* What is in a file: *text of *size bytes, to be freed. 0 or -errno. */
int fs_tree_content(struct fs *fs, const struct fs_node *node, char **text, size_t *size);
/* Where a link leads. */
const char *fs_tree_target(const struct fs *fs, const struct fs_node *node);
/* What was written to a file. 0 or -errno. */
int fs_tree_write(struct fs *fs, const struct fs_node *node, const char *text, size_t size);

/* ---- fs_serve.c ------------------------------------------------------------------------------ */

/* Mounts on a folder and serves until it is unmounted, a signal comes or the process ends. */
int fs_serve_folder(struct fs *fs, const char *folder, bool foreground);
/*
 * Serves what is mounted through that descriptor of /dev/fuse, until the child ends; signals that
 * would end us go to it. The child's status as of waitpid(), or -errno and the child lives on.
 */
int fs_serve_child(struct fs *fs, int device, pid_t child);

/* ---- fs_copy.c: the tree as it is now, for where it cannot be mounted ------------------------ */

struct fs_copy {
	char *path; /* with '/' first */
	mode_t mode;
	char *text; /* of a file; of a link where it leads; else NULL */
	size_t size;
	struct fs_copy *next;
};

/* All folders and files, folders before what is in them. NULL and *error: -errno. */
struct fs_copy *fs_copy_take(struct fs *fs, int *error);
/* Makes the same below a folder. 0 or -errno. */
int fs_copy_fill(const struct fs_copy *copy, const char *folder);
/* The whole list; NULL is ignored. */
void fs_copy_free(struct fs_copy *copy);

/* ---- fs_namespace.c -------------------------------------------------------------------------- */

/* Runs a command in a mount namespace of its own, with the files in place of the kernel's. */
int fs_enter(struct fs *fs, char **command);

#endif /* TOOLS_FS_H */
