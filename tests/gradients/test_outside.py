"""``oa.torch_function`` and ``oa.jax_function``: gradients of steps of objects are those of the
same step in PyTorch and JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sharedoa as oa
from sharedoa import f32, f64

COUNT = 6


class Bead(oa.Object):
    place: oa.vec2d
    weight: f64
    heat: f32

    def move(self) -> None:
        self.place += oa.vec2d(math.sin(self.place.y), self.weight * self.place.x)


class Heavy(Bead):
    def move(self) -> None:
        self.place *= self.weight * self.weight


@oa.kernel
def look(beads: oa.Array[Bead], out: oa.Array[f64]) -> None:
    i = oa.grid(1)
    out[i] = beads[i].place.x * beads[i].place.y


class Setting:
    """Beads of both classes, and a step of two launches."""

    def __init__(self) -> None:
        self.beads: oa.Array[Bead] = oa.concat(oa.new(Bead, 3), oa.new(Heavy, 3))
        self.out = oa.zeros(COUNT, f64)
        rng = np.random.default_rng(8)
        self.place, self.weight = rng.normal(size=(COUNT, 2)), rng.normal(size=COUNT)

    def step(self) -> None:
        oa.all(Bead).move()
        look[COUNT](self.beads, self.out)

    @property
    def inputs(self) -> list[Any]:
        return [self.beads.place, self.beads.weight]

    @property
    def outputs(self) -> list[Any]:
        return [self.beads.place, self.out]


@pytest.fixture
def setting() -> Any:
    with oa.Heap(mode="auto", backend="cpu", capacity="64MiB"):
        yield Setting()


def test_torch_trains_objects(setting: Setting) -> None:
    torch = pytest.importorskip("torch")

    def plain(place: Any, weight: Any) -> tuple[Any, Any]:
        x, y = place[:, 0], place[:, 1]
        is_light = torch.arange(COUNT) < 3
        moved = torch.stack(
            [
                torch.where(is_light, x + torch.sin(y), x * weight**2),
                torch.where(is_light, y + weight * x, y * weight**2),
            ],
            1,
        )
        return moved, moved[:, 0] * moved[:, 1]

    def loss_of(function: Callable[..., Any], *given: Any) -> Any:
        moved, out = function(*given)
        return (moved**3).sum() + (out * torch.arange(COUNT)).sum()

    step = oa.torch_function(setting.step, setting.inputs, setting.outputs)
    found = []
    for function in (step, plain):
        given = [torch.tensor(each, requires_grad=True) for each in (setting.place, setting.weight)]
        loss = loss_of(function, *given)
        loss.backward()
        found.append((loss.detach(), *(each.grad for each in given)))
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-14)
    # Ten steps of an optimiser make the loss smaller.
    weight = torch.tensor(setting.weight, requires_grad=True)
    place, optimiser = torch.tensor(setting.place), torch.optim.Adam([weight], lr=0.05)
    losses = []
    for _ in range(10):
        optimiser.zero_grad()
        moved, _ = step(place, weight)
        loss = (moved**2).sum()
        loss.backward()
        losses.append(loss.item())
        optimiser.step()
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def test_torch_calls_may_wait_for_their_way_back(setting: Setting) -> None:
    torch = pytest.importorskip("torch")
    step = oa.torch_function(setting.step, setting.inputs, setting.outputs)
    place = torch.tensor(setting.place, requires_grad=True)
    first, _ = step(place, torch.tensor(setting.weight))
    second, _ = step(first, torch.tensor(setting.weight))  # a step of what comes of the first
    second.sum().backward()
    once = place.grad
    numbers = setting.place.copy()
    slopes = np.zeros_like(numbers)
    for at in np.ndindex(*numbers.shape):
        moved = []
        for by in (1e-6, -1e-6):
            changed = numbers.copy()
            changed[at] += by
            result = torch.tensor(changed)
            for _ in range(2):
                result, _ = step(result, torch.tensor(setting.weight))
            moved.append(result.sum().item())
        slopes[at] = (moved[0] - moved[1]) / 2e-6
    np.testing.assert_allclose(once.numpy(), slopes, rtol=1e-6, atol=1e-7)


def test_jax_differentiates_steps(setting: Setting) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    with jax.enable_x64(True):
        step = oa.jax_function(setting.step, setting.inputs, setting.outputs)

        def plain(place: Any, weight: Any) -> tuple[Any, Any]:
            x, y = place[:, 0], place[:, 1]
            is_light = jnp.arange(COUNT) < 3
            first = jnp.where(is_light, x + jnp.sin(y), x * weight**2)
            second = jnp.where(is_light, y + weight * x, y * weight**2)
            return jnp.stack([first, second], 1), first * second

        def loss_of(function: Callable[..., Any], place: Any, weight: Any) -> Any:
            moved, out = function(place, weight)
            return (moved**3).sum() + (out * jnp.arange(COUNT)).sum()

        given = jnp.asarray(setting.place), jnp.asarray(setting.weight)
        for is_compiled in (False, True):
            found = []
            for function in (step, plain):
                value = jax.value_and_grad(
                    lambda *each, function=function: loss_of(function, *each), (0, 1)
                )
                value = jax.jit(value) if is_compiled else value
                loss, slopes = value(*given)
                found.append((loss, *slopes))
            for one, two in zip(*found, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


def test_what_is_wrong_is_said(setting: Setting) -> None:
    for library, make in (("torch", oa.torch_function), ("jax", oa.jax_function)):
        pytest.importorskip(library)
        with pytest.raises(oa.ArgumentError, match="a field or array of floats is wanted"):
            make(setting.step, [setting.beads], setting.outputs)
        with pytest.raises(oa.ArgumentError, match="without inputs or outputs"):
            make(setting.step, [], setting.outputs)
        with oa.Heap(capacity="64MiB") as other:
            elsewhere = other.zeros(3, f64)
        with pytest.raises(oa.ArgumentError, match="several heaps"):
            make(setting.step, setting.inputs, [elsewhere])
    torch = pytest.importorskip("torch")
    step = oa.torch_function(setting.step, setting.inputs, setting.outputs)
    with pytest.raises(oa.ArgumentError, match="2 inputs, and is given 1"):
        step(torch.tensor(setting.place))
    with pytest.raises(oa.ArgumentError, match=r"has the shape \(6, 2\), and is given \(6,\)"):
        step(torch.tensor(setting.weight), torch.tensor(setting.weight))
