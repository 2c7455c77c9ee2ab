"""The ``python`` backend's launch: CPython runs the kernel, one thread index after another.

The kernel sees proxies of the same memory that compiled kernels use, so pdb and print work as
anywhere. Threads of a kernel that has a barrier are real threads, one block at a time.
"""

from __future__ import annotations

import bdb
import itertools
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatch.dataclass import replace

from ..backends.together import run_together
from ..errors import DeviceError, SharedOAError
from ..model.classes import Signature
from ..model.extent import EXTENT, Extent
from ..model.scalars import u32
from ..tracebacks import is_ours
from .cpython_births import LaunchInCPython
from .geometry import Geometry, Pair
from .host_intrinsics import BlockBarrier, HostThread, current_thread

if TYPE_CHECKING:
    from .program_source import Source


def part_of_launch() -> Callable[[], bool]:
    """What tells whether a thread is part of the launch that the calling one is about to run, or of
    another one in CPython."""
    here = threading.get_ident()
    return lambda: threading.get_ident() == here or current_thread.get() is not None


def launch(
    source: Source, arguments: tuple[Any, ...], geometry: Geometry, objects: LaunchInCPython
) -> None:
    """Run the program's function for every thread index, x fastest; ``objects`` makes and ends
    those that it makes and ends.

    Raises DeviceError from whatever the kernel raised, naming the thread and the source line.
    """
    name, threads = source.name, geometry.threads

    def thread(index: Pair, barrier: BlockBarrier | None) -> HostThread:
        return HostThread(index, threads, barrier, source.function, objects)

    objects.begin(in_other_threads=source.uses_barrier)
    if source.uses_barrier:
        for indices in _blocks(threads, geometry.block):
            _run_block(name, arguments, indices, thread)
        return
    with np.errstate(all="ignore"):
        for y, x in itertools.product(range(threads[1]), range(threads[0])):
            _run_thread(name, arguments, thread((x, y), None))


def all_by_position(function: Callable[..., Any]) -> FunctionType:
    """The function with its parameters in their order, whichever are given by name only."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    code = code.replace(co_argcount=count, co_kwonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def along_three_axes(
    signature: Signature, function: Callable[..., Any]
) -> tuple[Signature, Callable[..., Any]]:
    """The signature of a kernel that asks for ``oa.grid(3)``, whose first argument is the extent of
    the launch, and what runs it."""

    def run(extent: Extent, *given: Any) -> None:
        thread = current_thread.get()
        assert thread is not None
        # Errors name the user's function, not this one.
        thread.function, thread.extent = function, extent
        if extent.holds(u32(thread.index[1])):
            function(*given)

    extent_type = Extent.__sharedoa_value__  # type: ignore[attr-defined]
    names, types = (EXTENT, *signature.names), (extent_type, *signature.types)
    never_named = 1 + signature.never_named
    return replace(signature, names=names, types=types, never_named=never_named), run


def _run_thread(name: str, arguments: tuple[Any, ...], thread: HostThread) -> None:
    around = current_thread.get()
    try:
        current_thread.set(thread)
        thread.function(*arguments)
    except bdb.BdbQuit:
        raise
    except Exception as error:
        raise _device_error(error, name, thread) from error
    finally:
        current_thread.set(around)


def _blocks(threads: Pair, block: Pair) -> Iterator[list[Pair]]:
    for y0, x0 in itertools.product(range(0, threads[1], block[1]), range(0, threads[0], block[0])):
        rows = range(y0, min(y0 + block[1], threads[1]))
        columns = range(x0, min(x0 + block[0], threads[0]))
        yield [(x, y) for y, x in itertools.product(rows, columns)]


def _run_block(
    name: str,
    arguments: tuple[Any, ...],
    indices: list[Pair],
    make: Callable[[Pair, BlockBarrier], HostThread],
) -> None:
    barrier = BlockBarrier(len(indices))
    errors: list[BaseException] = []

    def run(index: Pair) -> None:
        try:
            with np.errstate(all="ignore"):
                _run_thread(name, arguments, make(index, barrier))
        except BaseException as error:
            errors.append(error)
        finally:
            barrier.leave()

    # Nothing ends threads of CPython.
    run_together(lambda number: run(indices[number]), len(indices), cancel=lambda threads: None)
    if errors:
        raise errors[0]


def _device_error(error: Exception, name: str, thread: HostThread) -> DeviceError:
    """Names the innermost line that is not ours; the original stays reachable as the cause."""
    code = thread.function.__code__
    place = code.co_filename, code.co_firstlineno
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_ours(file):
            place = file, trace.tb_lineno
        trace = trace.tb_next
    message = error.message if isinstance(error, SharedOAError) else str(error)
    index = thread.index[0] if thread.size[1] == 1 else thread.index
    help = "step into the kernel with pdb on the python backend: put breakpoint() before that line"
    if isinstance(error, DeviceError):  # in the words of compiled kernels already
        help = error.help
    else:
        if "__trunc__" in message:
            help = "write int(x): NumPy's numbers, which fields hold, know no math.trunc"
        message = f"{type(error).__name__}: {message}"
    return DeviceError(f"kernel {name}, thread {index}: {message}\nat {place[0]}:{place[1]}", help)
