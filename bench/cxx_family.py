"""The class hierarchies of ``class_family`` as CUDA C++ source.

The same classes, bodies and kernels: what differs is the language, and that an object starts with
8 bytes of vtable pointer in every mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bench.class_family import FIELD, FIELDS
from sharedoa import cxx

BASE = "Item"

_SOURCE = """\
struct Item {{
  float {fields};
  __device__ virtual void update() = 0;
{bodies}
}};

{classes}

extern "C" __global__ void virtual_call(Item **items, int count) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) items[i]->update();
}}

extern "C" __global__ void branch(Item **items, int count, int shift, int mask) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Item *item = items[i];
  switch ((i >> shift) & mask) {{
{branches}
  }}
}}

extern "C" __global__ void interleave(Item **sorted, Item **mixed, int count, int types,
                                      int each) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) mixed[i] = sorted[(i % types) * each + i / types];
}}
"""
_BODY = "  __device__ void update_{k}() {{ {field} = {expression}; }}"
_CLASS = "struct Item{k} : Item {{ __device__ void update() override {{ update_{k}(); }} }};"


@dataclass(frozen=True)
class CxxFamily:
    """A compiled hierarchy, and its concrete classes in the order of their kinds."""

    program: cxx.Program
    classes: tuple[type, ...]

    @property
    def base(self) -> type:
        found: type = self.program.classes[BASE]
        return found


@cache
def cxx_family(types: int, fields: int = len(FIELDS)) -> CxxFamily:
    """The hierarchy of ``types`` classes; ``fields`` f32 fields an object, at least four."""
    names = [f"{BASE}{k}" for k in range(types)]
    classes = {BASE: [(FIELD, "f4")], **{name: [] for name in names}}
    program = cxx.compile(source(types, fields), classes, name=f"family_{types}_{fields}.cu")
    return CxxFamily(program, tuple(program.classes[name] for name in names))


def source(types: int, fields: int) -> str:
    """The C++ of a family."""
    names = [*FIELDS, *(f"padding_{number}" for number in range(fields - len(FIELDS)))]
    kinds = range(types)
    return _SOURCE.format(
        fields=", ".join(names),
        bodies="\n".join(_BODY.format(k=k, field=FIELD, expression=_expression(k)) for k in kinds),
        classes="\n".join(_CLASS.format(k=k) for k in kinds),
        branches="\n".join(_branch(k, types) for k in kinds),
    )


def _expression(kind: int) -> str:
    constant = f"{kind + 1}.0f"
    return f"{FIELD} + {constant}" if kind % 2 == 0 else f"{constant} - {FIELD}"


def _branch(kind: int, types: int) -> str:
    case = "default" if kind == types - 1 else f"case {kind}"
    return f"    {case}: item->update_{kind}(); break;"
