# SPDX-License-Identifier: MIT
#
# What `make install` builds, and puts where: libraries, headers, the command, uslab*.pc, the CMake package
# with the targets uslab::uslab (shared), uslab::uslab_static, uslab::uslab_linux (headers),
# uslab::uslab_malloc (the drop-in) and uslab::uslab_inspect, the man pages, gdb's commands and Python's module.

include(CMakePackageConfigHelpers)

install(TARGETS uslab uslab_static uslab_linux EXPORT uslab-targets
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET uslab_rcu)
	install(TARGETS uslab_rcu uslab_rcu_static EXPORT uslab-targets
		LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
		ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS uslab_malloc EXPORT uslab-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/uslab DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET uslab_command)
	install(TARGETS uslab_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(TARGETS uslab_inspect EXPORT uslab-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
	find_program(USLAB_PYTHON python3 HINTS /usr/bin NO_CACHE)
	file(GLOB python_files CONFIGURE_DEPENDS python/uslab/*.py)
	list(JOIN python_files "\" \"" python_files)
	set(python_files "\"${python_files}\"")
	configure_file(cmake/install-python.cmake.in install-python.cmake @ONLY)
	install(SCRIPT ${PROJECT_BINARY_DIR}/install-python.cmake)
endif()

install(FILES tools/gdb/uslab-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/uslab)
# gdb loads NAME-gdb.py together with the library of that name, from the library's folder as seen from its
# auto-load directory. That folder is known with the prefix, when things are installed.
set(gdb_script ${PROJECT_SOURCE_DIR}/tools/gdb/uslab-gdb.py)
set(gdb_libraries "libuslab.so.${PROJECT_VERSION} libuslab_malloc.so")
configure_file(cmake/install-gdb.cmake.in install-gdb.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install-gdb.cmake)

install(DIRECTORY tools/bpftrace DESTINATION ${CMAKE_INSTALL_DATADIR}/uslab FILES_MATCHING PATTERN "*.bt")

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/uslab)
install(EXPORT uslab-targets NAMESPACE uslab:: DESTINATION ${cmake_dir})
configure_package_config_file(cmake/uslab-config.cmake.in ${PROJECT_BINARY_DIR}/uslab-config.cmake
	INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/uslab-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/uslab-config.cmake
	${PROJECT_BINARY_DIR}/uslab-config-version.cmake DESTINATION ${cmake_dir})

# These find their prefix from their own place, so that the tree may be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix /p/${pc_dir} /p)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_cflags "")
if(USLAB_NO_RSEQ)
	set(pc_cflags " -DUSLAB_NO_RSEQ=1")
endif()
foreach(pc uslab.pc uslab-linux.pc)
	configure_file(cmake/${pc}.in ${pc} @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${pc} DESTINATION ${pc_dir})
endforeach()
function(uslab_pc pc_name pc_description)
	configure_file(cmake/uslab-library.pc.in uslab-${pc_name}.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/uslab-${pc_name}.pc DESTINATION ${pc_dir})
endfunction()
uslab_pc(malloc "the drop-in malloc of uslab, for programs that are linked to it")
if(TARGET uslab_inspect)
	uslab_pc(inspect "looks into the allocators of processes and cores, as uslab info does")
endif()
if(TARGET uslab_rcu)
	configure_file(cmake/uslab_rcu.pc.in uslab_rcu.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/uslab_rcu.pc DESTINATION ${pc_dir})
endif()

# docs/man/NAME.SECTION.scd -> man pages; a page of section 3 also by the name of each further function
find_program(USLAB_SCDOC scdoc NO_CACHE)
file(GLOB man_sources CONFIGURE_DEPENDS docs/man/*.scd)
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c examples/*.cpp examples/*.py)
set(man_pages "")
# Beside those of section 1.
set(pages_of_tools uslab-python.3 uslab_inspect_json.3)
foreach(source IN LISTS man_sources)
	cmake_path(GET source STEM LAST_ONLY page)
	cmake_path(GET page STEM LAST_ONLY page_name)
	cmake_path(GET page EXTENSION LAST_ONLY section)
	string(SUBSTRING "${section}" 1 -1 section)
	if(NOT USLAB_SCDOC)
		continue()
	endif()
	set(man_folder ${PROJECT_BINARY_DIR}/man/man${section})
	set(output ${man_folder}/${page})
	set(examples "")
	if(section EQUAL 3)
		set(examples ${example_sources})
	endif()
	add_custom_command(OUTPUT ${output} VERBATIM
		DEPENDS ${source} ${examples} ${PROJECT_SOURCE_DIR}/cmake/man.cmake
		COMMAND ${CMAKE_COMMAND} -DSCDOC=${USLAB_SCDOC} -DINPUT=${source} -DOUTPUT=${output}
			-DEXAMPLES=${PROJECT_SOURCE_DIR}/examples -P ${PROJECT_SOURCE_DIR}/cmake/man.cmake)
	list(APPEND man_pages ${output})
	if((section EQUAL 1 OR page IN_LIST pages_of_tools) AND NOT TARGET uslab_command)
		continue() # what they are about is not installed
	endif()
	install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
	if(section EQUAL 3)
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
		file(READ ${source} text)
		string(REGEX REPLACE ".*# NAME\n+([^#]*) - .*" "\\1" names "${text}")
		string(REPLACE "\\" "" names "${names}") # scdoc's \_
		string(REGEX MATCHALL "[A-Za-z0-9_-]+" names "${names}")
		list(REMOVE_ITEM names ${page_name})
		foreach(name IN LISTS names)
			file(CONFIGURE OUTPUT ${man_folder}/${name}.3 CONTENT ".so man3/${page}\n" @ONLY)
			install(FILES ${man_folder}/${name}.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
		endforeach()
	endif()
endforeach()
set(man_target man)
if(NOT PROJECT_IS_TOP_LEVEL)
	set(man_target uslab_man) # the project around may have a "man" of its own
endif()
if(man_pages)
	add_custom_target(${man_target} ALL DEPENDS ${man_pages})
endif()

# All that is installed and nothing else: what `make install` builds. (`cmake --install` builds nothing;
# ninja's own target "install" builds all there is.)
add_custom_target(uslab_install)
foreach(target uslab uslab_static uslab_malloc uslab_rcu uslab_rcu_static uslab_command uslab_inspect
		uslab_bench_null uslab-bench-worker
		uslab-bench-cache uslab-bench-kernel ${man_target})
	if(TARGET ${target})
		add_dependencies(uslab_install ${target})
	endif()
endforeach()
