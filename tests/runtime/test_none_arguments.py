"""None for a parameter that a kernel uses as an object in every launch is refused."""

from __future__ import annotations

import pytest

import sharedoa as oa
from sharedoa import f32, i32


class World(oa.Object):
    gravity: f32
    next: World

    def pull(self) -> f32:
        return self.gravity

    def nothing(self) -> f32:
        return 1.0


class Hill(World):
    def pull(self) -> f32:
        return -self.gravity


@oa.func
def uses(world: World) -> f32:
    return world.gravity * 2.0


@oa.func
def looks(world: World) -> f32:
    if world is None:
        return 0.0
    return world.gravity


@oa.kernel
def field(out: oa.Array[f32], world: World):
    out[0] = world.gravity


@oa.kernel
def call(out: oa.Array[f32], world: World):
    i = oa.grid(1)
    if i < len(out):
        out[i] = world.pull()


@oa.kernel
def through(out: oa.Array[f32], world: World):
    if oa.grid(1) < len(out):
        out[0] = uses(world)


@oa.kernel
def bound(out: oa.Array[f32], world: World):
    for k in range(i32(world.gravity)):
        out[0] += f32(k)


@oa.kernel
def checked(out: oa.Array[f32], world: World):
    i = oa.grid(1)
    if world is None:
        return
    out[i] = world.gravity


@oa.kernel
def asked(out: oa.Array[f32], world: World):
    out[0] = looks(world)


@oa.kernel
def short(out: oa.Array[f32], world: World):
    if world is not None and world.gravity > 0.0:
        out[0] = 1.0


@oa.kernel
def chosen(out: oa.Array[f32], world: World):
    out[0] = 0.0 if world is None else world.gravity


@oa.kernel
def asserted(out: oa.Array[f32], world: World):
    assert world is not None
    out[0] = world.gravity


@oa.kernel
def replaced(out: oa.Array[f32], other: World, world: World):
    if world is None:
        world = other
    out[0] = world.gravity


@oa.kernel
def rarely(out: oa.Array[f32], world: World):
    for k in range(len(out) - 1):
        out[k] = world.gravity


@oa.kernel
def later(out: oa.Array[f32], world: World):
    while len(out) > 100:
        return
    out[0] = world.gravity


CERTAIN = [field, call, through, bound]


@pytest.mark.parametrize("kernel", CERTAIN, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_what_is_certain_is_refused(kernel, backend):
    with oa.Heap(backend=backend):
        out = oa.zeros(1, f32)
        with pytest.raises(oa.ArgumentError, match="argument world: this is None") as caught:
            kernel[1](out, None)
        assert "if world is not None" in caught.value.help
        with pytest.raises(oa.ArgumentError, match="argument world: this is None"):
            kernel[1](out, world=None)
        with oa.capture():
            with pytest.raises(oa.ArgumentError, match="this is None"):
                kernel[1](out, None)
        assert out[0] == 0.0
        kernel[1](out, oa.new(World, gravity=2.0))


def test_launches_in_which_nobody_uses_it_are_not():
    with oa.Heap(backend="cpu"):
        for kernel in CERTAIN:
            kernel[0](oa.zeros(1, f32), None)
        call[1](oa.zeros(0, f32), None)


@pytest.mark.parametrize(
    "kernel", [checked, asked, short, chosen, rarely], ids=lambda kernel: kernel.__name__
)
def test_what_may_be_meant_is_not_refused(kernel):
    with oa.Heap(backend="cpu"):
        out = oa.zeros(1, f32)
        kernel[1](out, None)
        assert out[0] == 0.0


def test_parameters_that_change_are_not_claimed():
    with oa.Heap(backend="cpu"):
        out = oa.zeros(1, f32)
        replaced[1](out, oa.new(World, gravity=3.0), None)
        assert out[0] == 3.0


def test_asserts_come_first():
    heap = oa.Heap(backend="cpu")
    with pytest.raises(oa.DeviceError, match="assertion"):
        asserted[1](heap.zeros(1, f32), None)
        heap.synchronize()


def test_what_stands_behind_a_return_is_not_claimed():
    with oa.Heap(backend="cpu"):
        later[1](oa.zeros(200, f32), None)
