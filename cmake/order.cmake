# SPDX-License-Identifier: MIT
#
# uslab_order_functions(<target> <file>): the functions that the file names (# begins a comment) come
# first in the target, one behind the other. The kernel maps 64 KiB around each page of code that is
# touched, so functions that lie apart make a small process larger by the whole library.
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
	file(STRINGS ${path} names REGEX "^[a-z_]")
	# What the compiler and libc add: it runs in every process.
	set(sections "")
	foreach(file *crtbegin*.o *libc_nonshared.a:* *libgcc.a:*)
		string(APPEND sections "\t\t${file}(.text .text.*)\n")
	endforeach()
	foreach(name IN LISTS names)
		foreach(kind text text.unlikely text.startup)
			string(APPEND sections "\t\t*(.${kind}.${name} .${kind}.${name}.*)\n")
		endforeach()
	endforeach()
	set(script ${PROJECT_BINARY_DIR}/${target}.order)
	file(CONFIGURE OUTPUT ${script} @ONLY CONTENT
		"SECTIONS {\n\t.fini : { KEEP(*(SORT_NONE(.fini))) }\n\t.text.first : {\n@sections@\t}\n} INSERT BEFORE .text;\n")
	target_link_options(${target} PRIVATE -ffunction-sections -Wl,-T,${script})
	set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
