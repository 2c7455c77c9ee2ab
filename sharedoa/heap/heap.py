"""The heap: objects and arrays that host and device share, and everything a user asks of them."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from weakref import ref

import numpy as np

from dispatch.mode import Mode

from ..errors import ArgumentError
from ..forks import renew_in_child, tell_child
from ..model.class_body import keep_names_of
from ..model.classes import ClassType
from ..model.clusters import Clusters
from ..model.layout import Layout
from ..model.object import (
    Object,
    has_init,
    require_concrete,
    shared_type,
)
from ..model.reference import ReferenceEncoding
from ..model.scalars import ScalarType
from ..model.types import InlineType, ReferenceType, Type
from ..model.values import convert, to_host
from . import new_arrays, one_field, one_object
from .array_memory import ArrayStorage
from .arrays import Array, ObjectArray, make_array
from .blocks import Block, entered, exit_of_block, without
from .construction import (
    arguments_of_each,
    count_of,
    field_columns,
    initialise,
)
from .conversion import other_heap, raw_value
from .field_references import FieldReferences
from .field_view import FieldView, changes_now
from .held_arrays import HeldArrays
from .launches import HeapOfLaunches
from .living import references_of
from .objects_of_classes import ObjectsOfClasses
from .placement import (
    FieldPath,
    Placement,
    References,
    Selection,
    Values,
    foreign_reference,
)
from .population import Population, RunsOfClasses
from .proxies import Proxies, proxy_of
from .quarantine import user_line
from .recording import is_recorded, require_executing
from .region_index import RegionIndex
from .settings import HeapSettings
from .statistics import HeapStatistics

_get_ident = threading.get_ident
_path = lru_cache(maxsize=4096)(FieldPath)
keep_names_of(FieldReferences, Population)


_PUBLIC = (
    "all", "array", "backend", "concat", "debug", "delete", "dump", "fastmath", "layout", "load",
    "mode", "new", "ordered", "ranges", "stats", "synchronize", "zeros",
)  # fmt: skip


class Heap(HeapOfLaunches):
    """Objects of any classes, placed as ``mode`` says; the environment gives what is not given.

    ``with oa.Heap(...)`` makes it the current heap. ``backend`` says where its kernels run: "cuda"
    is the first GPU, "cuda:1" the second. ``capacity`` is the most bytes that it may reserve,
    ``initial_region`` the number of objects in the first region of a class, ``references`` the bits
    that memory holds of a reference ("32", "64", "auto"); ``fastmath`` whether kernels may
    approximate floating-point arithmetic; ``ordered`` whether objects stand in the order of the
    threads that made them also where their number has no bound. Its memory goes when nothing refers
    to the heap, its objects or its arrays any more.

    Raises ConfigurationError for unknown names or values, BackendError where that does not work.
    """

    def __init__(
        self,
        mode: str | None = None,
        backend: Any = None,
        layout: str | None = None,
        capacity: int | str | None = None,
        initial_region: int | None = None,
        debug: bool | None = None,
        references: str | None = None,
        fastmath: bool | None = None,
        ordered: bool | None = None,
    ) -> None:
        settings = HeapSettings.resolve(
            mode, backend, layout, capacity, initial_region, debug, references, fastmath, ordered
        )
        super().__init__(settings)
        self.mode: Mode = settings.mode
        #: Bytes.
        self.capacity = settings.capacity
        self.layout: Layout = settings.layout
        self.encoding: ReferenceEncoding = settings.encoding
        self.debug = settings.debug
        self.fastmath = settings.fastmath
        self.ordered = settings.ordered
        #: The same object each time, so that who holds it need not call it to know the heap.
        self.weak = ref(self)
        self.proxies = Proxies()
        #: What makes an object (``one_object``), reads and writes a field of one (``one_field``).
        self.makers: dict[Any, one_object.Make] = {}
        self.readers: dict[tuple[type, str], one_field.Read] = {}
        self.writers: dict[tuple[type, str], one_field.Write] = {}
        #: What computes over all elements has made ready (``many.plans``), until memory is short.
        self.plans: dict[Any, Any] = {}
        self._reference_types: dict[ClassType, ReferenceType] = {}
        self.of_classes = ObjectsOfClasses()
        self.memory.let_go = [self.of_classes.forget, self.plans.clear]
        #: Without a look at whether captured steps have changed it (``settle``).
        self.books: Placement = self.memory.placement
        if isinstance(self.books, RegionIndex):
            self.memory.bury = self.proxies.burial(self.books, self.encoding)
        self.runs_of_classes = RunsOfClasses(self.books, self.lock.plain)
        self.pieces.watch(self.books)
        self.held_arrays = HeldArrays(self.memory)
        tell_child(self)

    def __enter__(self) -> Heap:
        if _get_ident() != self.upkeep.thread:
            self.note_thread()
        block = entered(self)
        before = _entered.get()
        try:
            _entered.set((*(each for each in before if each.is_open), block))
            return self
        except BaseException:  # a signal: the block is not entered
            _entered.set(before)
            raise

    @exit_of_block
    def __exit__(self, block: Block, kind: Any, error: Any, trace: Any) -> None:
        _entered.set(without(_entered.get(), block))
        block.stays_open = True
        if kind is None:
            self.synchronize()

    def __reduce__(self) -> Any:
        raise TypeError("a heap is memory and cannot be copied or pickled: keep it with oa.dump")

    @property
    def placement(self) -> Placement:
        """Where objects are, with all that captured steps have made and ended."""
        if self.memory.unsettled is not None:
            self.settle()
        return self.books

    def settle(self) -> None:
        """Wait for captured steps that have made or ended objects, if there are any, and note what
        they did. Raises DeviceError."""
        if self.memory.unsettled is not None:
            with self.lock:
                self.memory.settle()

    # ------------------------------------------------------------------ objects

    def new(self, python_class: type, n: int | None = None, /, *others: Any, **fields: Any) -> Any:
        """``n`` objects as an ``ObjectArray``, or without ``n`` one object. A field takes one value
        for all objects or one for each; fields that are not named are zero or null. Of a class with
        an ``__init__`` they are its arguments instead, and it is called for each object.

        Raises ClassError for an abstract class, ArgumentError for wrong fields, HeapError if they
        do not fit; then no object was made.
        """
        require_executing(self, "creating objects")
        cls = shared_type(python_class)
        if others:
            raise ArgumentError(
                f"oa.new({cls.name}, ...) takes the number of objects, and all else by name",
                f"write oa.new({cls.name}, field=...), or {cls.name}(...) as Python has it",
            )
        if n is None and "n" not in cls.fields:
            n = fields.pop("n", None)
        if n is None:
            return one_object.construct(self, cls, (), fields)
        require_concrete(cls)
        count = count_of(n, f"the number of {cls.name} objects")
        if has_init(cls):
            arguments = arguments_of_each(cls, count, fields)
            made = self._new_many(cls, count, {})
            initialise(self, made, [((), given) for given in arguments])
            return made
        return self._new_many(cls, count, fields)

    def _new_many(self, cls: ClassType, count: int, fields: dict[str, Any]) -> ObjectArray:
        columns = field_columns(self, cls, count, fields)
        values = {_path(name): given for name, given in columns.items()}
        made: Selection | None = None
        try:
            with self.lock:
                array = self.blank(self.reference_type(cls), count)
                made = self.memory.new_objects(cls, count, values)
                assert isinstance(array, ObjectArray)
                array._fill(made)
                return array
        except BaseException:
            self.unmake(made)
            raise

    def construct(self, cls: ClassType, arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
        """One object: ``C(*arguments, **fields)``."""
        require_executing(self, "creating objects")
        return one_object.construct(self, cls, arguments, fields)

    def unmake(self, made: Selection | None) -> None:
        """Nobody has got to know the objects that were made."""
        if made is not None:
            with self.lock:
                self.placement.free(made)
                self.bury(made.references)

    def bury(self, gone: References) -> None:
        """Tell the proxies of deleted objects."""
        self.proxies.bury(gone, self._lives)

    def bury_dead(self) -> None:
        """Tell the proxies of all objects that do not live."""
        self.proxies.bury_dead(self._lives)

    def _lives(self, reference: int) -> bool:
        return self.books.lives(self.encoding.address(reference))

    def delete(self, objects: Any) -> None:
        """Free an object, or all objects of an array, population or list. Whoever still refers to
        them must not use them again.

        Raises HeapError for null, foreign, deleted or repeated references; then none was deleted.
        """
        self.wait()
        if isinstance(objects, Object) and one_object.delete(self, objects):
            return
        is_array = isinstance(objects, ObjectArray) and objects._heap is self
        # Here, as who reads an array waits for launches, which may want the lock.
        known = objects._known_selection() if is_array else None
        references = references_of(self, objects) if known is None else known.references
        with self.memory.no_launch_in_cpython():
            self.memory.finish_in_cpython()
            with self.lock:
                self.wait_for_others()
                self.memory.wait_for_lists()
                if known is None or objects._known_selection() is not known:
                    known = self.placement.select(references)
                self.of_classes.forget()
                self.placement.free(known, user_line() if self.debug else "")
                self.bury(references)
        self.upkeep.after_deletion(self, known)

    def all(self, python_class: type) -> Population:
        """Every live object of the class and its subclasses."""
        return Population(self, shared_type(python_class))

    def objects_of(self, cls: ClassType) -> ObjectArray:
        """Every live object of exactly this class, in an array that is not to be written to."""
        return self.of_classes.array(self, cls)

    def reference(self, obj: Object | None) -> int:
        """The reference that kernels see for a host object, 0 for None. Raises ArgumentError for an
        object of another heap."""
        if obj is None:
            return 0
        if obj._heap is not self:
            raise other_heap(f"a reference to {type(obj).__name__}")
        return int(obj._reference)

    def wrap(self, reference: int) -> Any:
        """The host object, of its concrete class, for a reference; None for 0. As long as somebody
        holds it, it is the same Python object each time, so that ``is`` means what it means in
        kernels. Raises HeapError for a reference to no live object; a kernel that CPython runs
        has one that it can ask about (``is_alive``)."""
        if reference == 0:
            return None
        known = self.proxies.get(reference)
        if known is not None and self.memory.unsettled is None:
            return known  # else it would have been buried
        return proxy_of(self, reference)

    def class_of(self, reference: int) -> ClassType:
        """The concrete class of a live object. Raises HeapError."""
        return self.placement.class_of(self.encoding.address(reference))

    def reference_type(self, cls: ClassType) -> ReferenceType:
        """The one object that stands for references to ``cls`` as an element type."""
        return self._reference_types.setdefault(cls, ReferenceType(cls))

    # ------------------------------------------------------------------ fields, one at a time

    def reader(self, cls: ClassType, name: str) -> one_field.Read:
        """What reads a field of objects of exactly this class; for ``readers``."""
        return one_field.reader(self, cls, name)

    def writer(self, cls: ClassType, name: str) -> one_field.Write:
        """What writes it; for ``writers``."""
        return one_field.writer(self, cls, name)

    def forget_ways(self) -> None:
        """Objects lie in another way now, or nowhere."""
        self.makers, self.readers, self.writers = {}, {}, {}

    def read_field(self, instance: Object, owner: ClassType, name: str) -> Any:
        """The host value of a field. Raises HeapError if the object does not live."""
        self.wait()
        with self.holding_still():
            raw = self.placement.read_one(self._address(instance), _path(name))
            return to_host(owner.fields[name], raw, self)

    def write_field(self, instance: Object, owner: ClassType, name: str, value: Any) -> None:
        """Raises ArgumentError for a value that does not convert, HeapError as ``read_field``."""
        self.before_change()
        type, what = owner.fields[name], f"{owner.name}.{name}"
        value = convert(type, value, what)  # may wait for launches
        with self.holding_still():
            raw = raw_value(type, value, what, self)
            self.placement.write_one(self._address(instance), _path(name), raw, None)

    def read_element(
        self, instance: Object, owner: ClassType, name: str, index: tuple[int, ...]
    ) -> Any:
        """One element of an inline array."""
        self.wait()
        type = owner.fields[name]
        assert isinstance(type, InlineType)
        with self.holding_still():
            raw = self.placement.read_one(self._address(instance), _path(name))[index]
            return to_host(type.element, raw, self)

    def write_element(
        self, instance: Object, owner: ClassType, name: str, index: tuple[int, ...], value: Any
    ) -> None:
        self.before_change()
        type = owner.fields[name]
        assert isinstance(type, InlineType)
        what = f"{owner.name}.{name}[{', '.join(map(str, index))}]"
        value = convert(type.element, value, what)
        with self.holding_still():
            raw = raw_value(type.element, value, what, self)
            self.placement.write_one(self._address(instance), _path(name), raw, index)

    def field_of_one(self, instance: Object, owner: ClassType, name: str) -> FieldView:
        """The field of one object as if of many."""
        self.wait()
        since = changes_now(self)  # before the reference: a view of what moves now is refused
        selection = self.placement.select(np.array([instance._reference], np.uint64))
        return FieldView(self, owner, selection, _path(name), since)

    def _address(self, instance: Object) -> int:
        return int(self.encoding.address(instance._reference))

    # ------------------------------------------------------------------ arrays

    def array(self, element: Any, data: Any) -> Array:
        """An ``oa.Array`` of ``element`` (a scalar type, shared class or value class) with the
        elements of a NumPy array, a list or another iterable.

        Raises ArgumentError for data that do not convert, HeapError if they do not fit.
        """
        return new_arrays.array(self, element, data)

    def zeros(self, n: int | tuple[int, int], element: Any) -> Array:
        """``n`` elements, or rows and columns, all zero or null."""
        return new_arrays.zeros(self, n, element)

    def concat(self, *parts: Any) -> Array:
        """All elements of arrays or populations one after another, in a new array. Objects of
        several classes become references to the closest class that they have in common."""
        return new_arrays.concat(self, parts)

    def array_of(self, element: Type, values: Values, kind: type[Array] | None = None) -> Array:
        """A new array, of one dimension or two, of elements as memory holds them. Raises
        ArgumentError for more."""
        return new_arrays.array_of(self, element, values, kind)

    def array_at(self, element: Type, address: int, length: int) -> Array:
        """The array that a field of type ``oa.Array`` refers to."""
        storage = self.memory.arrays.at(address) if length else None
        if length and storage is None:
            raise foreign_reference(address)
        return make_array(self, element, storage, address, length)

    def blank(
        self, element: Type, length: int, kind: type[Array] | None = None, zeros: bool = True
    ) -> Array:
        """A new array of elements that are all zero or null; or, of numbers, without ``zeros``
        anything."""
        storage = self.new_storage(element, length, zeros)
        address = storage.address if storage else 0
        return make_array(self, element, storage, address, length, kind)

    def new_storage(self, element: Type, length: int, zeros: bool = True) -> ArrayStorage | None:
        """Memory for such an array; None where it takes none."""
        size = length * self.layout.dtype(element).itemsize
        if size == 0:
            return None
        if not zeros and isinstance(element, ScalarType):
            # Signals may come meanwhile: to hold them back takes as long as the rest.
            with self.lock.plain:
                found = self.memory.at_hand(size, element)
            if found is not None:
                return found
        with self.lock:
            storage = self.memory.new_array(size, element, zeros)
            storage.known = self.known_now()
            storage.lived = self.placement.deletions
            return storage

    def known_now(self) -> tuple[int, int]:
        """``ArrayStorage.known`` of an array all of whose references are to live objects now."""
        return self.placement.deletions, self.reference_writes

    # ------------------------------------------------------------------ clusters

    def rearrange(self, clusters: Clusters) -> None:
        """From now on objects have these clusters, which ``layout.can_cluster`` allows; those that
        there are change in place, and kernels are compiled anew. No value changes. Objects that
        have to keep their clusters do so."""
        with self.lock:
            if clusters == self.layout.clusters or self.mode.placement != "by_type":
                return
            if self.upkeep.keeps_clusters:
                return
            layout = self.layout.with_clusters(clusters)
            self.memory.rearrange(layout)
            self.layout = layout
            self.forget_ways()

    # ------------------------------------------------------------------ the heap as a whole

    @property
    def uses_runs(self) -> bool:
        """Whether kernels of this heap are compiled, and compute the references of a run."""
        return self.mode.by_population and self.backend.name != "python"

    @property
    def layout_epoch(self) -> int:
        """Raised when a region is added, merged or dropped, when pieces of arrays or clusters of
        fields change, and by the first launch in debug mode."""
        return self.books.layout_epoch

    @property
    def population_epoch(self) -> int:
        """Raised when a class gets its first object or loses its last."""
        return self.placement.population_epoch

    def stats(self) -> HeapStatistics:
        """What the heap holds, in all and per class; bytes and objects."""
        with self.lock.plain:
            return self.memory.statistics()

    def ranges(self) -> list[tuple[int, int, type]]:
        """(start, end, class) of every region, by address; ``end`` is the first byte after it."""
        with self.lock.plain:
            return [(start, end, cls.python_class) for start, end, cls in self.placement.ranges()]

    def dump(self, path: str | os.PathLike[str], **roots: Any) -> None:
        """Write all objects to a file, with the arrays that they refer to; see ``dump.dump``. What
        other threads launch is in it as a whole or not at all."""
        from .dump import dump

        self.wait()
        with self.memory.no_launch_in_cpython():
            self.memory.finish_in_cpython()
            with self.lock.plain:
                self.memory.stand_still(self._waited_for)
                dump(self, path, roots)

    def load(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Read a dump into this heap; the result is its roots by name; see ``dump.load``."""
        from .dump import load

        require_executing(self, "loading a dump")
        with self.lock:
            found: dict[str, Any] = load(self, path)
        return found

    def after_fork(self) -> None:
        """In a forked process: memory of a device is the parent's, and not even mapped here."""
        if self.backend.target.is_device:
            from .left_behind import LeftBehind

            left: Any = LeftBehind(self.backend, self.memory)
            self.memory = self.books = self.residency = self.pieces = self.distinct = left
            self.forget_ways()

    @property
    def is_recorded(self) -> bool:
        """Whether this thread's launches are recorded, so that nobody may look at memory."""
        return is_recorded(self)

    def __dir__(self) -> list[str]:
        """What users of a heap need, at a prompt."""
        return sorted([*_PUBLIC, *(name for name in super().__dir__() if name[:2] == "__")])

    def __repr__(self) -> str:
        objects = sum(map(self.placement.count, self.placement.classes()))
        return f"<Heap {self.mode.name} on {self.backend.label}: {objects:,} objects>"


#: The blocks of heaps, innermost last; those that are not open count no more. Every thread and task
#: has its own; a tuple, as a task begins with that of its maker and must not change it.
_entered: ContextVar[tuple[Block, ...]] = ContextVar("sharedoa_heaps", default=())
_default_lock = renew_in_child(threading.Lock())
_default: list[Heap] = []


def current_heap() -> Heap:
    """That of the innermost ``with``, else the default one, made from the environment if needed."""
    for block in reversed(_entered.get()):
        if block.is_open:
            found: Heap = block.manager
            return found
    with _default_lock:
        if not _default:
            _default.append(Heap())
        return _default[0]
