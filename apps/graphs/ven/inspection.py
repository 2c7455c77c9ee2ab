"""Kernels that read the vertices after the sweeps."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from .vertices import VirtVertexFloat, VirtVertexInt


@oa.kernel
def kernel_copy_back_int(vertices: oa.Array[VirtVertexInt], values: oa.Array[i32]) -> None:
    i = oa.grid(1)
    values[i] = vertices[i].get_value()


@oa.kernel
def kernel_copy_back_float(vertices: oa.Array[VirtVertexFloat], values: oa.Array[f32]) -> None:
    i = oa.grid(1)
    values[i] = vertices[i].get_value()
