"""What random programs take from sharedoa: vectors, random numbers, arrays of two dimensions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from .matrices import MATRICES, QUATERNION, matrices, vector_of
from .matrices import combined as combined_matrices
from .matrices import number_of as number_of_matrix
from .signatures import FLOATS, INTEGERS, Named, Routine, Struct

#: Type and names of the components.
VECTORS = {
    "vec2": ("f32", "xy"),
    "vec3": ("f32", "xyz"),
    "vec2i": ("i32", "xy"),
    "vec3i": ("i32", "xyz"),
    "vec3d": ("f64", "xyz"),
}
#: An argument of methods that is read, and the type of its elements.
GRID, GRID_ELEMENT = "oa.Array[f32, 2]", "f32"
_DRAWN = {
    "f32": ("oa.random({})", "oa.normal({})", "oa.exponential({})"),
    "f64": ("oa.random64({})",),
    "i64": ("oa.randint(-9, 100, {})", "oa.randint(i64(-9223372036854775808), 5, {})"),
}

Make = Callable[[str], str]
"""Makes an expression of a type."""


def structs(random: Random, later: Random) -> list[Struct]:
    """Some of the types, as structs whose constructors and sums are as of any. What ``later`` draws
    are matrices: where there are none, vectors of a seed are as before there were any."""
    names = random.sample(sorted(VECTORS), random.randint(0, 2))
    needed, made = matrices(later)
    names += [name for name in needed if name not in names]
    return [*(_struct(name, *VECTORS[name]) for name in names), *made]


def _struct(name: str, element: str, letters: str) -> Struct:
    made = Struct(name, [Named(letter, element) for letter in letters])
    other = (Named("other", name),)
    made.methods = [Routine("dot", other, element)]
    made.methods += [Routine("cross", other, name if len(letters) == 3 else element)]
    made.methods += [Routine("length", (), element)] if element in FLOATS else []
    return made


def element_of(name: str) -> str | None:
    """The type of the components; None of another type."""
    if name in VECTORS:
        return VECTORS[name][0]
    return "f32" if name in MATRICES or name == QUATERNION else None


def combined(random: Random, name: str, known: Collection[str], make: Make) -> str:
    """A vector, a matrix or a quaternion made of others, which are of ``known`` types."""
    if name not in VECTORS:
        return combined_matrices(random, name, known, make)
    if any(each not in VECTORS for each in known) and random.random() < 0.4:
        made = vector_of(random, name, known, make)
        if made is not None:
            return made
    element = VECTORS[name][0]
    division = ("/",) if element in FLOATS else ()
    match random.randint(0, 3):
        case 0:
            return f"(-{make(name)})"
        case 1:
            return f"({make(name)} {random.choice(('*', *division))} {make(element)})"
        case _:
            return f"({make(name)} {random.choice(('+', '-', '*', *division))} {make(name)})"


def number_of(random: Random, name: str, make: Make) -> str:
    """A component, or what a function makes of vectors, matrices or quaternions."""
    if name not in VECTORS:
        return number_of_matrix(random, name, make)
    letters = VECTORS[name][1]
    match random.randint(0, 2):
        case 0:
            return f"{make(name)}[{random.randint(-len(letters), len(letters) - 1)}]"
        case 1:
            return f"{make(name)}.{random.choice(letters)}"
        case _:
            return f"oa.dot({make(name)}, {make(name)})"


def drawn(random: Random, type: str, make: Make) -> str | None:
    """A random number of that type, if there are any, of a seed and counters of any integers."""
    if type not in _DRAWN:
        return None
    counters = [str(random.randint(0, 9))]
    counters += [make(random.choice(INTEGERS)) for _ in range(random.randint(0, 3))]
    return random.choice(_DRAWN[type]).format(", ".join(counters))
