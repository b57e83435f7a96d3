# SPDX-License-Identifier: MIT
#
# uslab_order_functions(<target> <file>): the functions that the file names (# begins a comment) come
# first in the target, one behind the other, and the variables that it calls large or seldom used
# come last. The kernel maps all that it has of the 64 KiB around a page of a file that is touched, or
# more, so functions that lie apart make a small process larger by the whole library; and small
# variables between large ones have a page each.
#
# It maps nothing around a page beyond the mapping that the page is in. So the functions that run in
# every process have a mapping (a segment) of their own, and so have the others that are named: the
# linker begins a new one where pages of addresses are left out. And constants lie in the mapping of
# the symbols, which the loader has read anyway, not with the tables of the unwinder, which hardly
# anybody needs: docs/adr/0059.
#
# GNU ld and GCC's link-time optimisation only, which gives each function a section; elsewhere
# the order is the linker's, and nothing else differs.
function(uslab_order_functions target file)
	if(NOT has_lto) # cmake/flags.cmake
		return()
	endif()
	# The one that links the library: flags may name another than the compiler's own.
	separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_SHARED_LINKER_FLAGS}")
	if(CMAKE_LINKER_TYPE AND NOT CMAKE_LINKER_TYPE MATCHES "^(DEFAULT|SYSTEM)$")
		string(TOLOWER "-fuse-ld=${CMAKE_LINKER_TYPE}" type)
		list(APPEND flags ${type})
	endif()
	execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -Wl,--version OUTPUT_VARIABLE linker ERROR_QUIET)
	if(NOT linker MATCHES "^GNU ld ")
		return()
	endif()
	set(path ${PROJECT_SOURCE_DIR}/${file})
	set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	file(READ ${path} names)
	string(REGEX REPLACE ".*\n# in every process([^#]*)\n# .*" "\\1" every "${names}")
	string(REGEX REPLACE ".*\n# at the start(.*)\n# large.*" "\\1" first "${names}")
	string(REGEX REPLACE ".*\n# large[^\n]*" "" variables "${names}")
	foreach(part every first)
		string(REGEX MATCHALL "\n[a-zA-Z_][^\n]*" functions "${${part}}")
		set(sections_${part} "")
		foreach(name IN LISTS functions)
			string(STRIP ${name} name)
			foreach(kind text text.unlikely text.startup)
				string(APPEND sections_${part} "\t\t*(.${kind}.${name} .${kind}.${name}.*)\n")
			endforeach()
		endforeach()
	endforeach()
	# What the compiler and libc add: it runs in every process.
	foreach(file *crtbegin*.o *libc_nonshared.a:* *libgcc.a:*)
		string(APPEND sections_every "\t\t${file}(.text .text.*)\n")
	endforeach()
	# So does what GCC makes of several constructors: one function.
	string(APPEND sections_every "\t\t*(.text.startup._sub_I_*)\n")
	# The kernel reads a word of it whenever it switches a thread off that has run a sequence.
	string(APPEND sections_first "\t\t*(__rseq_failure)\n")
	string(REGEX MATCHALL "\n[a-z_][^\n]*" variables "${variables}")
	set(large "")
	foreach(name IN LISTS variables)
		string(STRIP ${name} name)
		string(APPEND large "\t\t*(.bss.${name} .bss.${name}.*)\n")
	endforeach()
	set(script ${PROJECT_BINARY_DIR}/${target}.order)
	set(apart "\t. = ALIGN(CONSTANT(MAXPAGESIZE)) + CONSTANT(MAXPAGESIZE);")
	file(CONFIGURE OUTPUT ${script} @ONLY CONTENT
		"SECTIONS {\n\t.rodata.first : { *(.rodata .rodata.*) }\n} INSERT AFTER .rela.plt;
SECTIONS {\n\t.fini : { KEEP(*(SORT_NONE(.fini))) }
\t.text.every : {\n@sections_every@\t}\n@apart@
\t.text.first : {\n@sections_first@\t}\n@apart@\n} INSERT BEFORE .text;
SECTIONS {\n\t.bss.last : {\n@large@\t}\n} INSERT AFTER .bss;\n")
	target_link_options(${target} PRIVATE -ffunction-sections -fdata-sections -Wl,-T,${script})
	set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# uslab_pack_relocations(<target>): addresses in tables take a bit in the file where they took 24
# bytes, which the loader reads in every process. Where linker and C library can do that: glibc from
# 2.36 on, musl from 1.2.4 on; an older glibc says so and does not load the library.
include(CheckCSourceRuns)
function(uslab_pack_relocations target)
	if(CMAKE_CROSSCOMPILING)
		return()
	endif()
	set(CMAKE_REQUIRED_FLAGS -fPIE)
	set(CMAKE_REQUIRED_LINK_OPTIONS -pie -Wl,-z,pack-relative-relocs -Wl,--fatal-warnings)
	check_c_source_runs("static int here[9]; int *volatile table[] = { here, here + 8 };
		int main(void) { return table[1] != here + 8; }" has_packed_relocations)
	if(has_packed_relocations)
		target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
	endif()
endfunction()
