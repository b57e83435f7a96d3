/* SPDX-License-Identifier: MIT */
/*
 * docs/pictures/late.c - a program with a mistake: a session is written to after it was freed
 */
#include <stdio.h>
#include <stdlib.h>

struct session {
	int id;
	int requests;
};

static struct session *session_open(int id)
{
	struct session *session = malloc(sizeof(*session));

	if (!session)
		abort();
	session->id = id;
	session->requests = 0;
	return session;
}

static void session_close(struct session *session)
{
	free(session);
}

static void count_request(struct session *session)
{
	session->requests++;
}

int main(void)
{
	struct session *first = session_open(1), *second;

	session_close(first);
	count_request(first); /* too late */
	second = session_open(2);
	printf("session %d: %d requests\n", second->id, second->requests);
	session_close(second);
	return 0;
}
