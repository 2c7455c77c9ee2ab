"""Steps of objects as functions of PyTorch and JAX, with gradients: their optimisers train what
objects hold.

    move = oa.torch_function(step, inputs=[springs.rest], outputs=[nodes.pos])
    (pos,) = move(rest)                     # torch.Tensor to torch.Tensor
    ((pos - target) ** 2).sum().backward()  # rest.grad

Both write what they are given into fields and arrays, call ``step`` in a block of ``oa.tape()``,
and give what other fields and arrays hold then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..heap.adjoints import adjoints_of
from ..heap.arrays import Array, FieldView
from .tape import Tape
from .traced import Traced

if TYPE_CHECKING:
    from ..heap.heap import Heap

Numbers = np.ndarray[Any, Any]
Place = FieldView | Array


class _Step:
    """A step between places of one heap."""

    def __init__(
        self, step: Callable[[], Any], inputs: Sequence[Place], outputs: Sequence[Place]
    ) -> None:
        self.step, self.inputs, self.outputs = step, [*inputs], [*outputs]
        places = [*self.inputs, *self.outputs]
        for place in places:
            is_place = isinstance(place, (FieldView, Array))
            if not is_place or np.dtype(place.dtype).kind != "f":
                raise ArgumentError(
                    f"a field or array of floats is wanted, not {type(place).__name__}",
                    "pass fields of objects, nodes.pos, and arrays of f32 and f64",
                )
        if not self.outputs or not self.inputs:
            raise ArgumentError("a step without inputs or outputs has no gradient", "name some")
        self.heap: Heap = places[0]._heap
        if any(place._heap is not self.heap for place in places):
            raise ArgumentError("inputs and outputs are of several heaps", "use one heap for all")

    def take(self, given: Sequence[Numbers]) -> tuple[Tape, list[Traced]]:
        """Write inputs, take the step, and read outputs."""
        if len(given) != len(self.inputs):
            raise ArgumentError(
                f"the step has {len(self.inputs)} inputs, and is given {len(given)}",
                "pass a tensor for each of inputs=[...]",
            )
        with self.heap:
            for place, values in zip(self.inputs, given, strict=True):
                if values.shape != place.shape:
                    raise ArgumentError(
                        f"an input has the shape {place.shape}, and is given {values.shape}",
                        "pass tensors of the shapes of the fields and arrays",
                    )
                place[...] = values
            with Tape(self.heap) as tape:
                self.step()
                found = [tape.read(place, place.numpy()) for place in self.outputs]
        return tape, found

    def reverse(
        self, tape: Tape, outputs: Sequence[Traced], gradients: Sequence[Numbers]
    ) -> list[Numbers]:
        """The gradients of the inputs, of those of the outputs."""
        with self.heap:
            tape.zero()
            loss = sum((o * g).sum() for o, g in zip(outputs, gradients, strict=True))
            tape.backward(loss)
            found = [_adjoint(place) for place in self.inputs]
            tape.zero()
        return found


def _adjoint(place: Place) -> Numbers:
    adjoints = adjoints_of(place._heap)
    if isinstance(place, Array):
        return adjoints.of_array(place).copy()
    found = adjoints.mirrored(place._selection).read(place.path)
    return np.array(found).reshape(place.shape)


def torch_function(
    step: Callable[[], Any], inputs: Sequence[Place], outputs: Sequence[Place]
) -> Callable[..., tuple[Any, ...]]:
    """A function of PyTorch (``torch.autograd.Function``): it takes a tensor for each of
    ``inputs``, of the same shape, and gives a tensor for each of ``outputs``; tensors on a GPU pass
    through the host. ``step`` launches kernels and calls methods of objects; what it changes and is
    not among the inputs stays as it leaves it. The adjoints of the heap are zero after the way
    back, which may be gone once for each call.

    Raises ArgumentError for what is no field or array of floats, and ImportError without PyTorch.
    """
    import torch

    taken = _Step(step, inputs, outputs)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, *tensors: Any) -> tuple[Any, ...]:
            given = [tensor.detach().cpu().numpy() for tensor in tensors]
            context.tape, context.outputs = taken.take(given)
            context.kinds = [(tensor.dtype, tensor.device) for tensor in tensors]
            device = tensors[0].device
            found = [torch.from_numpy(each.numpy()).to(device) for each in context.outputs]
            return tuple(found)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context: Any, *gradients: Any) -> tuple[Any, ...]:
            given = [gradient.cpu().numpy() for gradient in gradients]
            found = taken.reverse(context.tape, context.outputs, given)
            return tuple(
                torch.from_numpy(each).to(device=device, dtype=dtype)
                for each, (dtype, device) in zip(found, context.kinds, strict=True)
            )

    apply: Callable[..., tuple[Any, ...]] = Function.apply
    return apply


def jax_function(
    step: Callable[[], Any], inputs: Sequence[Place], outputs: Sequence[Place]
) -> Callable[..., tuple[Any, ...]]:
    """A function of JAX (``jax.custom_vjp`` around ``jax.pure_callback``), as ``torch_function`` is
    one of PyTorch; it may be in ``jax.jit``. JAX counts it as pure and may call it as often as it
    likes, so all that ``step`` changes and begins with is to be among the inputs. On the way back
    the step is taken again. For f64 JAX needs ``jax_enable_x64``.

    Raises ArgumentError for what is no field or array of floats, and ImportError without JAX.
    """
    import jax

    taken = _Step(step, inputs, outputs)

    def shapes(places: Sequence[Place]) -> tuple[Any, ...]:
        canonical = jax.dtypes.canonicalize_dtype
        return tuple(jax.ShapeDtypeStruct(each.shape, canonical(each.dtype)) for each in places)

    def cast(numbers: Sequence[Numbers], places: Sequence[Place]) -> tuple[Numbers, ...]:
        pairs = zip(numbers, shapes(places), strict=True)
        return tuple(np.asarray(each, shape.dtype) for each, shape in pairs)

    def there(*given: Any) -> tuple[Numbers, ...]:
        _, found = taken.take([np.asarray(each) for each in given])
        return cast([each.numpy() for each in found], taken.outputs)

    def back(given: Sequence[Any], gradients: Sequence[Any]) -> tuple[Numbers, ...]:
        tape, found = taken.take([np.asarray(each) for each in given])
        numbers = [np.asarray(each) for each in gradients]
        return cast(taken.reverse(tape, found, numbers), taken.inputs)

    @jax.custom_vjp
    def function(*given: Any) -> tuple[Any, ...]:
        return tuple(jax.pure_callback(there, shapes(taken.outputs), *given))

    def forward(*given: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return function(*given), given

    def backward(given: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(jax.pure_callback(back, shapes(taken.inputs), given, gradients))

    function.defvjp(forward, backward)
    made: Callable[..., tuple[Any, ...]] = function
    return made
