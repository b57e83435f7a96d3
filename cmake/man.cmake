# SPDX-License-Identifier: MIT
#
# cmake -DSCDOC=PROGRAM -DINPUT=PAGE.scd -DOUTPUT=PAGE -DEXAMPLES=FOLDER -P man.cmake
#
# One man page. A line @examples/NAME@ stands for that file, without its first line (the licence).

file(READ ${INPUT} text)
string(REGEX MATCHALL "\n@examples/[a-z_.]+@\n" markers "${text}")
foreach(marker IN LISTS markers)
	string(REGEX REPLACE "^\n@examples/(.*)@\n$" "\\1" name "${marker}")
	file(READ ${EXAMPLES}/${name} code)
	string(FIND "${code}" "\n" end)
	math(EXPR end "${end} + 1")
	string(SUBSTRING "${code}" ${end} -1 code)
	string(REPLACE "\\" "\\\\" code "${code}") # as scdoc takes it
	string(REPLACE "\t" "        " code "${code}") # man has tab stops of its own
	string(REPLACE "${marker}" "\n```\n${code}```\n" text "${text}")
endforeach()

cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
file(WRITE ${OUTPUT}.scd "${text}")
execute_process(COMMAND ${SCDOC} INPUT_FILE ${OUTPUT}.scd OUTPUT_FILE ${OUTPUT} RESULT_VARIABLE status)
file(REMOVE ${OUTPUT}.scd)
if(NOT status EQUAL 0)
	file(REMOVE ${OUTPUT})
	message(FATAL_ERROR "scdoc: ${INPUT}")
endif()
