"""Names that a type checker reads otherwise than Python does: here, and nowhere else, is why.

Everything else of the public interface is annotated where it is written; there are no stub files.

- Scalar types are Python's own numbers to a checker, so that literals and the results of arithmetic
  are what a field or parameter takes. It does not know widths: launches do.
- ``oa.inline[f32, 4]`` has a number where types have types. mypy takes no annotation of that kind
  but a name of type Any (it reads ``if MYPY`` as true); others take a class with a
  ``__class_getitem__`` of its own, so they know at least that it is a sequence.
- Type variables have defaults, so that a bare ``oa.Array`` is one of anything and ``oa.Kernel`` any
  kernel. That of arrays is covariant: kernels that take an array of a class take one of a subclass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol, TypeAlias

    from typing_extensions import ParamSpec, TypeVar

    i8: TypeAlias = int
    i16: TypeAlias = int
    i32: TypeAlias = int
    i64: TypeAlias = int
    u8: TypeAlias = int
    u16: TypeAlias = int
    u32: TypeAlias = int
    u64: TypeAlias = int
    f32: TypeAlias = float
    f64: TypeAlias = float

    T_co = TypeVar("T_co", covariant=True, default=Any)
    P = ParamSpec("P", default=...)
    R_co = TypeVar("R_co", covariant=True, default=Any)

    MYPY = False
    if MYPY:
        inline: Any
    else:

        class inline(Protocol):
            def __class_getitem__(cls, item: Any) -> Any: ...

            def __getitem__(self, index: Any, /) -> Any: ...

            def __setitem__(self, index: Any, value: Any, /) -> None: ...

            def __len__(self) -> int: ...

            def __iter__(self) -> Iterator[Any]: ...
else:
    from typing import ParamSpec, TypeVar

    from .annotations import inline
    from .scalars import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

    T_co = TypeVar("T_co", covariant=True)
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

__all__ = [
    "P",
    "R_co",
    "T_co",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "inline",
    "u8",
    "u16",
    "u32",
    "u64",
]
