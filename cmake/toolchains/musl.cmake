# SPDX-License-Identifier: MIT
#
# The musl C library by way of musl-gcc (musl-tools), for the CPU that builds.
#
# musl-gcc does not look into the system's folders, where the kernel's headers are: a folder of links has
# nothing else.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR env)

set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
file(CREATE_LINK /usr/include/linux ${kernel_headers}/linux SYMBOLIC)
file(CREATE_LINK /usr/include/asm-generic ${kernel_headers}/asm-generic SYMBOLIC)
file(GLOB asm_folder /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/asm /usr/include/asm)
list(GET asm_folder 0 asm_folder)
file(CREATE_LINK ${asm_folder} ${kernel_headers}/asm SYMBOLIC)
# Not in CMAKE_C_FLAGS_INIT, which is not looked at where the user gives CMAKE_C_FLAGS.
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${kernel_headers})
