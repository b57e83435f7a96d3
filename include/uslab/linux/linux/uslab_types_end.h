/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/uslab_types_end.h - ends what <linux/uslab_types_begin.h> began
 */
#undef atomic64_t
#undef atomic_long_t
#pragma pop_macro("gfp_t")
#pragma pop_macro("GFP_KERNEL")
#pragma pop_macro("GFP_ATOMIC")
#pragma pop_macro("__GFP_HIGHMEM")
#pragma pop_macro("__GFP_HIGH")
