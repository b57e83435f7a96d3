/* SPDX-License-Identifier: MIT */
/*
 * bench/containers-cache.cpp - the loads of containers.hpp on caches, by uslab::allocator
 */
#include <uslab/cache.hpp>

#define CONTAINERS_ALLOCATOR uslab::allocator
#include "containers.hpp"
