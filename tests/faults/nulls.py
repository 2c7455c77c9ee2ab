"""References that are None where an object is needed."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import Any

import numpy as np

import sharedoa as oa
from dispatch.mode import MODES
from sharedoa import f64, i32

from .catalogue import CPU, case
from .probe import still_works
from .verdicts import backend, check, check_equal, in_debug, may_refuse, refuses


class Node(oa.Object):
    number: i32
    next: Node

    def value(self) -> i32:
        return self.number

    def following(self) -> i32:
        return self.next.number

    def of_following(self) -> i32:
        return self.next.value()

    def put(self, number: i32) -> None:
        self.next.number = number


class Twice(Node):
    def value(self) -> i32:
        return self.number * 2


@oa.value
class Link:
    to: Node
    weight: i32


class Hub(oa.Object):
    links: oa.inline[Node, 4]
    first: Link
    items: oa.Array[i32]


class Wide(oa.Object):
    before: oa.inline[f64, 200_000]
    number: i32
    next: Wide


def nodes(count: int = 8) -> Any:
    return oa.concat(oa.new(Node, count, number=1), oa.new(Twice, count, number=2))


@case()
def stored_to() -> None:
    """A kernel stores to a field of None."""

    @oa.kernel
    def store(many: oa.Array[Node]):
        many[oa.grid(1)].next.number = 7

    many = nodes()
    with refuses(oa.DeviceError, "null|None", "store"):
        store[len(many)](many)
        oa.synchronize()
    still_works()


@case()
def read_from() -> None:
    """A kernel reads a field of None."""

    @oa.kernel
    def read(many: oa.Array[Node], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = many[i].next.number

    many = nodes()
    out = oa.zeros(len(many), i32)
    with refuses(oa.DeviceError, "null|None", "read"):
        read[len(many)](many, out)
        oa.synchronize()
    still_works()


@case(backends=CPU)
def stored_to_beside_a_large_mapping() -> None:
    """A store through None while somebody else has mapped 9 GiB."""

    @oa.kernel
    def store(many: oa.Array[Node]):
        many[oa.grid(1)].next.number = 7

    size = 9 << 30
    no_reserve = 0x4000
    before = [_mapping(size, no_reserve) for _ in range(2)]
    many = nodes()
    after = [_mapping(size, no_reserve) for _ in range(2)]
    with refuses(oa.DeviceError, "null|None"):
        store[len(many)](many)
        oa.synchronize()
    for place in (*before, *after):
        check(_resident(place) == 0, "a page of somebody else's memory was written")


def _mapping(size: int, no_reserve: int) -> np.ndarray:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


def _resident(array: np.ndarray) -> int:
    """Pages of the array's mapping that anybody has touched, in KiB."""
    address = array.ctypes.data
    is_here = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            is_here = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif is_here and line.startswith("Rss:"):
            return int(line.split()[1])
    raise AssertionError("the mapping is not listed")


@case()
def virtual_call() -> None:
    """A kernel calls a virtual method of None."""

    @oa.kernel
    def call(many: oa.Array[Node], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = many[i].next.value()

    many = nodes()
    out = oa.zeros(len(many), i32)
    with refuses(oa.DeviceError, "null|None", "call"):
        call[len(many)](many, out)
        oa.synchronize()
    still_works()


@case()
def virtual_call_in_every_mode() -> None:
    """A virtual call of None in every dispatch mode."""

    @oa.kernel
    def call(many: oa.Array[Node], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = many[i].next.value()

    # Without debug mode the first fault costs the process the GPU.
    modes = MODES if backend() != "cuda" or in_debug() else MODES[:1]
    for mode in modes:
        # A heap whose GPU is lost says so again at the end of its block.
        with may_refuse(oa.DeviceError, "lost to this process"), oa.Heap(mode=mode) as heap:
            many = nodes()
            out = oa.zeros(len(many), i32)
            with refuses(oa.DeviceError, "null|None|no memory"):
                call[len(many)](many, out)
                heap.synchronize()
    still_works()


@case()
def in_a_vectorised_call() -> None:
    """A method is called on an array with None in it."""
    many = nodes()
    many[3] = None
    with refuses((oa.HeapError, oa.DeviceError, oa.ArgumentError), "null|None"):
        many.value()
        oa.synchronize()
    still_works()


@case()
def in_a_vectorised_call_after_a_good_one() -> None:
    """The same array has been fine before; a kernel has put None into it since."""

    @oa.kernel
    def clear(many: oa.Array[Node]):
        many[3] = None

    many = nodes()
    check_equal(many.value().numpy(), [1] * 8 + [4] * 8)
    clear[1](many)
    with refuses((oa.HeapError, oa.DeviceError, oa.ArgumentError), "null|None"):
        many.value()
        oa.synchronize()


@case()
def in_a_vectorised_call_of_one_class() -> None:
    """The array is of a class without subclasses, so no class has to be looked up."""
    many = oa.new(Twice, 64, number=2)[::2]
    many[5] = None
    with refuses((oa.HeapError, oa.DeviceError, oa.ArgumentError), "null|None"):
        many.value()
        oa.synchronize()
    still_works()


@case()
def field_of_all_objects() -> None:
    """``oa.all(C).method()`` goes through a field that is None."""
    nodes(4)
    with refuses(oa.DeviceError, "null|None"):
        oa.all(Node).following()
        oa.synchronize()
    still_works()


@case()
def virtual_call_of_all_objects() -> None:
    """``oa.all(C).method()`` calls a method of a field that is None."""
    nodes(4)
    with refuses(oa.DeviceError, "null|None"):
        oa.all(Node).of_following()
        oa.synchronize()
    still_works()


@case()
def as_an_argument() -> None:
    """None is passed for an object, whose field is used."""

    @oa.kernel
    def use(node: Node, out: oa.Array[i32]):
        out[0] = node.number

    nodes()
    with refuses((oa.DeviceError, oa.ArgumentError), "null|None"):
        use[1](None, oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case(sample=True)
def as_an_argument_that_is_tested() -> None:
    """None is passed for an object, and the kernel asks."""

    @oa.kernel
    def use(node: Node, out: oa.Array[i32]):
        if node is None:
            out[0] = 5
        else:
            out[0] = node.number

    out = oa.zeros(1, i32)
    use[1](None, out)
    check_equal(out.numpy(), [5])


@case()
def as_the_receiver_of_an_argument() -> None:
    """None is passed for an object, whose virtual method is called."""

    @oa.kernel
    def use(node: Node, out: oa.Array[i32]):
        out[0] = node.value()

    nodes()
    with refuses((oa.DeviceError, oa.ArgumentError), "null|None"):
        use[1](None, oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case()
def in_a_capture() -> None:
    """A recorded launch meets None when it is run."""

    @oa.kernel
    def read(many: oa.Array[Node], out: oa.Array[i32]):
        i = oa.grid(1)
        out[i] = many[i].next.number

    many = nodes()
    out = oa.zeros(len(many), i32)
    with oa.capture() as step:
        read[len(many)](many, out)
    with refuses(oa.DeviceError, "null|None"):
        step.run(3)
        oa.synchronize()
    still_works()


@case()
def vectorised_in_a_capture() -> None:
    """A recorded call on an array in which an element becomes None later."""
    many = nodes()
    with oa.capture() as step:
        many.value()
    step.run(1)
    many[1] = None
    with refuses((oa.HeapError, oa.DeviceError, oa.ArgumentError), "null|None"):
        step.run(1)
        oa.synchronize()
    still_works()


@case()
def element_of_an_array() -> None:
    """A kernel uses an element of ``oa.zeros(n, Class)``."""

    @oa.kernel
    def use(many: oa.Array[Node]):
        many[oa.grid(1)].number = 3

    nodes()
    with refuses(oa.DeviceError, "null|None"):
        use[100](oa.zeros(100, Node))
        oa.synchronize()
    still_works()


@case()
def element_of_an_inline_array() -> None:
    """A kernel uses an element of an inline array of references that was never set."""

    @oa.kernel
    def use(hub: Hub, k: i32, out: oa.Array[i32]):
        out[0] = hub.links[k].number

    nodes()
    with refuses(oa.DeviceError, "null|None"):
        use[1](oa.new(Hub), 2, oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case()
def part_of_a_value() -> None:
    """A kernel uses a reference in a value struct that was never set."""

    @oa.kernel
    def use(hub: Hub, out: oa.Array[i32]):
        out[0] = hub.first.to.number

    nodes()
    with refuses(oa.DeviceError, "null|None"):
        use[1](oa.new(Hub), oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case()
def array_field_never_set() -> None:
    """A kernel reads an element of an array field that was never set."""

    @oa.kernel
    def use(hub: Hub, k: i32, out: oa.Array[i32]):
        out[0] = hub.items[k]

    with refuses(oa.DeviceError, "null|None|bounds|outside|index"):
        use[1](oa.new(Hub), 5, oa.zeros(1, i32))
        oa.synchronize()
    still_works()


@case()
def field_far_behind_null() -> None:
    """The field of None lies 1.6 MB behind where its object would begin."""

    @oa.kernel
    def store(wide: Wide):
        wide.next.number = 7

    wide = oa.new(Wide)
    other = oa.new(Wide, 2, number=1)
    with refuses(oa.DeviceError, "null|None"):
        store[1](wide)
        oa.synchronize()
    still_works()


@case()
def by_many_threads() -> None:
    """A hundred thousand threads store through None."""

    @oa.kernel
    def store(many: oa.Array[Node]):
        i = oa.grid(1)
        if i < len(many):
            many[i].put(i)

    many = oa.new(Node, 100_000)
    with refuses(oa.DeviceError, "null|None"):
        store[len(many)](many)
        oa.synchronize()
    still_works()


@case(backends=CPU)
def by_many_threads_again_and_again() -> None:
    """Fifty launches in turn meet None; each tells, and none costs the heap anything."""

    @oa.kernel
    def store(many: oa.Array[Node]):
        many[oa.grid(1)].put(1)

    many = oa.new(Node, 5000)
    for _ in range(50):
        with refuses(oa.DeviceError, "null|None"):
            store[len(many)](many)
            oa.synchronize()
    still_works()


@case()
def field_on_the_host() -> None:
    """The host reads a field of a field that is None."""
    node = oa.new(Node)
    check(node.next is None, "a new reference is not None")
    with refuses(AttributeError, "None"):
        _ = node.next.number


@case()
def method_on_the_host() -> None:
    """The host calls a method that goes through None."""
    with refuses(AttributeError, "None"):
        oa.new(Node).following()


@case()
def field_of_an_array_with_one() -> None:
    """``objects.field`` where an object is None."""
    many = nodes()
    many[2] = None
    with refuses(oa.HeapError, "null|None"):
        _ = many.number
    with refuses(oa.HeapError, "null|None"):
        many.number = 4
    still_works()


@case()
def to_be_deleted() -> None:
    """``oa.delete`` of an array with None in it, and of None itself."""
    many = nodes()
    many[2] = None
    with refuses(oa.HeapError, "null|None"):
        oa.delete(many)
    check_equal(len(oa.all(Node)), 16, "objects after a refused deletion")
    with refuses((oa.ArgumentError, oa.HeapError), "None|null"):
        oa.delete(None)
    with refuses((oa.ArgumentError, oa.HeapError), "None|null"):
        oa.delete([many[0], None])
    check_equal(len(oa.all(Node)), 16, "objects after a refused deletion")
