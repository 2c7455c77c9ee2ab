"""Which loops threads may share, what their iterations take along, and what they give back."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharedoa as oa
from sharedoa import i32
from sharedoa.ir.core import Operation, live_ins, operations_in
from sharedoa.ir.passes.shared_loops import only_indexed, share_loops

from .programs import program_from


class Edge(oa.Object):
    value: i32
    mark: i32
    next: Edge
    row: oa.inline[i32, 4]

    def get(self) -> i32:
        return self.value

    def put(self, value: i32) -> None:
        self.value = value

    def lower(self, value: i32) -> None:
        if self.value > value:
            self.value = value

    def lower_next(self, value: i32) -> None:
        edge = self.next
        if edge.value > value:
            edge.value = value

    def lower_through_parameter(self, value: i32) -> None:
        if self.value > value:
            self = self.next
            self.value = value

    def put_more(self, value: i32) -> None:
        value += 1
        self.value = value

    def put_twice(self, value: i32) -> None:
        self.put(value)
        self.put(value)

    def copy_mark(self) -> None:
        self.value = self.mark

    def count(self) -> None:
        self.value += 1

    def again(self, n: i32) -> i32:
        return self.again(n - 1) if n > 0 else self.value

    def checked(self) -> i32:
        assert self.value > 0
        return self.value

    def set(self, value: i32) -> None:
        self.value = value

    def seen(self) -> i32:
        return self.mark


class Narrow(Edge):
    def set(self, value: i32) -> None:
        self.mark = value

    def seen(self) -> i32:
        oa.atomic_add(self, "mark", 1)
        return self.value


@oa.func
def total(a: oa.Array[i32], n: i32) -> i32:
    s = 0
    for j in range(n):
        s += a[j]
    return i32(s)


@oa.func
def last(a: oa.Array[i32], n: i32) -> i32:
    x = i32(0)
    for k in range(n):
        x = a[k]
    return x


PARAMETERS = (
    "edges: oa.Array[Edge], a: oa.Array[i32], out: oa.Array[i32], root: Edge, n: i32, c: i32"
)
_SUM = "\nout[0] = i32(s)"
#: A body, and a line for each loop that is shared: its variable, what it captures (``[]``: only
#: elements), what it reduces.
SHARED = {
    "a sum": ("s = 0\nfor k in range(n): s += a[k]\nout[0] = i32(s)", ["k: a[] -> add s"]),
    "from a start": ("s = 0\nfor k in range(c, n): s |= a[k]\nout[0] = i32(s)", ["k: a -> or s"]),
    "the other way round": ("s = 0\nfor k in range(n): s = a[k] ^ s\nout[0] = i32(s)",
        ["k: a[] -> xor s"]),
    "all bits": ("s = c\nfor k in range(n): s &= a[k]\nout[0] = s", ["k: a[] -> and s"]),
    "a minimum": ("s = c\nfor k in range(n): s = min(s, a[k])\nout[0] = s", ["k: a[] -> min s"]),
    "a maximum of three": ("s = c\nfor k in range(n): s = max(a[k], n, s)\nout[0] = s",
        ["k: a[], n -> max s"]),
    "sums": (
        "s = t = u = 0\nfor k in range(n):\n  s += 1\n  u += k\n  t ^= a[k]\nout[s] = i32(t+u)",
        ["k: a[] -> add s, xor t, add u"]),
    "a sum of some": ("s = 0\nfor k in range(n):\n  if a[k] > c: s += a[k]\nout[0] = i32(s)",
        ["k: a[], c -> add s"]),
    "with continue": ("s = 0\nfor k in range(n):\n  if a[k] > c: continue\n  s += 1\nout[s] = 0",
        ["k: a[], c -> add s"]),
    "an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(a[k]):\n    if a[j] == c: break\n    s += 1\n"
        "out[s] = 0", ["k: a[], c -> add s"]),
    "a while within": (
        "s = 0\nfor k in range(n):\n  e = edges[k]\n  while e is not None:\n    s += e.value\n"
        "    e = e.next\nout[0] = i32(s)", ["k: edges[] -> add s"]),
    "the inner one of two": (
        "for k in range(n):\n  s = 0\n  for j in range(a[k]): s += a[j]\n  out[k] = i32(s)",
        ["j: a[] -> add s"]),
    "in a function": ("out[0] = total(a, n)", ["j: a[] -> add s"]),
    "an array's length": ("s = 0\nfor k in range(n): s += len(a)\nout[s] = 0", ["k: a -> add s"]),
    "a length and elements": ("s = 0\nfor k in range(n): s += len(a) + a[k]\nout[s] = 0",
        ["k: a -> add s"]),
    "stores of a constant": ("for k in range(n): edges[k].put(1)", ["k: edges[]"]),
    "a reference": ("for k in range(n): edges[k].next = root", ["k: edges[], root"]),
    "null": ("for k in range(n): edges[k].next = None", ["k: edges[]"]),
    "a captured sum": ("for k in range(n): edges[k].value = c + n", ["k: c, edges[], n"]),
    "lowering": ("for k in range(n):\n  e = edges[k]\n  if e.get() > c: e.put(c)",
        ["k: c, edges[]"]),
    "lowering in a method": ("for k in range(n):\n  e = edges[k]\n  e.lower(c)", ["k: c, edges[]"]),
    "two fields": ("for k in range(n):\n  e = edges[k]\n  e.value = 1\n  e.mark = c",
        ["k: c, edges[]"]),
    "two fields of candidates": ("for k in range(n): edges[k].set(c)", ["k: c, edges[]"]),
    "stores in an inner loop": (
        "for k in range(n):\n  for j in range(k):\n    edges[j].mark = c", ["k: c, edges[]"]),
    "locals anew each time": (
        "s = 0\nfor k in range(n):\n  x = a[k]\n  y = x * x\n  s += y\nout[0] = i32(s)",
        ["k: a[] -> add s"]),
    "locals assigned anew after": (
        "x = s = 0\nfor k in range(n):\n  x = a[k]\n  s += x\nx = c\nout[x] = i32(s)",
        ["k: a[] -> add s"]),
    "a variable of two loops": (
        "s = t = 0\nfor k in range(n): s += a[k]\nfor k in range(n): t += s\nout[0] = i32(t)",
        ["k: a[] -> add s", "k: s -> add t"]),
    "one after if, one after else": (
        "s = 0\nif c:\n  for k in range(n): s += a[k]\nelse:\n  for k in range(n): s ^= a[k]\n"
        "out[0] = i32(s)", ["k: a[] -> add s", "k: a[] -> xor s"]),
    "isinstance": (
        "s = 0\nfor k in range(n):\n  e = edges[k]\n  if isinstance(e, Narrow): s += 1\nout[s] = 0",
        ["k: edges[] -> add s"]),
    "a minimum of three that begins with it": (
        "s = c\nfor k in range(n): s = min(s, a[k], n)\nout[0] = s", ["k: a[], n -> min s"]),
    # Assigned to, but another value each time.
    "its own number assigned": ("s = 0\nfor k in range(n):\n  k = k + c\n  s += a[k]" + _SUM,
        ["k: a, c -> add s"]),
    "its number counts an inner loop": (
        "s = 0\nfor k in range(n):\n  for k in range(3): s += a[k]" + _SUM, ["k: a[] -> add s"]),
    "a local of the method": ("for k in range(n): edges[k].put_more(c)", ["k: c, edges[]"]),
    # What the other branch reads was assigned before.
    "read in else": (
        "x = c\ns = 0\nif n > 9:\n  for k in range(n):\n    x = a[k]\n    s += x\nelse:\n  s = x"
        + _SUM, ["k: a[] -> add s"]),
    "read in elif": (
        "x = c\ns = 0\nif n > 9:\n  for k in range(n):\n    x = a[k]\n    s += x\n"
        "elif x > 3:\n  s = 1" + _SUM, ["k: a[] -> add s"]),
    # Inner loops pass on what was combined in every way that they end.
    "else of an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(3):\n    if a[j] == k: break\n    s += 1\n"
        "  else: s += a[k]" + _SUM, ["k: a[] -> add s"]),
    "else of a while": (
        "s = 0\nfor k in range(n):\n  j = 0\n  while j < a[k]:\n    j += 1\n"
        "    if j == c: continue\n    if j > n: break\n    s += j\n  else: s += 2" + _SUM,
        ["k: a[], c, n -> add s"]),
}  # fmt: skip

REFUSED = {
    # order of loops themselves
    "a fixed end": "s = 0\nfor k in range(9): s += a[k]" + _SUM,
    "a few neighbours": "s = 0\nfor k in range(max(c - 1, 0), min(c + 2, n)): s += a[k]" + _SUM,
    "neighbours from the first": "s = 0\nfor k in range(max(c - 1, 0), n): s += a[k]" + _SUM,
    "neighbours to the last": "s = 0\nfor k in range(c, min(c + 2, n)): s += a[k]" + _SUM,
    "a step": "s = 0\nfor k in range(0, n, 2): s += a[k]" + _SUM,
    "an unknown step": "s = 0\nfor k in range(0, n, c): s += a[k]" + _SUM,
    "backwards": "s = 0\nfor k in range(n, 0, -1): s += a[k]" + _SUM,
    "break": "s = 0\nfor k in range(n):\n  if a[k] > c: break\n  s += a[k]" + _SUM,
    "break in an inner else": (
        "s = 0\nfor k in range(n):\n  for j in range(3):\n    s += 1\n  else:\n"
        "    if c > k: break" + _SUM
    ),
    "break in an inner else, with stores": (
        "for k in range(n):\n  for j in range(3):\n    edges[j].mark = c\n  else:\n"
        "    if c > k: break"
    ),
    "return": "s = 0\nfor k in range(n):\n  if a[k] > c: return\n  s += a[k]" + _SUM,
    "return in an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(3):\n    if a[k] > j: return\n  s += a[k]"
        + _SUM
    ),
    "else": "s = 0\nfor k in range(n): s += a[k]\nelse: s += 1" + _SUM,
    "nothing done": "for k in range(n): a[k]",
    # variables that iterations or others see
    "the last one's value": "x = c\nfor k in range(n): x = a[k]\nout[0] = x",
    "the last one's value returned": "out[0] = last(a, n)",
    "the number after the loop": "k = s = 0\nfor k in range(n): s += a[k]\nout[k] = i32(s)",
    "a number of another type": (
        "k = i32(0)\ns = 0\nfor k in range(n): s += a[k]\nout[k] = i32(s)"
    ),
    "the previous one's value": (
        "x = c\ns = 0\nfor k in range(n):\n  s += x\n  x = a[k]" + _SUM
    ),
    "the previous one's value sometimes": (
        "x = c\ns = 0\nfor k in range(n):\n  if a[k] > 0: x = a[k]\n  s += x" + _SUM
    ),
    "the previous one's value after an empty loop": (
        "x = c\ns = 0\nfor k in range(n):\n  for j in range(a[k]): x = j\n  s += x" + _SUM
    ),
    "the previous one's value after continue": (
        "x = c\ns = 0\nfor k in range(n):\n  j = 0\n  while j < c:\n    j += 1\n"
        "    if a[k] > j: continue\n    x = j\n  s += x" + _SUM
    ),
    "read in the next turn of a while": (
        "x = s = 0\nwhile s < c:\n  s += x\n  for k in range(n):\n    x = a[k]\n    s += x" + _SUM
    ),
    "read in the test of a while": (
        "x = s = 0\nwhile x < c:\n  for k in range(n):\n    x = a[k]\n    s += x" + _SUM
    ),
    "read in the next turn of a for": (
        "x = s = 0\nfor j in range(3):\n  s += x\n  for k in range(n):\n    x = a[k]\n    s += x"
        + _SUM
    ),
    "read in its own bound next time": (
        "x = n\ns = 0\nfor j in range(3):\n  for k in range(x):\n    x = a[k]\n    s += x" + _SUM
    ),
    "a parameter": "for k in range(n):\n  c = a[k]\n  edges[k].mark = 1\nout[0] = c",
    # reductions
    "a difference": "s = 0\nfor k in range(n): s -= a[k]" + _SUM,
    "a difference from the other side": "s = 0\nfor k in range(n): s = a[k] - s" + _SUM,
    "a product": "s = 1\nfor k in range(n): s *= a[k]" + _SUM,
    "a sum of floats": "s = 0.0\nfor k in range(n): s += a[k]\nout[0] = i32(s)",
    "a sum of narrow numbers": "s = i16(0)\nfor k in range(n): s += i16(a[k])" + _SUM,
    "a bool": "s = False\nfor k in range(n): s |= a[k] > c\nout[0] = i32(s)",
    "doubled and added to": "s = 0\nfor k in range(n): s = a[k] + s * 2" + _SUM,
    "begun anew": "s = 0\nfor k in range(n):\n  if a[k] == 0: s = 0\n  s += a[k]" + _SUM,
    "begun anew after": "s = 0\nfor k in range(n):\n  s += a[k]\n  if a[k] == 0: s = 0" + _SUM,
    "an average": "s = 0\nfor k in range(n): s = (s + a[k]) // 2" + _SUM,
    "doubled": "s = c\nfor k in range(n): s = s + s" + _SUM,
    "two operators": (
        "s = 0\nfor k in range(n):\n  if a[k] > 0: s += a[k]\n  else: s ^= a[k]" + _SUM
    ),
    "the sum so far": "s = 0\nfor k in range(n):\n  if s < c: s += a[k]" + _SUM,
    "the sum so far in another": (
        "s = t = 0\nfor k in range(n):\n  s += a[k]\n  t += s\nout[0] = i32(t)"
    ),
    "the sum so far as an index": "s = 0\nfor k in range(n): s += a[s]" + _SUM,
    "the sum so far in an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(s): s += 1" + _SUM
    ),
    "a minimum of something else": "s = c\nfor k in range(n): s = min(s + 1, a[k])" + _SUM,
    "a number that is chosen": (
        "s = c\nfor k in range(n): s = a[k] if a[k] < s else s" + _SUM
    ),
    "begun anew before an inner loop": (
        "s = 0\nfor k in range(n):\n  s = 5\n  for j in range(3): s += a[j] + k" + _SUM
    ),
    "begun anew by an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(3):\n    if a[j] == k:\n      s = 0\n"
        "      break\n    s += 1" + _SUM
    ),
    "begun anew by the else of an inner loop": (
        "s = 0\nfor k in range(n):\n  for j in range(3): s += j\n  else: s = 1" + _SUM
    ),
    "the sum so far tested by a while": (
        "s = 0\nfor k in range(n):\n  while s < a[k]: s += 1" + _SUM
    ),
    "the sum so far behind an inner loop": (
        "s = t = 0\nfor k in range(n):\n  for j in range(3): s += a[j]\n  t += s\nout[0] = s + t"
    ),
    "the sum so far of another inner round": (
        "s = 0\nfor k in range(n):\n  p = 0\n  for j in range(3):\n    s += a[p]\n    p = s" + _SUM
    ),
    "two that change places": (
        "s = t = c\nfor k in range(n):\n  s, t = t + a[k], s + 1\nout[0] = s + t"
    ),
    "two that change places in an inner loop": (
        "s = t = c\nfor k in range(n):\n  for j in range(3): s, t = t + a[k], s + 1\nout[0] = s + t"
    ),
    "back to what it was before an inner loop": (
        "s = 0\nfor k in range(n):\n  p = s + 1\n  for j in range(a[k]):\n    s += j\n"
        "    if s: s = p" + _SUM
    ),
    "another operator in an inner loop": (
        "s = 0\nfor k in range(n):\n  s += 1\n  for j in range(a[k]): s |= j" + _SUM
    ),
    "counted by an inner loop": "s = 0\nfor k in range(n):\n  for s in range(a[k]): pass" + _SUM,
    # memory
    "a sum and a store": "s = 0\nfor k in range(n):\n  s += a[k]\n  edges[k].put(1)" + _SUM,
    "elements": "s = 0\nfor k in range(n):\n  s += 1\n  out[k] = c" + _SUM,
    "elements in the object": "s = 0\nfor k in range(n):\n  s += 1\n  edges[k].row[0] = c" + _SUM,
    "augmented": "s = 0\nfor k in range(n):\n  s += 1\n  edges[k].value += 1" + _SUM,
    "augmented in a method": "s = 0\nfor k in range(n):\n  s += 1\n  edges[k].count()" + _SUM,
    "atomic": "s = 0\nfor k in range(n): s += oa.atomic_add(edges[k], 'value', 1)" + _SUM,
    "print": "s = 0\nfor k in range(n):\n  s += 1\n  print(a[k])" + _SUM,
    "a barrier": "s = 0\nfor k in range(n):\n  s += 1\n  oa.syncthreads()" + _SUM,
    "the number of threads": "s = 0\nfor k in range(n): s += oa.gridsize(1)" + _SUM,
    "assert": "s = 0\nfor k in range(n):\n  assert a[k] > 0\n  s += a[k]" + _SUM,
    "assert in a method": "s = 0\nfor k in range(n): s += edges[k].checked()" + _SUM,
    "the thread": "s = 0\nfor k in range(n): s += oa.grid(1)" + _SUM,
    "recursion": "s = 0\nfor k in range(n): s += edges[k].again(c)" + _SUM,
    "one of the candidates": "s = 0\nfor k in range(n): s += edges[k].seen()" + _SUM,
    "its number": "for k in range(n): edges[k].value = i32(k)",
    "a value that it reads": "for k in range(n): edges[k].value = a[k]",
    "a value in a local": "for k in range(n):\n  x = a[k]\n  edges[k].value = x",
    "a value that a method reads": "for k in range(n): edges[k].copy_mark()",
    "two stores": "for k in range(n):\n  e = edges[k]\n  if a[k] > 0: e.put(1)\n  else: e.put(2)",
    "two stores in a method": "for k in range(n): edges[k].put_twice(c)",
    "read elsewhere": "for k in range(n):\n  e = edges[k]\n  if edges[0].value > c: e.value = c",
    "read and stored to by some candidates": (
        "for k in range(n):\n  e = edges[k]\n  if e.value > c: e.set(c)"
    ),
    "read in another object": (
        "for k in range(n):\n  e = edges[k]\n  d = e.next\n  if d.value > c: e.value = c"
    ),
    "read in a captured object": (
        "for k in range(n):\n  e = edges[k]\n  if root.value > c: e.value = c"
    ),
    "read in an object without a name": (
        "for k in range(n):\n  if edges[k].value > c: edges[k].value = c"
    ),
    "read in a local of the method": "for k in range(n):\n  e = edges[k]\n  e.lower_next(c)",
    "a parameter that changes": (
        "for k in range(n):\n  e = edges[k]\n  e.lower_through_parameter(c)"
    ),
    "followed while it is stored to": (
        "for k in range(n):\n  e = edges[k].next\n  e.next = root"
    ),
    "an object of two assignments": (
        "for k in range(n):\n  e = edges[k]\n  x = e.value\n  e = root\n  if x > c: e.value = c"
    ),
    "passed on in another field": (
        "for k in range(n):\n  e = edges[k]\n  if a[k] and e.value == 0: e.mark = 1\n"
        "  if e.mark: e.value = 2"
    ),
    "passed on in another field and object": (
        "for k in range(n):\n  e = edges[k]\n  d = edges[a[k]]\n  if d.mark: e.value = 2\n"
        "  if e.value: d.mark = 1"
    ),
    "carried on by an inner loop": (
        "for k in range(n):\n  x = 0\n  for j in range(c):\n    e = edges[a[k + j]]\n"
        "    if x: e.value = 5\n    x = e.value"
    ),
    "waited for": (
        "for k in range(n):\n  e = edges[k]\n  if a[k]: e.value = 1\n  while e.value == 0: pass"
    ),
}  # fmt: skip


def verdict(folder: Path, body: str) -> list[str]:
    """The shared loops of a kernel, in the order of the source."""
    names = {"Edge": Edge, "Narrow": Narrow, "total": total, "last": last}
    program = program_from(folder, PARAMETERS, body, **names)
    share_loops(program)
    loops = [each for each in operations_in(program) if "shared" in each.attributes]
    return [_described(loop) for loop in sorted(loops, key=lambda loop: loop.location)]


def _described(loop: Operation) -> str:
    captured = [v for v in live_ins(loop.regions[:1]) if v.name]
    indexed = only_indexed(loop, captured)
    taken = ", ".join(sorted(v.name + ("[]" if v in indexed else "") for v in captured))
    pairs = zip(loop["shared"], loop.results, strict=True)
    given = ", ".join(f"{operator} {result.name}" for operator, result in pairs)
    text = f"{loop.regions[0].arguments[0].name}: {taken}"
    return text + (f" -> {given}" if given else "")


@pytest.mark.parametrize("name", SHARED)
def test_shared(tmp_path: Path, name: str) -> None:
    body, expected = SHARED[name]
    assert verdict(tmp_path, body) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    found = verdict(tmp_path, REFUSED[name])
    assert all(text.startswith("j:") for text in found)
