/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/command.c - commands to a running process, through its mailbox
 *
 * Why:        docs/adr/0014, docs/adr/0030.
 * Data:       the struct control of the process, and its uslab_root; none here.
 * Invariants: a command is posted only by the tool that has the lock; one that this tool has
 *             withdrawn is not carried out later.
 * Locks:      flock() on /proc/PID/mem, against other tools; INT, TERM, HUP and QUIT are blocked
 *             while it is held. Without that file the state of the mailbox alone keeps tools apart,
 *             as it does tools that take the files of different threads (process/live.h).
 *             Fields for sampling are written without a lock.
 * Flow:       called by cmd_debug.c, cmd_defrag.c, debug_capacity.c, debug_profiling.c,
 *             command_messages.c, fs/fs_store.c, top/top_keys.c and track/; calls filtered.c first,
 *             and command_messages.c (is the process stopped?), then writes the mailbox and polls
 *             its state; process/live.c names the file.
 *             cache/control/control.c is the other end. In: struct command_request; out: the answer
 *             in struct control, or -errno.
 *
 * The lock ends with the tool that holds it. So whoever has it may take over what a tool that was
 * killed left in the mailbox; only a command that the process is carrying out is waited for.
 *
 * A command that the process did not take in time is withdrawn in two steps, because the process
 * may take it at that very moment: first it is made to do nothing, then, if it is still there, it
 * is removed. So is one that was left by a tool that was killed, and this tool's own if a signal
 * ends it.
 */
#define _GNU_SOURCE
#include "command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "process/live.h"
#include "util.h"

/* Sampling: the least number of objects. */
#define ADJUST_MS 500u
#define FEW_PER_SECOND 1000u
#define FIRST_MEAN 10u

#define GRACE_MS 10000u /* for a command that is being carried out when the time is up */

struct mailbox {
	struct target *target;
	uint64_t address; /* of struct control */
	uint64_t kick;	  /* of the drop-in's limit; 0: there is none */
	int fd;		  /* /proc/PID/mem, locked; or -1 */
	bool writable;
	uint64_t deadline;
	unsigned int naps;
	sigset_t held; /* signals that are blocked until the mailbox is idle */
	bool patient;  /* these signals do not end the wait */
};

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Is a signal pending that ends this tool? */
static bool is_interrupted(const struct mailbox *box)
{
	sigset_t pending;

	return !sigpending(&pending) && !sigandset(&pending, &pending, &box->held) &&
	       !sigisemptyset(&pending);
}

void command_new_sweep(char argument[CONTROL_TEXT])
{
	snprintf(argument, CONTROL_TEXT, "%llu",
		 (unsigned long long)(now_ms() << 20 | (uint64_t)getpid()) & INT64_MAX);
}

/* Sleeps 1 ms at first, later 10. false: the time is up. */
static bool nap(struct mailbox *box)
{
	struct timespec pause = { 0, (box->naps < 20 ? 1 : 10) * 1000000l };

	if (now_ms() >= box->deadline || (!box->patient && is_interrupted(box)))
		return false;
	box->naps++;
	nanosleep(&pause, NULL);
	return true;
}

/* ---- memory of the process ------------------------------------------------------------------- */

/*
 * /proc/PID/mem is of the program that runs now: if the process executes another one meanwhile,
 * writes have no effect. With a main thread that has ended it is another thread's file, of the same
 * memory.
 */
static int open_memory(pid_t pid, int flags)
{
	char path[LIVE_PATH];

	return open(live_path(path, pid, "mem"), flags | O_CLOEXEC);
}

/* The result of pread() or pwrite() of that file as 0 or -errno. */
static int file_result(ssize_t n, size_t len)
{
	if (n == (ssize_t)len)
		return 0;
	if (n == 0)
		return -ESRCH; /* the file outlives the memory */
	return n < 0 && errno != EIO && errno != EINVAL ? -errno : -EFAULT;
}

/* From the same program that is written to, if possible. */
static int read_memory(const struct mailbox *box, uint64_t address, void *buf, size_t len)
{
	if (box->writable)
		return file_result(pread(box->fd, buf, len, (off_t)address), len);
	return reader_read(&box->target->remote.reader, address, buf, len);
}

static int write_memory(const struct mailbox *box, uint64_t address, const void *buf, size_t len)
{
	struct iovec from = { (void *)(uintptr_t)buf, len };
	struct iovec to = { (void *)(uintptr_t)address, len };
	ssize_t n;

	if (box->writable)
		return file_result(pwrite(box->fd, buf, len, (off_t)address), len);
	n = process_vm_writev(live_thread(box->target->pid), &from, 1, &to, 1, 0);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

static int read_control(const struct mailbox *box, struct control *control)
{
	int ret = read_memory(box, box->address, control, sizeof(*control));

	if (ret)
		return ret;
	/* strings of other processes are printed: NUL at the end, printable */
	control->failed_name[CONTROL_TEXT - 1] = '\0';
	for (char *p = control->failed_name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return control->size == sizeof(*control) && control->state <= CONTROL_DONE ? 0 : -EPROTO;
}

static int write_state(const struct mailbox *box, uint32_t state)
{
	return write_memory(box, box->address + offsetof(struct control, state), &state,
			    sizeof(state));
}

/* Everything of a command but size, state and serial. */
static int write_body(const struct mailbox *box, const struct control *control)
{
	size_t from = offsetof(struct control, command);
	size_t middle = offsetof(struct control, serial);
	size_t behind = offsetof(struct control, argument);
	int ret =
		write_memory(box, box->address + from, (const char *)control + from, middle - from);

	return ret ? ret
		   : write_memory(box, box->address + behind, (const char *)control + behind,
				  sizeof(*control) - behind);
}

/* ---- the lock -------------------------------------------------------------------------------- */

/*
 * box->fd: the descriptor whose close releases the lock, or -1. If there is no such file, or it
 * cannot be locked, only the state of the mailbox excludes other tools. 0, -EBUSY or -ESRCH.
 */
static int lock_mailbox(struct mailbox *box)
{
	box->fd = open_memory(box->target->pid, O_RDWR);
	box->writable = box->fd >= 0;
	if (box->fd < 0)
		box->fd = open_memory(box->target->pid, O_RDONLY);
	if (box->fd < 0)
		return errno == ENOENT ? -ESRCH : 0;
	while (flock(box->fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return 0;
		if (!nap(box))
			return -EBUSY;
	}
	return 0;
}

/* ---- one command ----------------------------------------------------------------------------- */

/* Is that still the library that was found? The PID may be another program's by now. */
static int open_mailbox(struct mailbox *box, const struct target_root *root)
{
	struct uslab_root found;
	int ret = read_memory(box, root->address, &found, sizeof(found));

	if (ret)
		return ret;
	if (found.magic != USLAB_ROOT_MAGIC || found.version != USLAB_ROOT_VERSION ||
	    found.control_size != sizeof(struct control))
		return -EPROTO;
	box->address = found.control;
	box->kick = found.kick;
	return found.control ? 0 : -EOPNOTSUPP;
}

/*
 * A name as a pattern that means nothing else. Returns its bytes with the NUL; more than size:
 * nothing of it is to be used. to: NULL, or that many bytes.
 */
static size_t put_pattern(char *to, size_t size, const char *text, bool name)
{
	size_t n = 0;

	for (; *text && n < size; text++) {
		if (name && strchr("*?[]\\", *text)) {
			if (to)
				to[n] = '\\';
			n++;
		}
		if (to && n < size)
			to[n] = *text;
		n++;
	}
	if (to && n < size)
		to[n] = '\0';
	return n + 1;
}

unsigned int command_fits(const char *const *patterns, unsigned int nr, bool names)
{
	size_t left = CONTROL_PATTERNS - 1; /* an empty one is behind them */
	unsigned int i;

	for (i = 0; i < nr; i++) {
		size_t size = put_pattern(NULL, left, patterns[i], names);

		if (size > left)
			break;
		left -= size;
	}
	return i;
}

/* They fit. */
static void put_patterns(char to[CONTROL_PATTERNS], const struct command_request *request)
{
	const char *const *patterns = request->pattern ? &request->pattern : request->patterns;
	unsigned int nr = request->pattern ? 1 : request->nr_patterns;
	size_t at = 0;

	memset(to, 0, CONTROL_PATTERNS);
	for (unsigned int i = 0; i < nr; i++)
		at += put_pattern(to + at, CONTROL_PATTERNS - at, patterns[i],
				  request->names && !request->pattern);
}

static bool fits(const struct command_request *request)
{
	if (request->argument && strlen(request->argument) >= CONTROL_TEXT)
		return false;
	return request->pattern ? command_fits(&request->pattern, 1, false)
				: command_fits(request->patterns, request->nr_patterns,
					       request->names) == request->nr_patterns;
}

static int kick(const struct mailbox *box)
{
	uint64_t zero[2] = { 0 };

	return box->kick ? write_memory(box, box->kick, zero, sizeof(zero)) : 0;
}

static int post(struct mailbox *box, const struct command_request *request, struct control *control)
{
	int ret = write_state(box, CONTROL_CLAIMED);

	memset(control->argument, 0, sizeof(control->argument));
	memset(control->failed_name, 0, sizeof(control->failed_name));
	put_patterns(control->patterns, request);
	if (request->argument)
		memcpy(control->argument, request->argument, strlen(request->argument));
	control->command = request->command;
	control->value = request->value;
	control->result = 0;
	control->matched = control->failed = 0;
	if (!ret)
		ret = write_body(box, control);
	return ret ? ret : write_state(box, CONTROL_PENDING);
}

/* One word: a process that copies the command at this moment has the old one or this. */
static int make_nothing(const struct mailbox *box)
{
	uint32_t nothing = CONTROL_NOTHING;

	return write_memory(box, box->address + offsetof(struct control, command), &nothing,
			    sizeof(nothing));
}

/*
 * The process carries it out: that ends by itself, unless the process is stopped. It is waited for
 * also when a signal is to end this tool: what was done may have to be undone.
 */
static int await_end(struct mailbox *box, struct control *reply)
{
	struct mailbox waiting = *box;
	int ret = 0;

	waiting.patient = true;
	waiting.deadline = now_ms() + GRACE_MS;
	while (!ret && reply->state == CONTROL_RUNNING && nap(&waiting))
		ret = read_control(box, reply);
	return ret;
}

/*
 * See the top of this file. -ETIMEDOUT; 0: the process has just done it; -EINPROGRESS: is doing it.
 */
static int withdraw(struct mailbox *box, struct control *reply)
{
	int ret = make_nothing(box);

	if (!ret)
		ret = read_control(box, reply);
	if (ret)
		return ret;
	if (reply->state == CONTROL_PENDING) {
		ret = write_state(box, CONTROL_IDLE);
		return ret ? ret : -ETIMEDOUT;
	}
	ret = await_end(box, reply);
	if (ret || reply->state == CONTROL_DONE)
		return ret;
	return reply->state == CONTROL_RUNNING ? -EINPROGRESS : -ETIMEDOUT;
}

/*
 * Waits until the process is done with the command of another tool, which has ended. A pending
 * command is not overwritten: the process may be taking it, and would then set the new one to DONE.
 */
static int await_turn(struct mailbox *box, struct control *control)
{
	int ret;

	while (!(ret = read_control(box, control)) &&
	       (control->state == CONTROL_PENDING || control->state == CONTROL_RUNNING)) {
		bool pending = control->state == CONTROL_PENDING;

		if (pending)
			ret = make_nothing(box);
		if (pending && !ret)
			ret = kick(box);
		if (ret)
			return ret;
		if (nap(box))
			continue;
		ret = pending ? withdraw(box, control) : -EBUSY;
		return ret == -EINPROGRESS ? -EBUSY : ret;
	}
	return ret;
}

/*
 * The kick is repeated: a thread that was on the slow path already may have restored the limit
 * after it polled the mailbox and before the command was there. A process that has just been forked
 * clears the mailbox that it got from its parent; then the command is written again.
 */
static int await_answer(struct mailbox *box, const struct command_request *request,
			struct control *reply)
{
	int ret;

	for (;;) {
		ret = read_control(box, reply);
		if (ret)
			return ret;
		if (reply->state == CONTROL_DONE)
			return 0;
		if (reply->state == CONTROL_PENDING)
			ret = kick(box);
		else if (reply->state != CONTROL_RUNNING)
			ret = post(box, request, reply);
		if (ret)
			return ret;
		if (!nap(box))
			return withdraw(box, reply);
	}
}

static int send_locked(struct mailbox *box, const struct command_request *request,
		       struct control *reply)
{
	int ret = await_turn(box, reply);

	if (!ret)
		ret = post(box, request, reply);
	if (!ret)
		ret = await_answer(box, request, reply);
	if (!ret)
		ret = write_state(box, CONTROL_IDLE);
	return ret;
}

/*
 * Blocks signals that end tools until the mailbox is idle; *before is what was blocked. Signals
 * that are ignored stay so: blocked they would be pending.
 */
static void hold_signals(struct mailbox *box, sigset_t *before)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	sigemptyset(&box->held);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction action;

		if (!sigaction(signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&box->held, signals[i]);
	}
	pthread_sigmask(SIG_BLOCK, &box->held, before);
}

enum filtered command_filtered(const struct target *t, const struct target_root *root)
{
	const struct reader *reader = &t->remote.reader;
	struct uslab_root found = { .filters = 0 };
	uint32_t at_start = 0;

	if (reader_read(reader, root->address, &found, sizeof(found)) ||
	    found.magic != USLAB_ROOT_MAGIC || found.root_size != sizeof(found) || !found.filters ||
	    reader_read(reader, found.filters, &at_start, sizeof(at_start)))
		at_start = 0;
	return filtered_process(t->pid, at_start);
}

static bool may_command(const struct target *t, const struct target_root *root)
{
	return t->force || command_filtered(t, root) == FILTERED_NOT;
}

/* One that is stopped may be continued meanwhile, but hardly so. */
static unsigned int wait_ms_of(const struct target *t, const struct command_request *request)
{
	if (request->wait_ms)
		return request->wait_ms;
	return !request->to_the_end && command_finds_stopped(t->pid) ? COMMAND_STOPPED_WAIT_MS
								     : COMMAND_WAIT_MS;
}

int command_send(struct target *t, const struct target_root *root,
		 const struct command_request *request, struct control *reply)
{
	struct mailbox box = { .target = t,
			       .deadline = now_ms() + wait_ms_of(t, request),
			       .patient = request->to_the_end };
	sigset_t before;
	int ret;

	if (!fits(request))
		return -ENAMETOOLONG;
	if (!may_command(t, root))
		return -ECANCELED;
	hold_signals(&box, &before);
	ret = lock_mailbox(&box);
	if (!ret)
		ret = open_mailbox(&box, root);
	if (!ret)
		ret = send_locked(&box, request, reply);
	if (box.fd >= 0)
		close(box.fd);
	if ((ret == -ETIMEDOUT || ret == -EBUSY) && !box.patient && is_interrupted(&box))
		ret = -EINTR;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

bool command_makes_caches(struct target *t, const struct target_root *root)
{
	struct mailbox box = { .target = t, .fd = -1 };
	struct control control;

	return !open_mailbox(&box, root) && !read_control(&box, &control) && control.unprepared;
}

const char *command_lacks_thread(struct target *t, const struct target_root *root)
{
	static const char *const texts[] = {
		[CONTROL_THREAD_WAITS] =
			"it is a child of fork() in which the library's own thread was not started "
			"so far; an allocation that is no hit does that",
		[CONTROL_THREAD_FAILED] =
			"it is a child of fork() in which the library's own thread could not be "
			"started",
		[CONTROL_THREAD_OFF] =
			"it is a child of fork(), in which there is no thread of the "
			"library (USLAB_CONF=fork_thread=0)",
	};
	struct mailbox box = { .target = t, .fd = -1 };
	struct control control;

	if (open_mailbox(&box, root) || read_control(&box, &control) ||
	    control.thread >= sizeof(texts) / sizeof(texts[0]))
		return NULL;
	return texts[control.thread];
}

/* ---- sampling -------------------------------------------------------------------------------- */

static int sampler_read(const struct command_sampler *sampler, size_t offset, void *buf, size_t len)
{
	return file_result(pread(sampler->fd, buf, len, (off_t)(sampler->control + offset)), len);
}

static int sampler_write(const struct command_sampler *sampler, uint64_t address, const void *buf,
			 size_t len)
{
	return file_result(pwrite(sampler->fd, buf, len, (off_t)address), len);
}

#define SAMPLER_READ(sampler, field, to) \
	sampler_read(sampler, offsetof(struct control, field), to, sizeof(*(to)))
#define SAMPLER_WRITE(sampler, field, from)                                                \
	sampler_write(sampler, (sampler)->control + offsetof(struct control, field), from, \
		      sizeof(*(from)))

static int find_sampling(struct command_sampler *sampler, uint64_t root)
{
	struct uslab_root found;
	uint32_t can_sample = 0;
	int ret =
		file_result(pread(sampler->fd, &found, sizeof(found), (off_t)root), sizeof(found));

	if (!ret && (found.magic != USLAB_ROOT_MAGIC || found.version != USLAB_ROOT_VERSION))
		ret = -EPROTO;
	if (!ret && (!found.control || found.control_size != sizeof(struct control)))
		ret = -EOPNOTSUPP;
	sampler->control = found.control;
	sampler->kick = found.kick;
	if (!ret)
		ret = SAMPLER_READ(sampler, can_sample, &can_sample);
	return !ret && !can_sample ? -EOPNOTSUPP : ret;
}

/* The next malloc() sets the limit by what sample_mean says. */
static int sampler_kick(const struct command_sampler *sampler)
{
	uint64_t zero[2] = { 0 };

	return sampler->kick ? sampler_write(sampler, sampler->kick, zero, sizeof(zero)) : 0;
}

static int set_mean(const struct command_sampler *sampler, uint32_t mean)
{
	return SAMPLER_WRITE(sampler, sample_mean, &mean);
}

/*
 * The process raises the mean by itself if it samples too many; here it is lowered if they are too
 * few.
 */
static int adjust_mean(struct command_sampler *sampler, uint32_t mean, uint64_t now)
{
	uint64_t sampled, before = sampler->sampled;
	int ret = SAMPLER_READ(sampler, sampled, &sampled);

	if (ret || now < sampler->checked + ADJUST_MS)
		return ret;
	sampler->checked = now;
	sampler->sampled = sampled;
	if ((sampled - before) * 1000 >= FEW_PER_SECOND * (uint64_t)ADJUST_MS ||
	    mean <= CONTROL_SAMPLING_MIN)
		return 0;
	return set_mean(sampler, mean - 1);
}

int command_sampler_renew(struct command_sampler *sampler)
{
	uint64_t until, limits[2]; /* the second one: while threads are in groups */
	uint32_t mean;
	int ret;

	if (sampler->fd < 0)
		return -EOPNOTSUPP;
	until = reader_clock_ms(sampler->reader) + CONTROL_SAMPLING_LEASE_MS;
	ret = SAMPLER_READ(sampler, sample_mean, &mean);
	if (!ret && !sampler->forever)
		ret = SAMPLER_WRITE(sampler, sample_until, &until);
	if (!ret && !mean) {
		sampler->broken = true;
		ret = set_mean(sampler, FIRST_MEAN);
	}
	if (!ret)
		ret = adjust_mean(sampler, mean, now_ms());
	if (!ret && sampler->kick)
		ret = sampler_read(sampler, sampler->kick - sampler->control, limits,
				   sizeof(limits));
	if (!ret && sampler->kick && (limits[0] > CONTROL_SAMPLING || limits[1]))
		ret = sampler_kick(sampler);
	return ret;
}

int command_sampler_open(struct command_sampler *sampler, const struct target *t,
			 const struct target_root *root)
{
	uint64_t until;
	uint32_t mean;
	int ret;

	*sampler = (struct command_sampler){ .fd = -1 };
	if (!may_command(t, root))
		return -ECANCELED;
	*sampler = (struct command_sampler){ .fd = open_memory(t->pid, O_RDWR),
					     .reader = &t->remote.reader };
	if (sampler->fd < 0)
		return -errno;
	ret = find_sampling(sampler, root->address);
	if (!ret)
		ret = SAMPLER_READ(sampler, sampled, &sampler->sampled);
	if (!ret)
		ret = SAMPLER_READ(sampler, sample_until, &until);
	if (!ret)
		ret = SAMPLER_READ(sampler, sample_mean, &mean);
	sampler->forever = !ret && mean && until == CONTROL_SAMPLING_FOREVER;
	sampler->checked = now_ms();
	if (!ret)
		ret = command_sampler_renew(sampler);
	sampler->began = sampler->broken; /* at the beginning this is no gap */
	sampler->broken = false;
	if (ret) {
		close(sampler->fd);
		sampler->fd = -1;
	}
	return ret;
}

void command_sampler_close(struct command_sampler *sampler, enum command_sampler_end end)
{
	const uint64_t forever = CONTROL_SAMPLING_FOREVER;

	if (sampler->fd < 0)
		return;
	if (end == COMMAND_SAMPLER_KEEP)
		SAMPLER_WRITE(sampler, sample_until, &forever);
	else if (end == COMMAND_SAMPLER_STOP && !set_mean(sampler, 0))
		sampler_kick(sampler);
	close(sampler->fd);
	sampler->fd = -1;
}
