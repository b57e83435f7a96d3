/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/command.h - commands to a running process, through its mailbox
 * (cache/control/control.h)
 */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <stdint.h>

#include "command/filtered.h"
#include "inspect/control.h"
#include "process/target.h"

#define COMMAND_WAIT_MS 10000	     /* how long a tool waits by default */
#define COMMAND_STOPPED_WAIT_MS 1000 /* the same, for one that is stopped, unless to_the_end */

struct command_request {
	enum control_command command;
	const char *pattern; /* of names of caches; NULL: those of patterns[] */
	const char *const *patterns;
	unsigned int nr_patterns;
	bool names;	      /* patterns[] are names, whatever debug flags they have */
	const char *argument; /* NULL: "" */
	uint64_t value;
	unsigned int wait_ms; /* 0: by default */
	bool to_the_end;      /* it undoes another one: a signal does not cancel it */
};

/*
 * How many of the first of these patterns one command takes: all of a usual process's caches, and
 * at least one if that is no longer than CONTROL_TEXT.
 */
unsigned int command_fits(const char *const *patterns, unsigned int nr, bool names);

/*
 * Writes the command, has the next malloc() poll the mailbox, and waits for the answer. Other tools
 * that talk to the same process wait for their turn. 0: carried out, *reply says with what result.
 * -ETIMEDOUT: the program did not take the command, which was withdrawn. -EINTR: so it was, because
 * of a signal that ends tools; signals are blocked meanwhile. -ESRCH: that program has ended.
 * -ECANCELED: nothing was done, because the process has added a filter of system calls since it
 * started, which may end it for carrying the command out, and target.force is not set.
 * -ENAMETOOLONG: more patterns than command_fits() says. -EPERM, -EPROTO, ...
 */
int command_send(struct target *t, const struct target_root *root,
		 const struct command_request *request, struct control *reply);

/* The argument of CONTROL_DEFRAG for a sweep of its own. */
void command_new_sweep(char argument[CONTROL_TEXT]);

/*
 * To carry a command out takes system calls; a seccomp filter may kill the process for one that it
 * does not allow. Filters from before the library started do not: os/process/filter.h.
 */
enum filtered command_filtered(const struct target *t, const struct target_root *root);

/* Is the process stopped, by a signal or a debugger? */
bool command_finds_stopped(pid_t pid);

/*
 * A message on stderr if what command_send() returned, or the reply, is an error. EXIT_OK or
 * EXIT_FAILED.
 */
int command_report(struct target *t, const struct target_root *root,
		   const struct command_request *request, int error, const struct control *reply);

/*
 * Both, with a message on stderr for every failure, that says what to do. EXIT_OK or EXIT_FAILED.
 */
int command_perform(struct target *t, const struct target_root *root,
		    const struct command_request *request, struct control *reply);

/*
 * Will the process make caches before it carries out its first command? Its malloc makes that of a
 * size class when that is first used, or then.
 */
bool command_makes_caches(struct target *t, const struct target_root *root);

/*
 * Why a process that was asked for it lacks the library's own thread: "it is a child of fork() in
 * ..."; NULL: it does not, as far as that can be known.
 */
const char *command_lacks_thread(struct target *t, const struct target_root *root);

/*
 * Before patterns are compared with a snapshot: has it make them. *made: it may have made some. As
 * command_perform().
 */
int command_prepare(struct target *t, const struct target_root *root, unsigned int wait_ms,
		    bool *made);

/* The message for -ECANCELED. Returns EXIT_FAILED. */
int command_fail_filtered(const struct target *t, const struct target_root *root);

/*
 * Has the malloc of the process sample allocations, see cache/control/control.h and
 * malloc/sampling.h; no answer is waited for. Between begin and end renew() is to be called each
 * second or so: it renews the lease and sees to it that enough is sampled.
 */
struct command_sampler {
	int fd; /* -1: closed */
	uint64_t control;
	uint64_t kick;		     /* 0: every malloc() polls anyway */
	const struct reader *reader; /* for the process's clock */
	/* when the mean was last adjusted, and how much was sampled then */
	uint64_t checked;
	uint64_t sampled;
	bool forever; /* a tool with --keep began it: it is no lease */
	bool began;   /* no tool sampled before */
	bool broken;  /* between two renewals nothing was sampled for a while */
};

/*
 * Begins to sample. 0; -EOPNOTSUPP: that library has nothing that samples;
 * -ECANCELED: see above; -errno.
 */
int command_sampler_open(struct command_sampler *sampler, const struct target *t,
			 const struct target_root *root);
/* 0; -ESRCH: the program has ended. */
int command_sampler_renew(struct command_sampler *sampler);
enum command_sampler_end {
	COMMAND_SAMPLER_STOP,
	COMMAND_SAMPLER_LEAVE, /* to the tool that had begun it */
	COMMAND_SAMPLER_KEEP,  /* the process goes on sampling, without a tool */
};

/* A sampler with fd -1: nothing happens. */
void command_sampler_close(struct command_sampler *sampler, enum command_sampler_end end);

#endif /* TOOLS_COMMAND_H */
