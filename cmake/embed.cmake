# SPDX-License-Identifier: MIT
#
# Files as constants of a program: this file is included by the build, and run as a script by it.

# uslab_embed(<target> <folder> <table> <header> <file>...): adds a C file to the target that
# defines what <header> declares: <table>_files, one entry per file, and <table>_nr_files.
function(uslab_embed target folder table header)
	set(output ${PROJECT_BINARY_DIR}/embedded/${table}_files.c)
	set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
	add_custom_command(OUTPUT ${output} DEPENDS ${ARGN} ${script} VERBATIM
		COMMENT "Embedding ${folder}"
		COMMAND ${CMAKE_COMMAND} -D "OUTPUT=${output}" -D "FOLDER=${folder}" -D "TABLE=${table}"
			-D "HEADER=${header}" -D "FILES=${ARGN}" -P ${script})
	target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
	return()
endif()

set(text "#include \"${HEADER}\"\n")
set(entries "")
set(number 0)
foreach(file IN LISTS FILES)
	file(READ ${file} bytes HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
	file(RELATIVE_PATH name ${FOLDER} ${file})
	string(APPEND text "static const unsigned char file_${number}[] = {${bytes}0};\n")
	string(APPEND entries
		"\t{ \"${name}\", (const char *)file_${number}, sizeof(file_${number}) - 1 },\n")
	math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "const struct ${TABLE}_file ${TABLE}_files[] = {\n${entries}};\n"
	"const size_t ${TABLE}_nr_files = ${number};\n")
file(WRITE ${OUTPUT} "${text}")
