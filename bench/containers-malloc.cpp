/* SPDX-License-Identifier: MIT */
/*
 * bench/containers-malloc.cpp - the loads of containers.hpp on malloc, by std::allocator
 */
#include <memory>

#define CONTAINERS_ALLOCATOR std::allocator
#include "containers.hpp"
