/* SPDX-License-Identifier: MIT */
/*
 * fuzz/trace_fuzz.c - the parser of `uslab replay` on lines that were damaged
 *
 * Seeds are lines of every format; each is cut, spliced with others and peppered with bytes that
 * mean something to the parser, then parsed from a block of exactly its size, so that sanitizers
 * see any read behind the end. Whatever the parser says must be true of the line: pieces lie inside
 * it, errors have a place and a text. What it takes for an event goes on into the operations, whose
 * counts must add up. The parser is compiled into this test.
 *
 *     trace_fuzz [ROUNDS [SEED]]
 */
#include "../../tools/uslab/trace/trace_head.c"
#include "../../tools/uslab/trace/trace_ops.c"
#include "../../tools/uslab/trace/trace_parse.c"
#include "../../tools/uslab/trace/trace_stride.c"
#include "../../tools/uslab/trace/trace_text.c"

#define LINE_SIZE 1024u
#define DEFAULT_ROUNDS 200000ul

static const char *const seeds[] = {
	"            bash-15490   [001] .....   655.182140: kmem_cache_alloc: call_site=f+0x1/0x2 "
	"ptr=ffff888115db4500 name=task_struct bytes_req=5840 bytes_alloc=5888 "
	"gfp_flags=GFP_KERNEL|__GFP_ZERO node=-1 accounted=true",
	" memfd:sealed-91-18550   (18550) [001] d..2.   669.138547: kfree: call_site=f+0x1c/0x90 [m] "
	"ptr=0000000000000000",
	"            bash-15490 [003]   655.182140: kmem_cache_free:      (f+0x1) call_site=f+0x141 "
	"ptr=0xffff88816d251840 name=filp",
	"          Web Content 15490/15491 [003]   655.182140:       kmem:kmalloc: [FAILED TO PARSE] "
	"call_site=0xffffffff92d10d97 (-1831793257) ptr=0xffff9e0e8571e000 (-107689771147264) "
	"bytes_req=0x1000 (4096) bytes_alloc=4096 gfp_flags=0xcc0 (3264) node=0xffffffff (-1)",
	"            init-1     [000] .N..     0.170000: kmalloc_node: call_site=c10bfa4a "
	"ptr=  (null) bytes_req=6 bytes_alloc=32 gfp_flags=GFP_KERNEL|GFP_ZERO node=-1",
	"            bash-15490 [000]222397463955043: (+4)     kfree:                "
	"call_site=f+0x141 ptr=0xffff88816d251840",
	"CPU:1 [LOST 123 EVENTS]",
	"CPU:7 [204600 EVENTS DROPPED]",
	"            perf  1234 [001]   123.456789: PERF_RECORD_LOST lost 34",
	"             cc1    77 [003]     9.000001:          1 kmem:kmalloc: call_site=f ptr=0x1000 "
	"bytes_req=8 bytes_alloc=8 gfp_flags=GFP_KERNEL|__GFP_ACCOUNT accounted=true",
	"\tffffffff8782660d kmem_cache_alloc+0xfd ([kernel.kallsyms])",
	" => __kmalloc_node",
	"# tracer: nop",
	"# entries-in-buffer/entries-written: 113678/167591   #P:2",
	"cpus=8",
};

#define NR_SEEDS (sizeof(seeds) / sizeof(seeds[0]))

static const char *const pieces[] = {
	"=",
	" ",
	":",
	"[",
	"]",
	"(",
	")",
	"|",
	"-",
	"0x",
	"ptr=",
	"name=",
	"\xff",
	"[000] ",
	"1.5: ",
	"kmem:",
	"kfree: ",
	"(null)",
	"18446744073709551616",
	"-1",
	"\r",
	"\t",
	"#",
	"99999",
	"16",
};

#define NR_PIECES (sizeof(pieces) / sizeof(pieces[0]))

static uint64_t random_state = 1;

static uint64_t rnd(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

#define FUZZ_CHECK(expr, line, length)                                                     \
	do {                                                                               \
		if (!(expr)) {                                                             \
			fprintf(stderr, "trace_fuzz: %s does not hold for: %.*s\n", #expr, \
				(int)(length), (line));                                    \
			abort();                                                           \
		}                                                                          \
	} while (0)

/* One change to the line in buf. Returns its new length, at most LINE_SIZE. */
static size_t mutate(char *buf, size_t length)
{
	const char *text = rnd(2) ? pieces[rnd(NR_PIECES)] : seeds[rnd(NR_SEEDS)];
	size_t n = strlen(text);
	size_t at = rnd(length + 1);

	switch (rnd(5)) {
	case 0: /* cut off */
		return at;
	case 1: /* one byte */
		if (at < length)
			buf[at] = (char)rnd(256);
		return length;
	case 2: /* a piece in between */
		if (length + n > LINE_SIZE)
			return length;
		memmove(buf + at + n, buf + at, length - at);
		memcpy(buf + at, text, n);
		return length + n;
	case 3: /* the rest of another line */
		if (at + n > LINE_SIZE)
			return length;
		memcpy(buf + at, text, n);
		return at + n;
	default: /* something left out */
		n = rnd(16);
		if (at + n > length)
			return length;
		memmove(buf + at, buf + at + n, length - at - n);
		return length - n;
	}
}

static void check_event(const char *line, size_t length, const struct trace_event *event)
{
	FUZZ_CHECK(event->kind < TRACE_NR_KINDS, line, length);
	FUZZ_CHECK(event->cpu <= 99999, line, length);
	FUZZ_CHECK(!(event->gfp & ~GFP_RELEVANT), line, length);
	FUZZ_CHECK(!event->name.length || (event->name.start >= line &&
					   event->name.start + event->name.length <= line + length),
		   line, length);
}

static enum trace_line parse_exactly(const char *buf, size_t length, struct trace_ops *ops)
{
	char *line = malloc(length ? length : 1);
	struct trace_event event;
	struct trace_error error = { 0 };
	enum trace_line result;

	if (!line)
		abort();
	memcpy(line, buf, length);
	result = trace_parse_line(line, length, &event, &error);
	switch (result) {
	case TRACE_LINE_EVENT:
		check_event(line, length, &event);
		if (trace_ops_add(ops, &event) == -ENOMEM)
			abort();
		break;
	case TRACE_LINE_BAD:
		FUZZ_CHECK(error.column >= 1 && error.column <= length + 1, line, length);
		FUZZ_CHECK(error.expected[0], line, length);
		FUZZ_CHECK(strlen(error.found) < sizeof(error.found), line, length);
		break;
	default:
		break;
	}
	free(line);
	return result;
}

static void check_counts(const struct trace_ops *ops)
{
	const struct trace_counts *c = &ops->counts;

	FUZZ_CHECK(c->live_objects == c->allocations - c->matched_frees, "counts", 6);
	FUZZ_CHECK(c->implied_frees <= c->matched_frees, "counts", 6);
	FUZZ_CHECK(ops->nr_ops == c->allocations + c->matched_frees, "counts", 6);
	FUZZ_CHECK(ops->nr_slots == c->peak_objects, "counts", 6);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : DEFAULT_ROUNDS;
	unsigned long results[TRACE_LINE_BAD + 1] = { 0 };
	struct trace_ops ops;
	char buf[LINE_SIZE];

	if (argc > 2)
		random_state = strtoul(argv[2], NULL, 0) | 1;
	if (trace_ops_init(&ops))
		return 1;
	for (unsigned long i = 0; i < rounds; i++) {
		const char *seed = seeds[rnd(NR_SEEDS)];
		size_t length = strlen(seed);

		memcpy(buf, seed, length);
		for (uint64_t changes = rnd(6); changes; changes--)
			length = mutate(buf, length);
		results[parse_exactly(buf, length, &ops)]++;
	}
	check_counts(&ops);
	trace_ops_destroy(&ops);
	/* A fuzzer that reaches one outcome only is broken itself. */
	for (int result = 0; result <= TRACE_LINE_BAD; result++)
		if (rounds >= DEFAULT_ROUNDS && !results[result])
			return fprintf(stderr, "trace_fuzz: outcome %d never seen\n", result), 1;
	return 0;
}
