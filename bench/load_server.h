/* SPDX-License-Identifier: MIT */
/*
 * bench/load_server.h - load: a server with connections, requests and their arenas
 *
 * Threads take requests in turn. A request is on a connection, which is opened if it is not there
 * and closed by whoever has its 16th request; it fills an arena of chunks, answers with a block of
 * some size, and leaves a line in a log that keeps the last ones. Connections, the log and all that
 * hangs on them pass from thread to thread.
 */
#ifndef BENCH_LOAD_SERVER_H
#define BENCH_LOAD_SERVER_H

#include "load_use.h"

#define CONNECTIONS 1000
#define CONNECTION_REQUESTS 16 /* of one connection */
#define CHUNK_BYTES 4096
#define LOG_LINES 2000
#define SERVER_REQUESTS 400000

struct connection {
	char *buffer; /* what was read */
	uint32_t buffer_size;
	uint32_t requests;
	char peer[240];
};

struct chunk {
	struct chunk *next;
	size_t used;
	char bytes[CHUNK_BYTES - sizeof(void *) - sizeof(size_t)];
};

struct request {
	struct connection *connection;
	struct chunk *chunks; /* the arena, newest first */
	char *headers[20];
	char state[200];
};

struct place {
	pthread_mutex_t lock;
	struct connection *connection; /* by lock; NULL: closed */
};

struct server {
	struct kind connections, requests, chunks;
	struct place places[CONNECTIONS];
	pthread_mutex_t log_lock;
	char *log[LOG_LINES]; /* a ring, by log_lock */
	uint64_t logged;
};

/* From the request's arena; at most half a chunk. */
static inline char *arena_alloc(struct server *s, struct request *r, size_t size)
{
	char *p;

	size = (size + 15) & ~(size_t)15;
	if (!r->chunks || r->chunks->used + size > sizeof(r->chunks->bytes)) {
		struct chunk *chunk = kind_alloc(&s->chunks);

		chunk->next = r->chunks;
		chunk->used = 0;
		r->chunks = chunk;
	}
	p = r->chunks->bytes + r->chunks->used;
	r->chunks->used += size;
	return touched(p, size);
}

static inline struct connection *connection_open(struct server *s, struct rng *rng)
{
	struct connection *c = kind_alloc(&s->connections);

	*c = (struct connection){ .buffer_size = 512u << rng_below(rng, 5) };
	c->buffer = touched(any_alloc(c->buffer_size), c->buffer_size);
	return c;
}

static inline void connection_close(struct server *s, struct connection *c)
{
	any_free(c->buffer);
	kind_free(&s->connections, c);
}

static inline void request_log(struct server *s, struct rng *rng)
{
	size_t size = 80 + rng_below(rng, 200);
	char *line = touched(any_alloc(size), size), **at;

	pthread_mutex_lock(&s->log_lock);
	at = &s->log[s->logged++ % LOG_LINES];
	{
		char *old = *at;

		*at = line;
		line = old;
	}
	pthread_mutex_unlock(&s->log_lock);
	if (line)
		any_free(line);
}

/* The connection is this thread's as long as it holds the lock of its place. */
static inline void request_serve(struct server *s, struct connection *c, struct rng *rng)
{
	size_t size = 256 + rng_below(rng, 1u << (8 + rng_below(rng, 8)));
	struct request *r = kind_alloc(&s->requests);
	void *response;

	memset(r, 0, sizeof(*r));
	r->connection = c;
	touched(c->buffer, c->buffer_size);
	for (int i = 0; i < 20; i++)
		r->headers[i] = arena_alloc(s, r, 16 + rng_below(rng, 112));
	for (uint32_t i = rng_below(rng, 40); i; i--)
		arena_alloc(s, r, 32 + rng_below(rng, 480));
	response = touched(any_alloc(size), size);
	request_log(s, rng);
	any_free(response);
	while (r->chunks) {
		struct chunk *chunk = r->chunks;

		r->chunks = chunk->next;
		kind_free(&s->chunks, chunk);
	}
	kind_free(&s->requests, r);
}

static inline void *server_thread(void *arg)
{
	struct load_thread *t = arg;
	struct server *s = t->shared;

	for (uint64_t n = 0; n < t->operations; n++) {
		struct place *place = &s->places[rng_below(&t->rng, CONNECTIONS)];

		pthread_mutex_lock(&place->lock);
		if (!place->connection)
			place->connection = connection_open(s, &t->rng);
		request_serve(s, place->connection, &t->rng);
		if (++place->connection->requests == CONNECTION_REQUESTS) {
			connection_close(s, place->connection);
			place->connection = NULL;
		}
		pthread_mutex_unlock(&place->lock);
	}
	return NULL;
}

static inline uint64_t load_server(const struct load *l)
{
	struct server *s = harness_alloc(sizeof(*s));
	uint64_t requests;

	kind_init(&s->connections, "connection", sizeof(struct connection));
	kind_init(&s->requests, "request", sizeof(struct request));
	kind_init(&s->chunks, "chunk", sizeof(struct chunk));
	pthread_mutex_init(&s->log_lock, NULL);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_mutex_init(&s->places[i].lock, NULL);
	requests = load_run(l, load_team(l, s, load_share(l, SERVER_REQUESTS)), server_thread);
	for (int i = 0; i < CONNECTIONS; i++)
		if (s->places[i].connection)
			connection_close(s, s->places[i].connection);
	for (int i = 0; i < LOG_LINES; i++)
		if (s->log[i])
			any_free(s->log[i]);
	return requests;
}

#endif /* BENCH_LOAD_SERVER_H */
