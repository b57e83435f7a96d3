/* SPDX-License-Identifier: MIT */
/*
 * uslab/arch/rseq.h - does this CPU, and this libc, have restartable sequences
 *
 * USLAB_HAVE_RSEQ is 1 where the inline hit paths exist: x86-64 with glibc >= 2.35, which
 * registers each thread, and a compiler that knows asm goto with outputs (GCC >= 11, Clang >= 11).
 * USLAB_NO_RSEQ, defined by the program, switches them off.
 */
#ifndef USLAB_ARCH_RSEQ_H
#define USLAB_ARCH_RSEQ_H

#include <stddef.h>
#include <stdint.h> /* glibc: __GLIBC_PREREQ, which <stddef.h> alone does not define */

#if defined(__clang__)
#define USLAB_ASM_GOTO_OUTPUTS (__clang_major__ >= 11)
#elif defined(__GNUC__)
#define USLAB_ASM_GOTO_OUTPUTS (__GNUC__ >= 11)
#else
#define USLAB_ASM_GOTO_OUTPUTS 0
#endif

#if defined(__x86_64__) && defined(__LP64__) && defined(__GLIBC_PREREQ) && !defined(USLAB_NO_RSEQ)
#if __GLIBC_PREREQ(2, 35) && USLAB_ASM_GOTO_OUTPUTS
#define USLAB_HAVE_RSEQ 1
#endif
#endif
#ifndef USLAB_HAVE_RSEQ
#define USLAB_HAVE_RSEQ 0
#endif

#if USLAB_HAVE_RSEQ
#include <uslab/arch/rseq-x86_64.h>
#ifdef __cplusplus
extern "C" {
#endif
/*
 * __rseq_offset of <sys/rseq.h>: where struct rseq lies, from the thread pointer. By a name
 * of our own: that header declares its name with C++ linkage (glibc 2.36), and brings in
 * names of the kernel's headers.
 */
extern const ptrdiff_t uslab_rseq_offset __asm__("__rseq_offset");
#ifdef __cplusplus
}
#endif
#endif

#endif /* USLAB_ARCH_RSEQ_H */
