/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/stringify.h - an argument as a string, after its expansion
 */
#ifndef USLAB_LINUX_STRINGIFY_H
#define USLAB_LINUX_STRINGIFY_H

#if __has_include_next(<linux/stringify.h>)
#include_next <linux/stringify.h>
#else
#define __stringify_1(...) #__VA_ARGS__
#define __stringify(...) __stringify_1(__VA_ARGS__)
#endif

#endif /* USLAB_LINUX_STRINGIFY_H */
