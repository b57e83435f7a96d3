# SPDX-License-Identifier: MIT
#
# What `uslab bench` needs beside its workers (bench/*.c, built by the top file): the malloc that
# does nothing, the clock of two of them, and a place for all of it in an installation.

add_library(uslab_bench_null SHARED bench/null_malloc.c)
set_target_properties(uslab_bench_null PROPERTIES C_VISIBILITY_PRESET hidden)
target_compile_options(uslab_bench_null PRIVATE -std=gnu17 -Wall -Wextra -Werror -fno-builtin)

# For Redis under mallocs that are not jemalloc (scripts/bench-malloc, tests/programs/redis_test.py).
add_library(uslab_bench_mallocx SHARED bench/mallocx.c)
set_target_properties(uslab_bench_mallocx PROPERTIES C_VISIBILITY_PRESET hidden)
target_link_libraries(uslab_bench_mallocx PRIVATE uslab_flags)

foreach(worker uslab-bench-worker uslab-bench-kernel)
	target_sources(${worker} PRIVATE tools/uslab/clock.c)
	target_include_directories(${worker} PRIVATE tools/uslab)
endforeach()

if(USLAB_INSTALL AND USLAB_TOOLS) # `uslab bench` starts them
	install(TARGETS uslab_bench_null LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/uslab)
	install(TARGETS uslab-bench-worker uslab-bench-cache uslab-bench-kernel
		RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/uslab)
endif()

# Bulk calls beside DPDK's, only where that is, and not installed (scripts/bench-dpdk).
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
	pkg_check_modules(DPDK QUIET IMPORTED_TARGET libdpdk)
endif()
if(DPDK_FOUND)
	add_executable(uslab-bench-dpdk EXCLUDE_FROM_ALL bench/uslab-bench-dpdk.c)
	# its flags are for the CPUs that it supports, and its inline functions are not ours to warn of
	target_compile_definitions(uslab-bench-dpdk PRIVATE _GNU_SOURCE)
	target_include_directories(uslab-bench-dpdk PRIVATE include)
	target_link_libraries(uslab-bench-dpdk PRIVATE PkgConfig::DPDK uslab_inside m)
endif()

# Reads processes as the command does, and is not installed (docs/adr/0066). It has nothing to be quick at.
if(TARGET uslab_tool)
	add_executable(uslab-bench-mesh bench/uslab-bench-mesh.c)
	target_link_libraries(uslab-bench-mesh PRIVATE uslab_tool uslab_flags uslab_plain_link)
endif()

# The same loads twice: on malloc, with no allocator linked, and on caches.
if(USLAB_CXX)
	foreach(kind malloc cache)
		set(name uslab-bench-containers-${kind})
		add_executable(${name} bench/uslab-bench-containers.c bench/containers-${kind}.cpp)
		set_target_properties(${name} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
		target_include_directories(${name} PRIVATE include) # src has a debug/debug.h, as libstdc++
		target_link_libraries(${name} PRIVATE uslab_flags Threads::Threads m)
	endforeach()
	target_link_libraries(uslab-bench-containers-cache PRIVATE uslab_inside)
endif()
