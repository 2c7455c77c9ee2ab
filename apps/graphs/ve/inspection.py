"""Kernels that read the vertices after the sweeps."""

from __future__ import annotations

import sharedoa as oa
from sharedoa import f32, i32

from .vertices import ChiVertexFloat, ChiVertexInt


@oa.kernel
def kernel_copy_back_int(vertices: oa.Array[ChiVertexInt], values: oa.Array[i32]) -> None:
    i = oa.grid(1)
    values[i] = vertices[i].value


@oa.kernel
def kernel_copy_back_float(vertices: oa.Array[ChiVertexFloat], values: oa.Array[f32]) -> None:
    i = oa.grid(1)
    values[i] = vertices[i].value
