# SPDX-License-Identifier: MIT
#
# Compiler flags, as interface targets:
#
#   uslab_flags        every file of the project
#   uslab_lto_objects  objects of the library: machine code and LTO code side by side
#   uslab_lto_link     links that optimise the whole
#   uslab_plain_link   links that take the machine code of such objects (quick; the tests)

add_library(uslab_flags INTERFACE)
add_library(uslab_lto_objects INTERFACE)
add_library(uslab_lto_link INTERFACE)
add_library(uslab_plain_link INTERFACE)
set(uslab_relocatable_flags "") # of the link of all objects into the one of libuslab.a

target_compile_options(uslab_flags INTERFACE
	$<$<COMPILE_LANGUAGE:C>:-std=gnu17> -Wall -Wextra
	"$<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes;-Wstrict-prototypes>"
	$<$<BOOL:${USLAB_WERROR}>:-Werror>
	# An allocator hands the same bytes out under one type after another.
	$<$<COMPILE_LANGUAGE:C>:-fno-strict-aliasing>)
# Empty, so that a file that says "#define _GNU_SOURCE" for itself agrees. C++ has it defined.
target_compile_definitions(uslab_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)
# The project around may have others, and -Werror.
if(NOT PROJECT_IS_TOP_LEVEL)
	target_compile_options(uslab_flags INTERFACE -w)
endif()

if(USLAB_DEBUG)
	target_compile_definitions(uslab_flags INTERFACE USLAB_DEBUG_BUILD=1)
endif()
foreach(choice USLAB_NO_RSEQ USLAB_NO_DWCAS USLAB_NO_TOOL_HEADERS)
	if(${choice})
		target_compile_definitions(uslab_flags INTERFACE ${choice}=1)
	endif()
endforeach()

if(USLAB_SANITIZE)
	target_compile_options(uslab_flags INTERFACE -fsanitize=${USLAB_SANITIZE}
		-fno-sanitize-recover=all -fno-omit-frame-pointer)
	target_link_options(uslab_flags INTERFACE -fsanitize=${USLAB_SANITIZE})
	if(USLAB_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
		# GCC says that tsan does not see fences; the places that rely on one say so themselves.
		target_compile_options(uslab_flags INTERFACE -Wno-tsan)
	endif()
endif()

# Who packages it may ask for LTO of all files alike, by flags or by CMake's setting. The library's
# objects need machine code beside it, since they are put together and names in them are made local:
# that asks for USLAB_LTO. The other files are built without.
set(wants_lto ${USLAB_LTO})
set(ipo CMAKE_INTERPROCEDURAL_OPTIMIZATION)
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
string(JOIN " " flags "" ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} ${CMAKE_CXX_FLAGS}
	${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS})
if(flags MATCHES " -flto" OR ${ipo} OR ${ipo}_${type})
	set(wants_lto ON)
	set(${ipo} OFF)
	set(${ipo}_${type} OFF)
	target_compile_options(uslab_flags INTERFACE -fno-lto)
endif()

# Clang's LTO objects have no machine code in them, and an archive of them serves Clang with one
# linker only: with Clang the library is built without.
if(wants_lto AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT USLAB_SANITIZE)
	include(CheckIPOSupported)
	check_ipo_supported(RESULT has_lto OUTPUT why LANGUAGES C)
	if(has_lto)
		target_compile_options(uslab_lto_objects INTERFACE -flto=auto -ffat-lto-objects)
		target_link_options(uslab_lto_link INTERFACE -flto=auto -O2)
		target_link_options(uslab_plain_link INTERFACE -fno-lto)
		# Machine code, so that any compiler and linker can use the archive.
		set(uslab_relocatable_flags -flto=auto -O2 -flinker-output=nolto-rel)
	else()
		message(STATUS "uslab: built without LTO: ${why}")
	endif()
endif()
# GCC takes -fno-lto of a link as the last word, wherever it stands: not with uslab_lto_link.
if(wants_lto AND NOT has_lto)
	target_link_options(uslab_flags INTERFACE -fno-lto)
endif()
