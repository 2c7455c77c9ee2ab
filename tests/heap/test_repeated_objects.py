"""Views with an object twice, where a device writes them in any order: the last value counts."""

from __future__ import annotations

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import i64
from sharedoa.backends.cpu import CpuBackend


class Counted(oa.Object):
    x: i64


class AnyOrder(CpuBackend):
    """Writes the values of scattered objects as threads of a device may: the first one last."""

    def scatter(self, addresses, offset, data):
        super().scatter(addresses[::-1].copy(), offset, data[::-1].copy())


BACKENDS = [AnyOrder(), pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("mode", ["cuda", "concord"])
@pytest.mark.parametrize("backend", BACKENDS, ids=["any order", "cuda"])
def test_the_last_value_counts(backend, mode):
    with oa.Heap(mode=mode, backend=backend):
        many = oa.new(Counted, 1000, x=5)
        places = np.random.default_rng(1).integers(0, 1000, 5000)
        expected, values = np.full(1000, 5), np.arange(5000)
        many[places].x = values
        expected[places] = values
        np.testing.assert_array_equal(many.x.numpy(), expected)
        many[places].x += values
        expected[places] += values
        np.testing.assert_array_equal(many.x.numpy(), expected)
