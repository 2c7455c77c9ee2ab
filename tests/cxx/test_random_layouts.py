"""Random hierarchies: what the compiler says is what the Itanium ABI prescribes, and fields keep
what is written to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sharedoa as oa
from sharedoa import cxx

from ..differential.effort import examples

SCALARS = {
    "char": "i1", "unsigned char": "u1", "bool": "?", "short": "i2", "unsigned short": "u2",
    "int": "i4", "unsigned": "u4", "long long": "i8", "unsigned long long": "u8", "float": "f4",
    "double": "f8",
}  # fmt: skip


@dataclass(frozen=True)
class Member:
    """A scalar, an array of them, or a structure of scalars, or an array of structures."""

    parts: tuple[str, ...]
    length: int | None

    @property
    def element(self) -> np.dtype:
        """As C lays it out."""
        if len(self.parts) == 1:
            return np.dtype(SCALARS[self.parts[0]])
        return np.dtype([(f"p{k}", SCALARS[p]) for k, p in enumerate(self.parts)], align=True)

    @property
    def dtype(self) -> np.dtype:
        element = self.element
        return element if self.length is None else np.dtype((element, (self.length,)))

    @property
    def given(self) -> np.dtype:
        """Without padding, as users write it."""
        if len(self.parts) == 1:
            return self.dtype
        element = np.dtype([(f"p{k}", SCALARS[p]) for k, p in enumerate(self.parts)])
        return element if self.length is None else np.dtype((element, (self.length,)))

    def declare(self, name: str) -> str:
        count = "" if self.length is None else f"[{self.length}]"
        if len(self.parts) == 1:
            return f"{self.parts[0]} {name}{count};"
        inner = " ".join(f"{part} p{k};" for k, part in enumerate(self.parts))
        return f"struct {{ {inner} }} {name}{count};"


members = st.builds(
    Member,
    st.lists(st.sampled_from(sorted(SCALARS)), min_size=1, max_size=3).map(tuple),
    st.none() | st.integers(1, 5),
)
hierarchies = st.lists(st.lists(members, max_size=5), min_size=1, max_size=4)


def lay_out(hierarchy: list[list[Member]]) -> list[tuple[int, dict[str, int]]]:
    """Bytes and offsets of each class: a derived class begins where its base's last member ends."""
    found, end, widest, offsets = [], 8, 8, {}
    for level, fields in enumerate(hierarchy):
        for number, member in enumerate(fields):
            step = member.element.alignment
            offset = -(-end // step) * step
            offsets[f"m{level}_{number}"] = offset
            end = offset + member.dtype.itemsize
            widest = max(widest, step)
        found.append((-(-end // widest) * widest, dict(offsets)))
    return found


@settings(max_examples=examples(30))
@given(hierarchies, st.randoms(use_true_random=False))
def test_layouts(hierarchy: list[list[Member]], random) -> None:
    source, classes = [], {}
    for level, fields in enumerate(hierarchy):
        names = {f"m{level}_{number}": member for number, member in enumerate(fields)}
        base = f" : C{level - 1}" if level else ""
        body = " ".join(member.declare(name) for name, member in names.items())
        method = "" if level else "__device__ virtual int f() { return 1; }"
        source.append(f"struct C{level}{base} {{ {method} {body} }};")
        classes[f"C{level}"] = [(name, member.given) for name, member in names.items()]
    order = list(classes)
    random.shuffle(order)
    program = cxx.compile("\n".join(source), {name: classes[name] for name in order})
    for level, (size, offsets) in enumerate(lay_out(hierarchy)):
        record = program.classes[f"C{level}"].__sharedoa__.foreign.record
        assert (record.size, record.offsets) == (size, offsets)
    for level, fields in enumerate(hierarchy):
        for number, member in enumerate(fields):
            assert record.dtypes[f"m{level}_{number}"] == member.dtype
    with oa.Heap(backend="cpu", capacity="64MiB"):
        check_memory(program.classes[f"C{len(hierarchy) - 1}"])


def check_memory(cls: type) -> None:
    """Bytes written through a view of one field are read back, and no others change."""
    record = cls.__sharedoa__.foreign.record
    objects = oa.new(cls, 7)
    for name, dtype in record.dtypes.items():
        view = objects.field(name)
        if dtype.base.names is not None:
            assert view.shape == (7, *dtype.shape)
            if dtype.shape:
                continue
            for part in dtype.base.names:
                view[part][...] = np.ones(7, dtype.base[part])
                assert (view[part].numpy() == 1).all()
        else:
            view[...] = np.ones(view.shape, dtype.base)
            assert (view.numpy() == 1).all()
    assert all(objects[k].__class__ is cls for k in range(7))
