"""What the heap asks of a placement: objects put by type, or one by one.

A *selection* is some objects in an order, ready for access to their fields: NumPy arrays go in and
out, of shape (objects,) or (objects, N) for inline arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ..errors import HeapError
from ..model.classes import ClassType
from ..model.record import Component
from ..model.types import Type, ValueType, array_form

if TYPE_CHECKING:
    from .run import Run

Values = np.ndarray[Any, Any]
References = np.ndarray[Any, np.dtype[np.uint64]]

#: Changes an array of field values in place; the second argument says which objects of the
#: selection they belong to (a slice or an array of positions).
Change = Callable[[Values, Any], None]


class FieldPath(NamedTuple):
    """A field, or what ``components`` lead to in it: the item of an inline array or a vector, the
    component of a value struct. A tuple, as it is looked up at each access to many objects."""

    name: str
    components: tuple[Component, ...] = ()

    def type(self, cls: ClassType) -> Type:
        found = cls.fields[self.name]
        for component in self.components:
            if isinstance(component, int):
                found, _ = array_form(found)
            else:
                assert isinstance(found, ValueType)
                found = found.fields[component]
        return found

    def inside(self, *components: Component) -> FieldPath:
        return FieldPath(self.name, (*self.components, *components))

    def __str__(self) -> str:
        inside = (f"[{c}]" if isinstance(c, int) else f".{c}" for c in self.components)
        return "".join((self.name, *inside))


#: What new objects are given: values that broadcast to (objects,), or (objects, N) if inline.
Fields = Mapping[FieldPath, Values]


class Selection(Protocol):
    """Some objects, in an order."""

    count: int

    @property
    def references(self) -> References: ...

    def copy_references(self, target: References) -> None:
        """Write the references to ``target``, of shape (objects,)."""
        ...

    def send_references(self, address: int) -> bool:
        """Let the device write the references to an array at ``address``, where it can; otherwise
        nothing happens."""
        ...

    @property
    def is_one_view(self) -> bool:
        """Whether ``read`` shares memory with the objects."""
        ...

    @property
    def run(self) -> Run | None:
        """The objects as a run, if they lie side by side in one region."""
        ...

    def stretches(self) -> list[tuple[int, int, Run | None]]:
        """The objects cut into pieces (first, stop, run), runs where they form any."""
        ...

    def read(self, path: FieldPath) -> Values: ...

    def view(self, path: FieldPath) -> Values | None:
        """The memory itself, which is not touched; None where it is not one strided piece."""
        ...

    def write(self, path: FieldPath, values: Values) -> None:
        """``values`` broadcast to the selection's shape."""
        ...

    def change(self, path: FieldPath, change: Change) -> None:
        """Call ``change`` on the values piece by piece; where possible they are views."""
        ...


class Placement(Protocol):
    """Where objects are, which class each has, and which places are free."""

    layout_epoch: int
    code_epoch: int
    """How often it was raised although everything lies where it did, but for fields within their
    objects: launches are to look for other code."""
    population_epoch: int
    generation: int
    """Raised when an object may have gone, or moved to another region's books."""
    deletions: int
    """How often objects were deleted."""
    moves: int
    """How often objects have changed places (``moving``)."""
    population_version: int
    """Raised when an object is made or goes."""

    def have_moved(self, cls: ClassType, since: int) -> bool:
        """Whether objects of the class, or one below it, have since that one of ``moves``."""
        ...

    def allocate(self, cls: ClassType, count: int, fields: Fields) -> Selection:
        """New objects with these ``fields``, all others zero. Raises NoRoom, having made none."""
        ...

    def free(self, selection: Selection, where: str = "", keeps_room: bool = False) -> None:
        """Raises HeapError, having freed nothing, if an object occurs twice. ``where``: the line of
        the user's that asks for it, which debug mode remembers; ``keeps_room``: memory of the class
        that is empty then stays with it, until ``release_deleted``."""
        ...

    def release_deleted(self, amid: bool = True) -> None:
        """Give out again at once what debug mode keeps of deleted objects (``quarantine``), and to
        others what is empty since all objects there have gone; unless ``amid``, only where that
        cannot change where new objects stand. No launch may be under way."""
        ...

    def deleted_at(self, address: int) -> tuple[ClassType, str] | None:
        """The class of the object that was deleted at ``address``, and the line that deleted it;
        None where nothing is kept of one."""
        ...

    def class_of(self, address: int) -> ClassType:
        """Raises HeapError unless a live object starts at ``address``."""
        ...

    def lives(self, address: int) -> bool:
        """Whether a live object starts at ``address``."""
        ...

    def refuse_replaced(self, references: References, deletions: int) -> None:
        """Raise HeapError for a reference, not null, to an object that was deleted after so many
        deletions, also where another one lies there now. Those of objects that were placed one by
        one tell only whether they live."""
        ...

    def has_deleted(self, cls: ClassType, deletions: int) -> bool:
        """Whether objects of ``cls`` were deleted after so many deletions."""
        ...

    def refuse_deleted_run(self, run: Run, count: int, deletions: int) -> None:
        """Raise HeapError unless all objects of a run live, and did after so many deletions."""
        ...

    def select(self, references: References) -> Selection:
        """Raises HeapError, naming the place, unless every one refers to a live object."""
        ...

    def objects(self, classes: Sequence[ClassType]) -> Selection:
        """All live objects of exactly these classes: class by class, and within one by slot, or
        where there are none, in the order in which they were made."""
        ...

    def read_one(self, address: int, path: FieldPath) -> Any:
        """The field of the live object at ``address``: a NumPy scalar, or an array if inline,
        which is read-only where it is a copy."""
        ...

    def write_one(
        self, address: int, path: FieldPath, value: Any, index: tuple[int, ...] | None
    ) -> None:
        """Write a field, or element ``index`` of an inline one."""
        ...

    def classes(self) -> list[ClassType]:
        """Classes that have live objects, by type index."""
        ...

    def holders(self) -> list[ClassType]:
        """Classes that memory is held for, of deleted objects too, by type index."""
        ...

    def count(self, cls: ClassType) -> int: ...

    def reserved(self, cls: ClassType) -> int:
        """Bytes held for objects of exactly this class."""
        ...

    def region_count(self, cls: ClassType) -> int: ...

    def change_layout(self) -> None:
        """Raise the layout epoch: something else that compiled kernels rest on has changed."""
        ...

    def change_code(self) -> None:
        """Raise both epochs: there is other code, or is to be, for what lies as it did."""
        ...

    def ranges(self) -> list[tuple[int, int, ClassType]]: ...


def null_reference(where: str = "") -> HeapError:
    return HeapError(f"{where}null is no object", "leave out or set what is None first")


def foreign_reference(address: int, where: str = "") -> HeapError:
    return HeapError(
        f"{where}{address:#x} is no object of this heap: it was deleted, or is another heap's",
        "use references that this heap gave out, and drop those to deleted objects",
    )


def freed_reference(address: int, cls: ClassType, where: str = "") -> HeapError:
    return HeapError(
        f"{where}the {cls.name} at {address:#x} was deleted",
        "drop every reference to an object when deleting it",
    )


def repeated_reference(purpose: str = "delete") -> HeapError:
    return HeapError(f"an object occurs twice among those to {purpose}", "pass each object once")
