# SPDX-License-Identifier: MIT
#
# libuslab_rcu, which binds liburcu, where liburcu is there for this compiler; and its tests, one program for
# each flavour:
#
#   urcu/*.c                  lib/libuslab_rcu.so, lib/libuslab_rcu.a
#   tests/urcu/*_test.c       label quick   urcu/<flavour>/<name>; not under sanitizers, which liburcu does not know

include(CheckIncludeFiles)
# as urcu/uslab_rcu.c includes it: <urcu/flavor.h> of liburcu 0.15 does not compile alone
check_include_files("urcu/call-rcu.h;urcu/flavor.h" USLAB_HAVE_URCU)
if(NOT USLAB_HAVE_URCU)
	message(STATUS "uslab: libuslab_rcu is not built: there is no liburcu")
	return()
endif()

file(GLOB urcu_sources CONFIGURE_DEPENDS urcu/*.c)
add_library(uslab_rcu SHARED ${urcu_sources})
add_library(uslab_rcu_static STATIC ${urcu_sources})
set_target_properties(uslab_rcu PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${uslab_abi})
set_target_properties(uslab_rcu_static PROPERTIES OUTPUT_NAME uslab_rcu)
target_link_libraries(uslab_rcu PUBLIC uslab)
target_link_libraries(uslab_rcu_static PUBLIC uslab_static)
foreach(target uslab_rcu uslab_rcu_static)
	set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
	target_compile_options(${target} PRIVATE -fvisibility=hidden)
	target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:uslab_flags>)
endforeach()

if(NOT USLAB_TESTS OR USLAB_SANITIZE OR CMAKE_CROSSCOMPILING)
	return()
endif()
file(GLOB urcu_tests CONFIGURE_DEPENDS tests/urcu/*_test.c)
foreach(flavour memb mb bp qsbr)
	find_library(USLAB_URCU_${flavour} urcu-${flavour} NO_CACHE)
	if(NOT USLAB_URCU_${flavour})
		continue()
	endif()
	foreach(source IN LISTS urcu_tests)
		cmake_path(GET source STEM stem)
		string(REGEX REPLACE "_test$" "" name ${stem})
		set(target test_urcu_${flavour}_${name})
		add_executable(${target} ${source} ${urcu_sources})
		set_target_properties(${target} PROPERTIES OUTPUT_NAME ${stem}_${flavour}
			RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/urcu)
		target_compile_definitions(${target} PRIVATE URCU_TEST_${flavour}=1)
		target_link_libraries(${target} PRIVATE uslab_test_support uslab_flags ${USLAB_URCU_${flavour}})
		uslab_add_test(urcu/${flavour}/${name} quick 60 OFF "${test_environment}" $<TARGET_FILE:${target}>)
	endforeach()
endforeach()
