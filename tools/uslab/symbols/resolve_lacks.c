/* SPDX-License-Identifier: MIT */
/*
 * uslab/symbols/resolve_lacks.c - why code has no names: noted while they are looked up, said once
 *
 * Flow:       called by resolve.c and resolve_core.c; calls util.c, which knows what it said
 *             before. In: errors of opening files; out: text on stderr.
 */
#include "symbols/resolve_lacks.h"

#include <errno.h>
#include <stdio.h>

#include "process/mapped_file.h"
#include "util.h"

#define SYSROOT "--sysroot=DIR, the folder of all files"

void resolve_lacks_note(struct resolve_lacks *lacks, int error, const char *file)
{
	lacks->descriptors |= error == -EMFILE || error == -ENFILE;
	if ((error == -EPERM || error == -EACCES) && !*lacks->closed)
		snprintf(lacks->closed, sizeof(lacks->closed), "%s", file);
}

void resolve_lacks_note_lost(struct resolve_lost *lost, const char *file, const char *why,
			     bool in_root)
{
	if (*lost->file)
		return;
	snprintf(lost->file, sizeof(lost->file), "%s", file);
	lost->why = why;
	lost->in_root = in_root;
}

/* options: that say where it is; "": none does. */
static void say_lost(const struct resolve_lost *lost, const char *command, const char *options)
{
	if (*lost->file)
		util_warn(command, "%s %s, and code in it has no names%s%s", lost->file, lost->why,
			  *options ? "; if it is elsewhere: " : "", options);
}

void resolve_lacks_say(const struct resolve_lacks *lacks, const char *command)
{
	bool deleted;

	if (*lacks->closed)
		util_warn(command,
			  "%.*s is not the file that is in use any more, and to read that takes "
			  "CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE: code in it has no names",
			  (int)mapped_file_length(lacks->closed, &deleted), lacks->closed);
	say_lost(&lacks->program, command,
		 lacks->program.in_root ? "--program=FILE" : "--program=FILE, or " SYSROOT);
	say_lost(&lacks->library, command, lacks->library.in_root ? "" : SYSROOT);
	if (lacks->descriptors)
		util_warn(command, "too few file descriptors (ulimit -n): names of functions are "
				   "missing");
	if (lacks->headers)
		util_warn(command,
			  "the core lacks the first pages of ELF files (bit 4 of "
			  "/proc/PID/coredump_filter), by which these are known: their code has no "
			  "names, but a file and an address in it");
}
