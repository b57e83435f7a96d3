# SPDX-License-Identifier: MIT
#
# Source lists by glob, and the lists of exported names.

# A target needs one source; a floor that is still empty gets a file that says nothing.
function(uslab_at_least_one list)
	if(NOT ${list})
		set(empty ${PROJECT_BINARY_DIR}/empty.c)
		if(NOT EXISTS ${empty})
			file(WRITE ${empty} "extern int uslab_empty;\n")
		endif()
		set(${list} ${empty} PARENT_SCOPE)
	endif()
endfunction()

# uslab_sources(<out> FLOORS <floor>...): the .c files of those floors that USLAB_FLOORS asks for.
# src/arch is one folder per CPU, of which only this CPU's and generic are compiled.
function(uslab_sources out)
	cmake_parse_arguments(arg "" "" "FLOORS" ${ARGN})
	set(all "")
	foreach(floor IN LISTS arg_FLOORS)
		if(NOT floor IN_LIST USLAB_FLOORS)
			continue()
		endif()
		if(floor STREQUAL "arch")
			file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/arch/*.c
				${PROJECT_SOURCE_DIR}/src/arch/generic/*.c
				${PROJECT_SOURCE_DIR}/src/arch/${USLAB_CPU}/*.c)
		else()
			file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${floor}/*.c)
		endif()
		list(APPEND all ${found})
	endforeach()
	uslab_at_least_one(all)
	set(${out} ${all} PARENT_SCOPE)
endfunction()

# uslab_export_only(<target> <file> <version node>): a linker version script made from the file,
# which has one name a line and # comments.
function(uslab_export_only target file node)
	set(path ${PROJECT_SOURCE_DIR}/${file})
	set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	set(names "")
	if(EXISTS ${path})
		file(STRINGS ${path} names REGEX "^[A-Za-z_]")
	endif()
	if(NOT names)
		message(STATUS "uslab: ${file} names nothing: ${target} exports what it will")
		return()
	endif()
	list(JOIN names ";\n\t\t" names)
	set(map ${PROJECT_BINARY_DIR}/${target}.map)
	file(CONFIGURE OUTPUT ${map} @ONLY CONTENT
		"@node@ {\n\tglobal:\n\t\t@names@;\n\tlocal:\n\t\t*;\n};\n")
	target_link_options(${target} PRIVATE -Wl,--version-script=${map})
	set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${map})
endfunction()

# uslab_rename_malloc(<target>): the sanitizers call malloc before they can bear instrumented code, so
# in their builds the drop-in's C names get a prefix, here and in its tests: the tests then see
# uslab's malloc, and the sanitizer keeps its own.
function(uslab_rename_malloc target)
	if(NOT USLAB_SANITIZE)
		return()
	endif()
	file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/symbols-malloc.txt names REGEX "^[a-z]")
	list(FILTER names EXCLUDE REGEX "^uslab_")
	foreach(name IN LISTS names)
		target_compile_definitions(${target} PRIVATE ${name}=renamed_${name})
	endforeach()
	# Among them "malloc", which also is the name of an attribute.
	target_compile_options(${target} PRIVATE -Wno-attributes)
endfunction()
