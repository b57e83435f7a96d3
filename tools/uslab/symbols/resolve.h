/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve.h - names of code addresses in a process or core: function, object, file
 * and line
 *
 * By libdwfl; each address is looked up once and kept.
 */
#ifndef TOOLS_RESOLVE_H
#define TOOLS_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct resolve;

/* A function and a place in it. */
struct resolve_frame {
	const char *function; /* demangled; "" unknown */
	const char *symbol;   /* as the linker knows it */
	const char *file;     /* source file as the debug info says; "" none */
	unsigned int line;    /* 0: none */
	bool of_library;      /* of C++ or Rust: the code is its, wherever it was compiled */
};

/* The part of a file that is mapped around an address. */
struct resolve_mapping {
	const char *path;     /* in the process; "" unknown */
	const char *build_id; /* hexadecimal; "" none */
	uint64_t start, end;
	uint64_t offset; /* of start in the file */
	/* of the address that was asked for, less one, in the file's own terms: for addr2line */
	uint64_t address;
};

struct resolve_name {
	const char *function; /* frame[site]'s; "" unknown */
	const char *object;   /* base name of the file; "" unknown */
	const char *file;     /* frame[site]'s */
	unsigned int line;
	uint64_t offset;  /* of the address in the symbol */
	uint64_t size;	  /* of the symbol; 0: unknown */
	const char *text; /* "symbol+0x1c/0x80 [object]", "path+0x1234 (build-id ...)" or "0x..." */
	const char *pretty; /* the same with the name demangled */
	bool library;	    /* frame[site]'s */
	bool own;	    /* it is in a library of ours */
	/* at least 1: inlined functions, innermost first, then that of the symbol */
	unsigned int nr_frames;
	unsigned int site; /* the innermost one that is not of the library of C++ or Rust */
	const struct resolve_frame *frame;
	struct resolve_mapping mapping;
};

/* Of a running process / of a core file, with arguments as of core_open(). NULL: no memory. */
struct resolve *resolve_process(pid_t pid);
struct resolve *resolve_core(const char *core, const char *program, const char *sysroot);
/* NULL is ignored. */
void resolve_close(struct resolve *r);

/*
 * Says on stderr, once, why code has no names that could have some: its file was deleted or
 * replaced and may not be opened by us, a library of a core is not to be found, there are too few
 * descriptors, or the core lacks what files are known by. Also for NULL.
 */
void resolve_warn(struct resolve *r, const char *command);

/* A return address: the call before it is looked up. Never fails; texts live as long as r. */
const struct resolve_name *resolve_address(struct resolve *r, uint64_t address);

/* One line more than that: "leak.c:42" or "". buf as long as needed. */
const char *resolve_line(const struct resolve_name *name, char *buf, size_t size);
const char *resolve_frame_line(const struct resolve_frame *frame, char *buf, size_t size);

#endif /* TOOLS_RESOLVE_H */
