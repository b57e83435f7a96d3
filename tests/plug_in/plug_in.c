/* SPDX-License-Identifier: MIT */
/*
 * plug_in/plug_in.c - a library for tests to load and unload: support/plug_in.h
 */
__attribute__((visibility("default"), noinline)) int plug_in_function(int n);

/* Some instructions long: tests look for an address inside of it. */
int plug_in_function(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}
