# SPDX-License-Identifier: MIT
"""What is known of a process, a cache, its flags and its events: made by scripts/python_fields.py."""
from dataclasses import dataclass
from typing import Dict, List, Optional


@dataclass(frozen=True)
class Totals:
    """A process, as a whole."""

    version_text: str
    """version of the library in the process"""

    rseq: bool
    """per-CPU arrays use restartable sequences"""

    cpus: int
    """highest CPU number + 1"""

    nodes: int
    """highest node number + 1"""

    arena_base: str
    """first address of the arena"""

    arena_end: str
    """address behind the last page in use so far"""

    arena_bytes: int
    """bytes of the arena grown so far"""

    arena_limit: int
    """bytes that the arena can grow to"""

    slab_bytes: int
    """bytes of all slabs and heaps"""

    runs: int
    """allocations of whole pages in the arena"""

    run_bytes: int
    """their bytes"""

    mapped: int
    """allocations with a mapping of their own"""

    mapped_bytes: int
    """their bytes"""

    free_bytes: int
    """free pages of the arena, in bytes"""

    dirty_bytes: int
    """of these, pages still resident"""

    listed_bytes: int
    """of the free pages, those that CPUs keep"""

    unknown_bytes: int
    """slabs of caches that came or went meanwhile"""

    meta_bytes: int
    """mapped for the allocator's own data"""

    realtime_bytes: int
    """pages made ready at start (USLAB_CONF=realtime), in bytes; 0: off"""

    realtime_locked: int
    """of these, locked: all or none; free_bytes says how much is left"""

    realtime_exceeded: int
    """calls that needed memory of the system since; frees are not counted"""

    limit: int
    """bytes that the process may have; 0: any number"""

    held_bytes: int
    """what counts for that: pages in use, resident free ones, single mappings"""

    limit_refused: int
    """attempts to take more; a request makes several, and the last may not have failed"""

    shrinkers: int
    """shrinkers that the program has registered"""

    shrinker_scanned: int
    """objects that they looked at"""

    shrinker_freed: int
    """objects that they freed"""

    reclaims_cgroup: int
    """times that memory was reclaimed since the cgroup came near its limit"""

    reclaims_psi: int
    """times that it was since tasks waited for memory"""

    reports: int
    """errors reported so far"""

    fixes: int
    """repairs reported so far"""

    undelivered: int
    """reports that report.file did not take, or without one standard error"""

    suppressed: int
    """reports that were not written: see report.burst in uslab(1), or there was no space"""

    isolated: int
    """slabs and heap pages let go of since their free list was overwritten"""

    reserve_blocks: int
    """blocks in use of the reserve for signal handlers that interrupted the allocator"""

    reserve_served: int
    """blocks that it gave so far, also to store deferred frees"""

    reserve_failed: int
    """calls of such handlers for which it had none"""

    reserve_lost: int
    """objects lost since their free could not be deferred"""

    deferred_frees: int
    """frees of such handlers, and of kfree_nolock(), that are still to be done"""

    stacks: int
    """distinct call stacks kept"""

    guard_bugs: int
    """errors found by guard pages"""

    inconsistent: int
    """values read that could not be true, and were left out"""


@dataclass(frozen=True)
class Flags:
    """How a cache was made, and what of it is checked."""

    cache_dma: bool
    """memory of the DMA zone"""

    hwcache_align: bool
    """aligned to cache lines"""

    poison: bool
    """free objects are poisoned"""

    reclaim_account: bool
    """accounted as reclaimable"""

    red_zone: bool
    """red zones around objects"""

    sanity_checks: bool
    """consistency is checked"""

    store_user: bool
    """last user of each object is kept"""

    trace: bool
    """allocations and frees are traced"""

    destroy_by_rcu: bool
    """memory stays of its type for a while"""

    failslab: bool
    """allocations may be made to fail"""

    skip_kfence: bool
    """no objects beside guard pages"""

    account: bool
    """each object is charged to the group of its thread"""

    account_inline: bool
    """objects have keys, for charged hits inline"""


@dataclass(frozen=True)
class Stats:
    """Events of a cache, which are counted with USLAB_CONF=stats."""

    alloc_fastpath: int
    """allocations counted as fast (array hits are not counted)"""

    alloc_slowpath: int
    """allocations that needed a lock or a slab"""

    free_fastpath: int
    """frees counted as fast (array hits are not counted)"""

    free_slowpath: int
    """frees that went to their slab"""

    free_frozen: int
    """frees into a slab that belongs to a CPU"""

    free_add_partial: int
    """frees that put a full slab on a partial list"""

    free_remove_partial: int
    """frees that took an empty slab off its list"""

    alloc_from_partial: int
    """slabs taken from a node's partial list"""

    alloc_slab: int
    """slabs made"""

    alloc_refill: int
    """refills from the cpu slab's own free list"""

    alloc_node_mismatch: int
    """cpu slabs of a node that was not asked for"""

    free_slab: int
    """slabs given back"""

    cpuslab_flush: int
    """cpu slabs taken from a CPU"""

    deactivate_full: int
    """cpu slabs put down full"""

    deactivate_empty: int
    """cpu slabs put down empty"""

    deactivate_to_head: int
    """cpu slabs put at the head of a partial list"""

    deactivate_to_tail: int
    """cpu slabs put at the tail of a partial list"""

    deactivate_remote_frees: int
    """cpu slabs put down with remote frees"""

    deactivate_bypass: int
    """cpu slabs that ran out of objects"""

    order_fallback: int
    """slabs made smaller than wished"""

    cmpxchg_double_cpu_fail: int
    """per-CPU sequences begun again"""

    cmpxchg_double_fail: int
    """slab updates begun again"""

    cpu_partial_alloc: int
    """slabs taken from a CPU's partial list"""

    cpu_partial_free: int
    """slabs put on a CPU's partial list by a free"""

    cpu_partial_node: int
    """slabs put on a CPU's partial list from the node"""

    cpu_partial_drain: int
    """CPU partial lists put back to their nodes"""

    alloc_cpu_sheaf: int
    """allocations from a CPU's sheaf (era 6.18)"""

    free_cpu_sheaf: int
    """frees into a CPU's sheaf (era 6.18)"""

    free_rcu_sheaf: int
    """kfree_rcu() into a CPU's sheaf"""

    free_rcu_sheaf_fail: int
    """kfree_rcu() that found no sheaf"""

    sheaf_flush: int
    """objects flushed from sheaves to slabs"""

    sheaf_refill: int
    """objects from slabs into sheaves"""

    sheaf_alloc: int
    """sheaves made"""

    sheaf_free: int
    """sheaves freed"""

    barn_get: int
    """full sheaves got from a barn"""

    barn_get_fail: int
    """times that a barn had none"""

    barn_put: int
    """full sheaves put into a barn"""

    barn_put_fail: int
    """full sheaves that a barn had no space for"""

    sheaf_prefill_fast: int
    """lent sheaves that were a CPU's spare"""

    sheaf_prefill_slow: int
    """lent sheaves of a barn, or made"""

    sheaf_prefill_oversize: int
    """lent sheaves of more than sheaf_capacity"""

    sheaf_return_fast: int
    """lent sheaves that became a CPU's spare"""

    sheaf_return_slow: int
    """lent sheaves for which a CPU had no place"""


@dataclass(frozen=True)
class Cache:
    """A cache; or a row for whole pages or a heap, if its id is 0."""

    name: str
    """name of the first creator"""

    unique_id: str
    """the kernel's id of a mergeable cache, else empty"""

    engine: str
    """how objects are packed into pages"""

    front: str
    """what a CPU caches"""

    id: int
    """number of the cache; 0: not a cache, but a row for whole pages or a heap"""

    refcount: int
    """1 + aliases; 0: destroyed with live objects"""

    object_size: int
    """bytes that a user may use"""

    usersize: int
    """bytes of an object that may be copied to users; 0: none"""

    slab_size: int
    """bytes from one object to the next, in new slabs"""

    align: int
    """alignment of objects in bytes"""

    ctor: bool
    """objects have a constructor"""

    ctor_address: Optional[int]
    """its address, a number"""

    order: int
    """new slabs have 1 << order pages"""

    objs_per_slab: int
    """objects in a new slab"""

    min_partial: int
    """partial slabs a node keeps even when empty"""

    cpu_partial: int
    """objects a CPU may keep in partial slabs"""

    cpu_partial_slabs: Optional[int]
    """the same as a number of slabs"""

    remote_node_defrag_ratio: int
    """how often slabs of other nodes are taken, of 1000"""

    capacity: Optional[int]
    """objects one array of a CPU holds; 0: no arrays"""

    objects: int
    """live objects: those the program holds"""

    object_bytes: int
    """their bytes; of a heap: all bytes in use in its pages"""

    objects_held: Optional[int]
    """cached free objects: per CPU, in depots or queues, lent"""

    objects_cpu: Optional[int]
    """of these, held by CPUs"""

    objects_depot: Optional[int]
    """of these, in the nodes' depots"""

    depot_limit: Optional[int]
    """objects that the depots may hold now"""

    depot_overflows: Optional[int]
    """full arrays for which a depot had no space"""

    depot_underflows: Optional[int]
    """how often one was empty soon after that, and so may hold more"""

    depot_exchanges: Optional[int]
    """arrays of scattered objects, or of other CPUs' slabs, exchanged for neighbours"""

    objects_shared: Optional[int]
    """of these, in the nodes' shared queues"""

    objects_alien: Optional[int]
    """of these, in queues and sheaves for their own node"""

    objects_lent: Optional[int]
    """of these, in sheaves lent to the program"""

    total_objects: int
    """objects that all slabs have room for"""

    objects_partial: int
    """objects in use in partial slabs"""

    slabs: int
    """slabs, those of CPUs included; of a heap: pages"""

    partial: int
    """slabs on the nodes' partial lists"""

    cpu_slabs: int
    """slabs that belong to a CPU"""

    slabs_cpu_partial: int
    """of these, slabs on partial lists of CPUs"""

    debug_slabs: Optional[int]
    """slabs of checked objects"""

    guarded: Optional[int]
    """slabs of one object beside a guard page"""

    tracked: Optional[int]
    """live objects whose users are stored"""

    sampled: Optional[bool]
    """users of some allocations are stored"""

    slab_bytes: int
    """bytes of all slabs; none where objects lie in a heap"""

    movable: Optional[bool]
    """its objects can be moved, so that slabs become empty"""

    defrag_used_ratio: Optional[int]
    """percent of a slab's objects in use up to which it is emptied"""

    defrag_slabs: Optional[int]
    """slabs emptied and given back; each counts, also one that objects were moved to before"""

    defrag_bytes: Optional[int]
    """their bytes; slab_bytes may have become less by not so many"""

    defrag_moved: Optional[int]
    """objects that were moved for that"""

    defrag_refused: Optional[int]
    """times that the program did not move an object"""

    limit: Optional[int]
    """bytes that its slabs may have; 0: any number"""

    limit_refused: Optional[int]
    """allocations that failed for that"""

    group: int
    """accounting group that its objects are charged to; 0: none"""

    group_size: int
    """bytes that it is charged with for each"""

    aliases: List[str]
    """its other names"""
    nodes: List[Dict[str, int]]
    """the same counts by node, of nodes where it has slabs"""
    flags: Flags
    memory: Optional[Dict[str, int]]
    """its resident bytes; None: not known, or no cache"""
    stats: Optional[Stats]
    """None: the kernel whose tree this is does not count them"""
