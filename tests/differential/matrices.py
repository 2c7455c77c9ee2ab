"""Matrices and quaternions in random programs: what is made of them, and of what they are made."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from .signatures import Named, Routine, Struct

#: By name: what their rows are, and how many.
MATRICES = {"mat22": ("vec2", 2), "mat33": ("vec3", 3)}
QUATERNION = "quat"

Make = Callable[[str], str]
"""Makes an expression of a type."""


def matrices(random: Random) -> tuple[list[str], list[Struct]]:
    """Some of them, and the vectors without which they are not."""
    names = random.sample([*MATRICES, QUATERNION], random.choice((0, 0, 1, 2)))
    vectors = {MATRICES[name][0] if name in MATRICES else "vec3" for name in names}
    return sorted(vectors), [_struct(name) for name in names]


def _struct(name: str) -> Struct:
    if name == QUATERNION:
        made = Struct(name, [Named(letter, "f32") for letter in "xyzw"])
        made.methods = [Routine(each, (), name) for each in ("conjugate", "inverse", "normalize")]
        made.methods += [
            Routine("dot", (Named("other", name),), "f32"),
            Routine("length", (), "f32"),
        ]
        made.methods += [Routine("rotate", (Named("v", "vec3"),), "vec3")]
        return made
    row, count = MATRICES[name]
    made = Struct(name, [Named(f"r{k}", row) for k in range(count)])
    made.methods = [Routine(each, (), name) for each in ("transpose", "inverse")]
    made.methods += [Routine("determinant", (), "f32")]
    made.methods += [
        Routine(each, (Named("other", name),), name) for each in ("minimum", "maximum")
    ]
    return made


def combined(random: Random, name: str, known: Collection[str], make: Make) -> str:
    """A matrix or a quaternion made of others."""
    if name == QUATERNION:
        return random.choice(
            (
                lambda: f"(-{make(name)})",
                lambda: f"({make(name)} {random.choice('*/')} {make('f32')})",
                lambda: f"({make('f32')} * {make(name)})",
                lambda: f"({make(name)} {random.choice('+-*')} {make(name)})",
                lambda: f"oa.{random.choice(('normalize', 'inverse'))}({make(name)})",
            )
        )()
    row, count = MATRICES[name]
    choices: list[Callable[[], str]] = [
        lambda: f"(-{make(name)})",
        lambda: f"abs({make(name)})",
        lambda: f"({make(name)} {random.choice('+-*/')} {make('f32')})",
        lambda: f"({make('f32')} {random.choice('+-*/')} {make(name)})",
        lambda: f"({make(name)} {random.choice('+-*/')} {make(name)})",
        lambda: f"({make(name)} @ {make(name)})",
        lambda: f"oa.outer({make(row)}, {make(row)})",
        lambda: f"oa.{random.choice(('transpose', 'inverse'))}({make(name)})",
        lambda: f"{name}({', '.join(make('f32') for _ in range(count * count))})",
        lambda: f"oa.{random.choice(('min', 'max'))}({make(name)}, {make(name)})",
    ]
    if name == "mat33" and QUATERNION in known:
        choices.append(lambda: f"{make(QUATERNION)}.matrix()")
    return random.choice(choices)()


def vector_of(random: Random, name: str, known: Collection[str], make: Make) -> str | None:
    """A vector made by what is known of matrices and quaternions, if one of them makes it."""
    makers: list[Callable[[], str]] = []
    for matrix in sorted(MATRICES.keys() & set(known)):
        row, count = MATRICES[matrix]
        if row == name:
            makers += [
                lambda m=matrix: f"({make(m)} @ {make(name)})",  # type: ignore[misc]
                lambda m=matrix: f"({make(name)} @ {make(m)})",  # type: ignore[misc]
                lambda m=matrix, n=count: f"{make(m)}[{random.randint(-n, n - 1)}]",  # type: ignore[misc]
                lambda m=matrix, n=count: f"{make(m)}.r{random.randrange(n)}",  # type: ignore[misc]
            ]
    if name == "vec3" and QUATERNION in known:
        makers.append(lambda: f"{make(QUATERNION)}.rotate({make(name)})")
    return random.choice(makers)() if makers else None


def number_of(random: Random, name: str, make: Make) -> str:
    """A component of a matrix or a quaternion, or what a function makes of it."""
    if name == QUATERNION:
        place = f"[{random.randint(-4, 3)}]"
        return random.choice(
            (
                f"{make(name)}{place}",
                f"oa.dot({make(name)}, {make(name)})",
                f"oa.length({make(name)})",
            )
        )
    _, count = MATRICES[name]
    row, column = (random.randint(-count, count - 1) for _ in range(2))
    return random.choice(
        (
            f"{make(name)}[{row}, {column}]",
            f"{make(name)}[{row}][{column}]",
            f"oa.determinant({make(name)})",
        )
    )
