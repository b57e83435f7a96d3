/* SPDX-License-Identifier: MIT */
/*
 * leaky_server - something like a server, that forgets an object now and
 * then: leaky_server [SECONDS]
 *
 * Each of two threads gets requests through a socket, parses them into a dozen objects of many
 * sizes, keeps what is to be stored in a hash table where it expires, and answers. About one
 * request in a hundred has a token that is refused; what was made of it by then is forgotten (the
 * line that says so in a comment). Once a second it prints on standard error how many requests it
 * served and how many it leaked.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2
#define BUCKETS 16384
#define LIFETIME 20000 /* requests that an entry lives */
#define TEXT 1024

struct header {
	struct header *next;
	char *name;
	char *value;
};

struct request {
	char *verb;
	char *key;
	char *body;
	struct header *headers;
};

struct token {
	char text[40];
	unsigned long checked;
};

struct entry {
	struct entry *next;    /* in its bucket */
	struct entry *younger; /* in the order in which they expire */
	unsigned int bucket;
	unsigned long expires;
	char *key;
	char *body;
};

struct server {
	pthread_t thread;
	int client, socket;
	unsigned long served; /* atomic */
	unsigned long leaked; /* atomic */
	unsigned long random;
	struct entry *table[BUCKETS];
	struct entry *oldest, *youngest;
};

static struct server server[THREADS];
static volatile int stopped;

static unsigned long draw(struct server *s)
{
	s->random = s->random * 6364136223846793005ul + 1442695040888963407ul;
	return s->random >> 33;
}

/* ---- what clients send ----------------------------------------------------------------------- */

static size_t make_request(struct server *s, char *text)
{
	unsigned long key = draw(s) % 50000;
	unsigned int len = 16 + (unsigned int)(draw(s) % 400);
	int n = snprintf(text, TEXT, "%s key-%lu\nhost: cache-%lu.example\nagent: client/%lu\n",
			 draw(s) % 10 < 6 ? "GET" : "SET", key, draw(s) % 9, draw(s) % 100);

	n += snprintf(text + n, TEXT - (size_t)n, "token: %lu\n\n", draw(s));
	memset(text + n, 'a' + (int)(key % 26), len);
	return (size_t)n + len;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static char *copy(const char *from, size_t len)
{
	char *to = malloc(len + 1);

	memcpy(to, from, len);
	to[len] = '\0';
	return to;
}

static const char *parse_header(struct request *r, const char *line)
{
	const char *colon = strchr(line, ':');
	const char *end = strchr(line, '\n');
	struct header *h = malloc(sizeof(*h));

	h->name = copy(line, (size_t)(colon - line));
	h->value = copy(colon + 2, (size_t)(end - colon - 2));
	h->next = r->headers;
	r->headers = h;
	return end + 1;
}

static struct request *parse_request(const char *text, size_t len)
{
	struct request *r = calloc(1, sizeof(*r));
	const char *blank = strchr(text, ' ');
	const char *line = strchr(text, '\n');

	r->verb = copy(text, (size_t)(blank - text));
	r->key = copy(blank + 1, (size_t)(line - blank - 1));
	line++;
	while (*line != '\n')
		line = parse_header(r, line);
	r->body = copy(line + 1, len - (size_t)(line + 1 - text));
	return r;
}

static void free_request(struct request *r)
{
	while (r->headers) {
		struct header *h = r->headers;

		r->headers = h->next;
		free(h->name);
		free(h->value);
		free(h);
	}
	free(r->verb);
	free(r->key);
	free(r->body);
	free(r);
}

/* ---- the mistake ----------------------------------------------------------------------------- */

static int __attribute__((noinline)) authenticate(struct server *s, const struct request *r)
{
	struct token *token = malloc(sizeof(*token)); /* leaked where it is refused */
	const char *text = r->headers->value;

	snprintf(token->text, sizeof(token->text), "%s", text);
	token->checked = strtoul(token->text, NULL, 10);
	if (token->checked % 100 == 7) {
		__atomic_fetch_add(&s->leaked, 1, __ATOMIC_RELAXED);
		return 0;
	}
	free(token);
	return 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

static unsigned int hash(const char *key)
{
	unsigned int h = 5381;

	for (; *key; key++)
		h = h * 33 ^ (unsigned char)*key;
	return h % BUCKETS;
}

static const struct entry *find(const struct server *s, const char *key)
{
	const struct entry *e = s->table[hash(key)];

	while (e && strcmp(e->key, key) != 0)
		e = e->next;
	return e;
}

static void store(struct server *s, const struct request *r)
{
	struct entry *e = calloc(1, sizeof(*e));

	e->bucket = hash(r->key);
	e->key = strdup(r->key);
	e->body = strdup(r->body);
	e->expires = s->served + LIFETIME;
	e->next = s->table[e->bucket];
	s->table[e->bucket] = e;
	if (s->youngest)
		s->youngest->younger = e;
	else
		s->oldest = e;
	s->youngest = e;
}

static void expire(struct server *s)
{
	while (s->oldest && s->oldest->expires <= s->served) {
		struct entry *e = s->oldest;
		struct entry **link = &s->table[e->bucket];

		while (*link != e)
			link = &(*link)->next;
		*link = e->next;
		s->oldest = e->younger;
		if (!s->oldest)
			s->youngest = NULL;
		free(e->key);
		free(e->body);
		free(e);
	}
}

/* ---- serving --------------------------------------------------------------------------------- */

static void answer(struct server *s, const struct request *r)
{
	const struct entry *e = find(s, r->key);
	char *text = malloc(TEXT);
	int n;

	if (!authenticate(s, r))
		n = snprintf(text, TEXT, "403 %s\n", r->key);
	else if (!strcmp(r->verb, "SET"))
		n = snprintf(text, TEXT, "200 %s stored\n", r->key);
	else
		n = snprintf(text, TEXT, "%s\n%s", e ? "200" : "404", e ? e->body : "");
	if (!strcmp(r->verb, "SET"))
		store(s, r);
	if (send(s->socket, text, (size_t)n, 0) != n)
		abort();
	free(text);
}

static void serve(struct server *s)
{
	char text[TEXT + 1];
	size_t len = make_request(s, text);
	struct request *r;
	ssize_t n;

	if (send(s->client, text, len, 0) != (ssize_t)len)
		abort();
	n = recv(s->socket, text, TEXT, 0);
	if (n <= 0)
		abort();
	text[n] = '\0';
	r = parse_request(text, (size_t)n);
	answer(s, r);
	free_request(r);
	expire(s);
	if (recv(s->client, text, TEXT, 0) <= 0)
		abort();
	__atomic_fetch_add(&s->served, 1, __ATOMIC_RELAXED);
}

static void *run(void *arg)
{
	struct server *s = arg;

	while (!stopped)
		serve(s);
	return NULL;
}

static void start(struct server *s, unsigned long seed)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		abort();
	s->client = pair[0];
	s->socket = pair[1];
	s->random = seed;
	if (pthread_create(&s->thread, NULL, run, s))
		abort();
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 60;
	unsigned long before = 0;

	for (unsigned long i = 0; i < THREADS; i++)
		start(&server[i], i + 1);
	for (long i = 0; i < seconds * 4; i++) {
		unsigned long served = 0, leaked = 0;

		usleep(250000);
		for (int t = 0; t < THREADS; t++) {
			served += __atomic_load_n(&server[t].served, __ATOMIC_RELAXED);
			leaked += __atomic_load_n(&server[t].leaked, __ATOMIC_RELAXED);
		}
		if (i % 4 == 3) {
			fprintf(stderr, "%lu requests, %lu leaked\n", served - before, leaked);
			before = served;
		}
	}
	stopped = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(server[i].thread, NULL);
	return 0;
}
