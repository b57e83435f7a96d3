# SPDX-License-Identifier: MIT
#
# examples/info.py - which caches of a process hold the most memory: of this one, or that of a number
#
#   $ LD_PRELOAD=libuslab_malloc.so python3 info.py | sed -n 's/-[0-9].*/-SIZE/; 1,2p'
#   python3, the largest caches first:
#   malloc-SIZE
#   $ python3 info.py 2>&1 | sed 's/process [0-9]* (/process (/; s/;.*//'
#   info.py: process (python3) does not use uslab
import os
import sys

import uslab

try:
    snapshot = uslab.process(int(sys.argv[1]) if len(sys.argv) > 1 else os.getpid())
except uslab.Error as error:
    sys.exit(f"info.py: {error}")

print(f"{snapshot.program}, the largest caches first:")
caches = [cache for cache in snapshot.caches if cache.id]  # the others are rows for whole pages
for cache in sorted(caches, key=lambda cache: -cache.slab_bytes)[:5]:
    print(f"{cache.name}: {cache.slab_bytes} bytes")
