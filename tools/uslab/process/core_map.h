/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/core_map.h - the memory that a core file describes: what is in it,
 * and which files were mapped
 *
 * The file is not trusted: every offset and count is checked against its size.
 */
#ifndef TOOLS_CORE_MAP_H
#define TOOLS_CORE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A piece of memory; its first `dumped` bytes are at an offset of the core
 * file, or were to be there.
 */
struct core_segment {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t dumped;
	uint64_t there; /* of these; less where the file is truncated */
	bool writable;
	bool unwritten; /* memory of no file that was never written to: zero, and left out */
};

struct core_object;

/* A file that was mapped. */
struct core_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	struct core_object *object;
};

struct core_object {
	const char *path;
	const struct core_segment *head; /* begins with its first bytes; NULL: the core has none */
	bool lost;    /* cannot be opened, or is not what was mapped; false: not known yet */
	bool changed; /* there is a file of that name, and it is another one */
};

struct core_map {
	int fd;
	uint64_t size;		      /* of the file */
	uint64_t notes_size;	      /* of all that were read */
	struct core_segment *segment; /* by address, none over another one */
	size_t nr_segments;
	struct core_mapping *mapping; /* by address */
	size_t nr_mappings;
	struct core_object *object;
	size_t nr_objects;
	char *names;		     /* of the objects */
	struct core_object *program; /* the main one; NULL: not known */
	const char *program_file;    /* to be read in its place; NULL: none */
	int root; /* the folder that files are looked for in; -1: that of this process */
	const struct core_object *opened; /* one at a time; NULL: none */
	int opened_fd;
	uint64_t entry; /* address where the program begins; 0: not known */
	pid_t pid;
	char name[32];	     /* of the program; printable */
	uint64_t missing;    /* bytes that the core should have and does not */
	uint64_t dropped;    /* mapped files that are not looked at: too many, or without a name */
	bool no_descriptors; /* there were too few to open a mapped file */
};

/*
 * Reads headers and notes of the core. NULL, or why it cannot be read. core_map_close() in any
 * case.
 */
const char *core_map_open(struct core_map *map, const char *file);
void core_map_close(struct core_map *map);

/*
 * Before any mapped file is asked for: a folder in which those lie that the core names; NULL: they
 * lie where it says. NULL, or why it is none.
 */
const char *core_map_set_root(struct core_map *map, const char *folder);

/*
 * Finds the main program. file, if not NULL, is read in its place, and must stay valid. NULL, or
 * why not: only a file that is not that program.
 */
const char *core_map_set_program(struct core_map *map, const char *file);

/* Is it the main program, for which a file was given? That is looked for in no other folder. */
bool core_map_is_given(const struct core_map *map, const struct core_object *object);

/* Of an object that is lost: why, as the rest of a sentence. */
const char *core_map_why_lost(const struct core_map *map, const struct core_object *object);

/*
 * A descriptor of a mapped file, until another one is asked for or core_map_read() is called; -1:
 * there is none, see struct core_object.
 */
int core_map_object_fd(struct core_map *map, struct core_object *object);

/* The mapped file at an address; NULL: none. */
const struct core_mapping *core_map_mapping(const struct core_map *map, uint64_t addr);

/* Is that byte in the core itself, or was it to be? Else it is read elsewhere, or not at all. */
bool core_map_has(const struct core_map *map, uint64_t addr);

/* As struct reader's: 0 or -EFAULT. ctx is the struct core_map. */
int core_map_read(void *ctx, uint64_t addr, void *buf, size_t len);

#endif /* TOOLS_CORE_MAP_H */
