# SPDX-License-Identifier: MIT
#
# The C++ compiler that belongs to the C compiler, by its name: USLAB_CXX says whether there is one. The
# library needs none; the tests of <uslab/cache.hpp> and its loads (bench/) do. The build of another project
# has the languages that it asked for.

set(USLAB_CXX OFF)
if(NOT CMAKE_CROSSCOMPILING AND (PROJECT_IS_TOP_LEVEL OR USLAB_TESTS OR USLAB_TOOLS))
	cmake_path(GET CMAKE_C_COMPILER FILENAME cxx)
	string(REGEX REPLACE "clang" "clang++" cxx ${cxx})
	string(REGEX REPLACE "gcc|^cc$" "g++" cxx ${cxx})
	find_program(CMAKE_CXX_COMPILER ${cxx})
	if(CMAKE_CXX_COMPILER)
		enable_language(CXX)
		set(USLAB_CXX ON)
		foreach(type RELEASE DEBUG)
			set(CMAKE_CXX_FLAGS_${type} ${CMAKE_C_FLAGS_${type}})
		endforeach()
	endif()
endif()
