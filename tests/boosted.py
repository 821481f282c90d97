"""Boosted trees with damage, and what their certificates say of it."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np


def changed(model, **fields):
    """A copy of a model with other arrays in its trees."""
    other = copy.copy(model)
    other.trees_ = dataclasses.replace(model.trees_, **fields)
    return other


def damaged(model):
    """Copies of a model, each with a number that predictions or proofs read moved by 1 %, or two swapped."""
    trees = model.trees_
    for name in ("value", "threshold", "gain", "weight", "slope", "curvature", "baseline"):
        values = getattr(trees, name).copy()
        values[np.nanargmax(np.abs(values))] *= 1.01
        yield name, changed(model, **{name: values})
    inner = np.flatnonzero(trees.feature >= 0)
    root = inner[0]
    other = next(node for node in inner if trees.feature[node] != trees.feature[root])
    for name in ("feature", "cut"):
        values = getattr(trees, name).copy()
        values[root], values[other] = values[other], values[root] + (name == "cut")
        yield name, changed(model, **{name: values})
    for node in (root, inner[-1]):
        sides = trees.missing_go_to_left.copy()
        sides[node] = ~sides[node]
        yield "missing_go_to_left", changed(model, missing_go_to_left=sides)
        left, right = trees.children_left.copy(), trees.children_right.copy()
        left[node], right[node] = right[node], left[node]
        yield "children", changed(model, children_left=left, children_right=right)
    for level in range(12 if len(trees.bits) else 0):
        bits = trees.bits.copy()
        bits[0, 0] ^= np.uint32(1 << level)
        yield f"bit {level}", changed(model, bits=bits)
    counts = trees.n_codes.copy()
    counts[2] -= 1
    yield "n_codes", changed(model, n_codes=counts)


def claim(model, rows, beginning):
    return next(one for one in model.certify(*rows) if one.claim.startswith(beginning))
