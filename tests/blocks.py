"""Blocks so small that a small table is many of them, in memory, on disk and on a cluster.

A table of a test is one block in the sizes that serve speed: threads, order and borders are not tried on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from assay.rows import _blocks, _stream

BLOCK_ROWS = 64

# Names by which modules of pairwise methods say what one thread takes at a time, and below which size none is
# asked. Those of compiled loops are left: they are compiled in.
SHARES = {
    "BLOCK": 64,
    "PIECE": 32,
    "ROWS": 64,
    "ROWS_A_BLOCK": 32,
    "SMALL": 0,
    "SMALL_ROWS": 0,
    "TASK_ROWS": 64,
    "TILE_QUERIES": 64,
    "TILE_ROWS": 64,
}
LEFT = ("assay.distances.tree",)  # a tree is cut on threads where each of them gets some leaves


@contextmanager
def small_blocks() -> Iterator[None]:
    """Walk rows in blocks of 64, read files two blocks at a time, give threads small shares."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "MIN_BLOCK_ROWS", BLOCK_ROWS)
        patch.setattr(_blocks, "MAX_BLOCK_ROWS", BLOCK_ROWS)
        patch.setattr(_stream, "UNIT_BYTES", 2**12)  # two blocks of four columns
        for module, share in shares():
            patch.setattr(module, share, SHARES[share])
        yield


def shares() -> list[tuple[ModuleType, str]]:
    """The modules that are loaded and what each of them calls a share."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith("assay.")}
    kept = [module for name, module in modules.items() if "loops" not in name and name not in LEFT]
    return [
        (module, share) for module in kept for share in SHARES if isinstance(vars(module).get(share), int)
    ]
