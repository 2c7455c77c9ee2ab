"""A function of kernels in a file of its own."""

import sharedoa as oa
from sharedoa import f32


@oa.func
def square(x: f32) -> f32:
    return x * x
