# SPDX-License-Identifier: MIT
#
# The tests, all by glob; each C file is an executable of its own:
#
#   tests/unit/<floor>/*_test.c    label quick   also as norseq, and valgrind in the generic preset
#   tests/conformance/*_test.c     label quick   also as norseq
#   tests/linux/*_test.c           label quick   kernel code, on include/uslab/linux; with main.c of that folder
#   tests/cpp/*_test.cpp           label quick   for each standard of C++ that the compiler knows
#   tests/fuzz/*_fuzz.c            label quick   run on their built-in seeds; not with ThreadSanitizer
#   tests/race/*_test.c            label race
#   tests/stress/*_test.c          label stress
#   tests/numa/*_test.c            label quick   skipped on a machine of one node; scripts/numa-vm has more
#   tests/tools/*.sh|*.py          label quick   scripts; exit status 77 says "skipped"
#   tests/programs/*.sh|*.py       label full
#   tests/install/*.sh|*.py        label full
#   tests/foreign/*.sh             label quick   in builds for another CPU or C library, in place of scripts
#   tests/misuse/*.c               programs with a mistake each, for tests/misuse/misuse_test.py (quick)
#   scripts/check.py               label quick
#
# tests/support/*.c is linked into every C test. A line "ctest: timeout=SECONDS label=NAME serial
# sanitize=no" in a comment at the top of a test changes what is said here for that test.
#
# C tests have more labels, by which scripts/test selects: threads where the test, or a header of tests/ that
# it includes, starts threads or has the library start some; plain where sanitizers do not run it.

enable_testing()
# For another CPU or C library than that of this system there is no cmocka: tests/cmocka is what the tests
# use of it.
option(USLAB_OWN_CMOCKA "Tests use tests/cmocka, not the installed cmocka" ${CMAKE_CROSSCOMPILING})
if(USLAB_OWN_CMOCKA)
	add_library(uslab_cmocka STATIC tests/cmocka/cmocka.c)
	target_include_directories(uslab_cmocka PUBLIC tests/cmocka)
	target_link_libraries(uslab_cmocka PRIVATE uslab_flags)
else()
	find_package(PkgConfig REQUIRED)
	pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
	add_library(uslab_cmocka INTERFACE)
	target_link_libraries(uslab_cmocka INTERFACE PkgConfig::CMOCKA)
	# It advises against assert_in_range(), and what is to be used has no name in older ones.
	if(CMOCKA_VERSION VERSION_GREATER_EQUAL 2)
		target_compile_options(uslab_cmocka INTERFACE -Wno-deprecated-declarations)
	endif()
endif()
# Debian's own Python first: its test suite is what tests/programs run.
find_program(USLAB_PYTHON python3 HINTS /usr/bin NO_CACHE REQUIRED)
find_program(USLAB_VALGRIND valgrind NO_CACHE)

# The sanitizers' fixed address layouts do not suit kernels with many random bits; where the system
# allows it, their tests run without.
set(launcher ${CMAKE_CROSSCOMPILING_EMULATOR})
if(CMAKE_CROSSCOMPILING_EMULATOR MATCHES "qemu-")
	# qemu-user has a record for each page that is only reserved, 600 MiB of them in each process that
	# is given the usual range; with a limit on addresses the library reserves less.
	set(launcher prlimit --as=6442450944 ${launcher})
endif()
if(USLAB_SANITIZE)
	execute_process(COMMAND setarch -R true RESULT_VARIABLE cannot ERROR_QUIET)
	if(cannot EQUAL 0)
		set(launcher setarch -R)
	endif()
endif()

file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS tests/support/*.c)
uslab_at_least_one(support_sources)
add_library(uslab_test_support STATIC ${support_sources})
add_library(uslab_plug_in SHARED tests/plug_in/plug_in.c)
target_link_libraries(uslab_plug_in PRIVATE uslab_flags)
# As what is installed: its names are in the dynamic symbol table alone.
target_link_options(uslab_plug_in PRIVATE -Wl,--build-id -Wl,-s)
set_target_properties(uslab_plug_in PROPERTIES OUTPUT_NAME plug_in
	LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(uslab_test_support uslab_plug_in)
target_compile_definitions(uslab_test_support PUBLIC
	USLAB_TEST_PLUG_IN="${PROJECT_BINARY_DIR}/tests/libplug_in.so")
target_include_directories(uslab_test_support PUBLIC tests tests/support include src)
# Linked in although nothing names it: under valgrind these tests look at what tools would change.
target_link_options(uslab_test_support INTERFACE -Wl,-u,support_decline)
# There are hundreds of links, a third of a second each with sanitizers; with mold, where there is one, 0.1.
include(CheckLinkerFlag)
if(NOT CMAKE_CROSSCOMPILING)
	check_linker_flag(C -fuse-ld=mold USLAB_HAS_MOLD)
	if(USLAB_HAS_MOLD)
		target_link_options(uslab_test_support INTERFACE -fuse-ld=mold)
	endif()
endif()
set_target_properties(uslab_test_support PROPERTIES
	ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(uslab_test_support PUBLIC uslab_internal uslab_cmocka uslab_plain_link m
	PRIVATE uslab_flags)

# uslab_test_options(<file> <label> <timeout>): sets label, timeout, serial, sanitize in the caller,
# from the defaults given and the file's "ctest:" line.
function(uslab_test_options file label timeout)
	set(serial OFF)
	set(sanitize yes)
	file(STRINGS ${file} lines LIMIT_COUNT 30)
	list(FILTER lines INCLUDE REGEX "ctest: ")
	string(REGEX MATCHALL "[a-z]+(=[a-z0-9]+)?" words "${lines}")
	foreach(word IN LISTS words)
		if(word MATCHES "^(label|timeout|sanitize)=(.*)$")
			set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
		elseif(word STREQUAL "serial")
			set(serial ON)
		endif()
	endforeach()
	if(file MATCHES "\\.c$")
		uslab_has_threads(${file} threads)
		if(threads)
			list(APPEND label threads)
		endif()
		if(sanitize STREQUAL "no")
			list(APPEND label plain)
		endif()
	endif()
	foreach(variable label timeout serial sanitize)
		set(${variable} "${${variable}}" PARENT_SCOPE)
	endforeach()
endfunction()

# uslab_has_threads(<file> <variable>): whether it, or a header of tests/ that it includes, starts threads, of its
# own or of the library.
function(uslab_has_threads file variable)
	set(todo ${file})
	set(seen "")
	set(found OFF)
	while(todo AND NOT found)
		list(POP_FRONT todo next)
		list(APPEND seen ${next})
		file(READ ${next} text)
		if(text MATCHES "pthread_create|threads_run|start_threads|[Tt]icker|linux/(rcu|kthread)")
			set(found ON)
		endif()
		cmake_path(GET next PARENT_PATH folder)
		string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
		foreach(include IN LISTS includes)
			string(REGEX REPLACE ".*\"(.*)\"" "\\1" include ${include})
			foreach(where ${folder} ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/support)
				if(EXISTS ${where}/${include} AND NOT ${where}/${include} IN_LIST seen)
					list(APPEND todo ${where}/${include})
				endif()
			endforeach()
		endforeach()
	endwhile()
	set(${variable} ${found} PARENT_SCOPE)
endfunction()

# uslab_add_test(<name> <labels> <timeout> <serial> <environment> <command>...)
# Those that may take long start first, so that none of them is left for the end.
# A limit is for a test that hangs: it allows for a machine that is busy with other things (four times).
function(uslab_add_test name label timeout serial environment)
	math(EXPR limit "${timeout} * 4")
	add_test(NAME ${name} COMMAND ${ARGN})
	set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT ${limit} COST ${timeout}
		RUN_SERIAL ${serial} ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77)
endfunction()

# Those that look for false reports and lost objects, in the library and in the drop-in, once more where each free is
# looked at exactly. conformance/pairs_hardened_test.c is what there is for every engine and front.
set(USLAB_HARDENED_TESTS conformance/kmalloc conformance/malloc/handlers fuzz/cache fuzz/malloc fuzz/trace
	stress/cache_storm stress/debug_switch stress/malloc/fork stress/malloc/fork_streams stress/malloc/limit
	stress/malloc/signal stress/malloc/thread)

# Most of the time of a build goes into optimising the tests. Unit tests need not be quick; the library that
# they call is what it is, and the other tests inline the hit paths as programs do. unit/tools/bench counts
# instructions of what is inlined.
set(unit_test_options -O1 -g1)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
	set(unit_test_options -O0)
elseif(CMAKE_CROSSCOMPILING)
	set(unit_test_options "") # GCC warns, with tests/cmocka, of what it sees through at -O2
endif()

# It has the parser's sources in itself, and is built where the command is not.
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/fuzz/trace_fuzz.c PROPERTIES
	INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/tools/uslab)

function(uslab_c_tests kind pattern default_label default_timeout)
	file(GLOB_RECURSE sources CONFIGURE_DEPENDS
		RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/${kind}/${pattern})
	foreach(source IN LISTS sources)
		set(file ${PROJECT_SOURCE_DIR}/tests/${source})
		uslab_test_options(${file} ${default_label} ${default_timeout})
		cmake_path(REMOVE_EXTENSION source OUTPUT_VARIABLE name)
		string(REGEX REPLACE "_(test|fuzz)$" "" name ${name})
		if(source MATCHES "^unit/([a-z]+)/" AND NOT CMAKE_MATCH_1 STREQUAL "tools"
				AND NOT CMAKE_MATCH_1 IN_LIST USLAB_FLOORS)
			continue()
		endif()
		if(source MATCHES "^unit/tools/" AND NOT TARGET uslab_tool)
			continue()
		endif()
		if(USLAB_SANITIZE AND sanitize STREQUAL "no")
			continue()
		endif()

		string(MAKE_C_IDENTIFIER test_${name} target)
		add_executable(${target} ${file})
		cmake_path(GET source PARENT_PATH folder)
		cmake_path(GET source STEM stem)
		set_target_properties(${target} PROPERTIES OUTPUT_NAME ${stem}
			RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${folder})
		target_compile_definitions(${target} PRIVATE
			USLAB_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
		if(kind STREQUAL "unit" AND NOT source MATCHES "^unit/tools/bench/")
			target_compile_options(${target} PRIVATE ${unit_test_options})
		endif()
		if(source MATCHES "/malloc/|/malloc_[a-z]+\\.c$")
			# All of the drop-in, not what an archive would give: this program's malloc is uslab's.
			target_sources(${target} PRIVATE $<TARGET_OBJECTS:uslab_malloc_core>)
			uslab_rename_malloc(${target})
		endif()
		if(source MATCHES "^unit/tools/")
			target_link_libraries(${target} PRIVATE uslab_tool)
		endif()
		target_link_libraries(${target} PRIVATE uslab_test_support uslab_flags)
		# Tests look for their own functions in reports, and not for "function.cold".
		target_compile_options(${target} PRIVATE
			$<$<COMPILE_LANG_AND_ID:C,GNU>:-fno-reorder-blocks-and-partition>)

		uslab_add_test(${name} "${label}" ${timeout} ${serial} "${test_environment}"
			${launcher} $<TARGET_FILE:${target}>)
		if(kind MATCHES "unit|conformance" AND NOT USLAB_SANITIZE)
			uslab_variants(${kind} ${name} ${timeout} ${target})
		endif()
		if(name IN_LIST USLAB_HARDENED_TESTS)
			uslab_add_test(hardened/${name} "${label}" ${timeout} ${serial}
				"${sanitizer_environment};USLAB_CONF=hardened=1" ${launcher} $<TARGET_FILE:${target}>)
		endif()
	endforeach()
endfunction()

# A test once more without the C library's rseq; and where no rseq is compiled in, the unit tests under
# valgrind.
function(uslab_variants kind name timeout target)
	if(NOT USLAB_NO_RSEQ)
		uslab_add_test(norseq/${name} norseq ${timeout} OFF
			"GLIBC_TUNABLES=glibc.pthread.rseq=0" $<TARGET_FILE:${target}>)
	elseif(NOT CMAKE_CROSSCOMPILING AND USLAB_VALGRIND AND kind STREQUAL "unit")
		math(EXPR timeout "${timeout} * 10")
		uslab_add_test(valgrind/${name} valgrind ${timeout} OFF "USLAB_TEST_VALGRIND=1"
			${USLAB_VALGRIND} --quiet --fair-sched=try --error-exitcode=99 $<TARGET_FILE:${target}>)
	endif()
endfunction()

function(uslab_script_tests kind default_label default_timeout)
	file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests
		${PROJECT_SOURCE_DIR}/tests/${kind}/*.sh ${PROJECT_SOURCE_DIR}/tests/${kind}/*.py)
	foreach(source IN LISTS sources)
		set(file ${PROJECT_SOURCE_DIR}/tests/${source})
		cmake_path(REMOVE_EXTENSION source OUTPUT_VARIABLE name)
		uslab_test_options(${file} ${default_label} ${default_timeout})
		if(USLAB_SANITIZE AND NOT sanitize STREQUAL "both")
			continue()	# scripts run programs of the system, which are not instrumented
		endif()
		set(runner sh)
		if(source MATCHES "\\.py$")
			set(runner ${USLAB_PYTHON})
		else()
			file(STRINGS ${file} shebang LIMIT_COUNT 1)
			if(shebang MATCHES "bash")
				set(runner bash)
			endif()
		endif()
		uslab_add_test(${name} "${label}" ${timeout} ${serial} "${script_environment}"
			${runner} ${file})
	endforeach()
endfunction()

# Kernel code, whose module_init() runs before main(). What includes <linux/rcupdate.h> needs liburcu.
function(uslab_linux_tests default_label default_timeout)
	if(NOT CMAKE_CROSSCOMPILING)
		find_library(USLAB_URCU urcu-bp NO_CACHE)
	endif()
	file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/linux/*_test.c)
	foreach(source IN LISTS sources)
		uslab_test_options(${source} ${default_label} ${default_timeout})
		file(STRINGS ${source} rcu REGEX "include <linux/rcu")
		if((rcu AND NOT USLAB_URCU) OR (USLAB_SANITIZE AND sanitize STREQUAL "no"))
			continue()
		endif()
		cmake_path(GET source STEM stem)
		string(REGEX REPLACE "_test$" "" name ${stem})
		add_executable(test_linux_${name} ${source} ${PROJECT_SOURCE_DIR}/tests/linux/main.c)
		set_target_properties(test_linux_${name} PROPERTIES OUTPUT_NAME ${stem}
			RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/linux)
		target_link_libraries(test_linux_${name} PRIVATE uslab_internal uslab_linux uslab_flags
			uslab_plain_link)
		if(rcu)
			target_link_libraries(test_linux_${name} PRIVATE ${USLAB_URCU})
		endif()
		uslab_add_test(linux/${name} "${label}" ${timeout} ${serial} "${test_environment}"
			${launcher} $<TARGET_FILE:test_linux_${name}>)
	endforeach()
endfunction()

# The standards as they stand, without extensions.
function(uslab_cpp_tests default_label default_timeout)
	file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cpp/*_test.cpp)
	foreach(source IN LISTS sources)
		uslab_test_options(${source} ${default_label} ${default_timeout})
		cmake_path(GET source STEM stem)
		string(REGEX REPLACE "_test$" "" name ${stem})
		foreach(standard 17 20 23)
			if(NOT cxx_std_${standard} IN_LIST CMAKE_CXX_COMPILE_FEATURES)
				continue()
			endif()
			set(target test_cpp${standard}_${name})
			add_executable(${target} ${source})
			set_target_properties(${target} PROPERTIES OUTPUT_NAME ${stem}
				RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cpp${standard}
				CXX_STANDARD ${standard} CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
			target_compile_options(${target} PRIVATE -O1 -g1) # at -O0 sizes that throw are warned of
			target_link_libraries(${target} PRIVATE uslab_internal uslab_cmocka uslab_flags uslab_plain_link)
			uslab_add_test(cpp${standard}/${name} "${label}" ${timeout} ${serial} "${test_environment}"
				${launcher} $<TARGET_FILE:${target}>)
		endforeach()
	endforeach()
endfunction()

# Programs with a mistake each. Those named malloc_* run under the drop-in, the others use the library.
# Optimised, so that the inline hit paths are inline; the rest as it is written, so that calls stay calls.
function(uslab_misuse_programs)
	file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/misuse/*.c)
	foreach(source IN LISTS sources)
		cmake_path(GET source STEM name)
		add_executable(misuse_${name} ${source})
		set_target_properties(misuse_${name} PROPERTIES OUTPUT_NAME ${name}
			RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/misuse)
		target_compile_options(misuse_${name} PRIVATE -O2 -g -fno-builtin -fno-inline-functions
			-fno-optimize-sibling-calls)
		target_include_directories(misuse_${name} PRIVATE src)
		target_link_libraries(misuse_${name} PRIVATE uslab_flags)
		if(NOT name MATCHES "^malloc_")
			target_link_libraries(misuse_${name} PRIVATE uslab)
		endif()
	endforeach()
endfunction()

set(test_environment
	"ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1"
	"UBSAN_OPTIONS=print_stacktrace=1"
	"TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
if(NOT USLAB_SANITIZE)
	set(test_environment "")
endif()
if(CMAKE_CROSSCOMPILING_EMULATOR MATCHES "qemu-")
	list(APPEND test_environment "USLAB_TEST_EMULATED=1") # tests/support/bare.h
endif()
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
set(script_environment
	"USLAB_BIN=${PROJECT_BINARY_DIR}/bin/uslab"
	"USLAB_LIB=${PROJECT_BINARY_DIR}/lib"
	"USLAB_MALLOC_SO=${PROJECT_BINARY_DIR}/lib/libuslab_malloc.so"
	"USLAB_SRC=${PROJECT_SOURCE_DIR}"
	"USLAB_BUILD=${PROJECT_BINARY_DIR}"
	"USLAB_PYTHON=${USLAB_PYTHON}"
	"USLAB_CC=${CMAKE_C_COMPILER}"
	"USLAB_EMULATOR=${emulator}")

uslab_c_tests(unit *_test.c quick 60)
uslab_c_tests(conformance *_test.c quick 120)
uslab_linux_tests(quick 60)
if(USLAB_CXX)
	uslab_cpp_tests(quick 60)
endif()
# Emulators are slow, and what the others find does not depend on CPU or C library.
if(CMAKE_CROSSCOMPILING)
	uslab_script_tests(foreign quick 120)
	return()
endif()
if(NOT USLAB_SANITIZE STREQUAL "thread")
	uslab_c_tests(fuzz *_fuzz.c quick 120) # one thread each
endif()
uslab_c_tests(race *_test.c race 300)
uslab_c_tests(stress *_test.c stress 600)
uslab_c_tests(numa *_test.c quick 120)
uslab_script_tests(tools quick 120)
uslab_script_tests(programs full 600)
if(NOT USLAB_SANITIZE)
	uslab_misuse_programs()
	uslab_script_tests(misuse quick 120)
endif()
uslab_script_tests(install full 300)
if(NOT USLAB_SANITIZE)
	uslab_add_test(check quick 60 OFF "" ${USLAB_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check.py
		--build ${PROJECT_BINARY_DIR})
endif()
