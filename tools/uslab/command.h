/* SPDX-License-Identifier: MIT */
/*
 * uslab/command.h - commands to a running process, through its mailbox (cache/control.h)
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdint.h>

#include "report/control.h"
#include "target.h"

#define COMMAND_WAIT_MS 10000 /* how long a tool waits by default */

struct command_request {
	enum control_command command;
	const char *pattern;
	const char *argument; /* NULL: "" */
	uint64_t value;
	unsigned int wait_ms;
	bool to_the_end; /* it undoes another one: a signal does not break it off */
};

/*
 * Writes the command, brings the next malloc() to it, and waits for the answer. Other tools that talk to the
 * same process wait for their turn. 0: carried out, *reply says with what result. -ETIMEDOUT: the program did
 * not come by; the command was taken back. -EINTR: so it was, because of a signal that ends tools; those wait
 * meanwhile. -ESRCH: that program has ended. -EPERM, -EPROTO, ...
 */
int command_send(struct target *t, const struct target_root *root,
		 const struct command_request *request, struct control *reply);

/*
 * The same, with a message on stderr for whatever went wrong, that says what to do. EXIT_OK or EXIT_FAILED.
 */
int command_perform(struct target *t, const struct target_root *root,
		    const struct command_request *request, struct control *reply);

/* Picks the next allocation of a sampled cache of the drop-in, see cache/control.h; no answer is waited for. */
struct command_picker {
	int fd; /* -1: closed */
	uint64_t kick;
};

/* 0; -EOPNOTSUPP: that library has nothing to pick by; -errno. */
int command_picker_open(struct command_picker *picker, const struct target *t,
			const struct target_root *root);
void command_picker_close(struct command_picker *picker);
/* 0; -ESRCH: the program has ended. */
int command_pick(const struct command_picker *picker);

#endif /* TOOLS_COMMAND_H */
