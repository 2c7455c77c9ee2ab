"""Class statements, decorators and annotations that cannot be."""

from __future__ import annotations

from ast import literal_eval

import sharedoa as oa

from .catalogue import CPU, add
from .programs import module
from .texts import Entry, described, entries
from .verdicts import check_equal, refuses

_HEAD = """
from __future__ import annotations
from typing import ClassVar, Optional
import sharedoa as oa
from sharedoa import f32, f64, i8, i32, i64, u8, u64

class Base(oa.Object):
    n: i32
    def get(self) -> i32:
        return self.n
    def put(self, v: i32) -> None:
        self.n = v
"""

_REFUSED = """
two_bases: 2 bases|bases
    class B(oa.Object): pass
    class C(Base, B): pass
mixin_with_a_field: Mix, fields
    class Mix:
        m: i32
    class C(Base, Mix): pass
mixin_with_init: Mix, __init__
    class Mix:
        def __init__(self): self.m = 1
    class C(Base, Mix): pass
default_of_another_type: default, n
    class C(oa.Object):
        n: i32 = "five"
default_too_large: n, 1099511627776
    class C(oa.Object):
        n: i32 = 2**40
    oa.new(C)
default_with_a_fraction: n, i32
    class C(oa.Object):
        n: i32 = 1.5
    oa.new(C)
default_for_a_field_of_the_base: m, C
    class C(Base):
        m: i32 = 5
    class D(C):
        m: i32 = 7
    oa.new(D)
default_object: default, __init__
    class C(Base):
        b: Base = oa.new(Base)
default_of_an_inline_array: v, __init__
    class C(oa.Object):
        v: oa.inline[f32, 3] = [1, 2, 3]
no_annotation: annotation
    class C(oa.Object):
        n = 5
type_instead_of_annotation: colon|annotation
    class C(oa.Object):
        n = i32
python_int: int, i32
    class C(oa.Object):
        n: int
    oa.new(C)
python_float: float, f32
    class C(oa.Object):
        n: float
    oa.new(C)
python_str: str
    class C(oa.Object):
        n: str
    oa.new(C)
python_list: list, Array
    class C(oa.Object):
        n: list[i32]
    oa.new(C)
unknown_type: Missing
    class C(oa.Object):
        n: Missing
    oa.new(C)
none_field: None
    class C(oa.Object):
        n: None
    oa.new(C)
tuple_field: tuple
    class C(oa.Object):
        n: tuple[i32, i32]
    oa.new(C)
object_itself: Object
    class C(oa.Object):
        n: oa.Object
    oa.new(C)
union_field: union|type
    class C(oa.Object):
        n: i32 | f32
    oa.new(C)
array_of_arrays: Array
    class C(oa.Object):
        n: oa.Array[oa.Array[i32]]
    oa.new(C)
inline_of_zero: length, 0
    class C(oa.Object):
        n: oa.inline[i32, 0]
    oa.new(C)
inline_negative: length
    class C(oa.Object):
        n: oa.inline[i32, -1]
    oa.new(C)
inline_float: length
    class C(oa.Object):
        n: oa.inline[i32, 2.5]
    oa.new(C)
inline_without_length: inline
    class C(oa.Object):
        n: oa.inline[i32]
    oa.new(C)
inline_huge: large|big|bytes|length|room
    class C(oa.Object):
        n: oa.inline[f32, 2**31]
    oa.new(C)
inline_beyond_64_bits: large|big|bytes|length|room
    class C(oa.Object):
        n: oa.inline[f64, 2**62]
    oa.new(C)
inline_of_arrays: Array|hold
    class C(oa.Object):
        n: oa.inline[oa.Array[i32], 2]
    oa.new(C)
field_twice: n, already|declares
    class C(Base):
        n: f32
    oa.new(C)
field_hides_method: get, method
    class C(Base):
        get: i32
method_hides_field: n, field
    class C(Base):
        def n(self) -> i32:
            return 1
field_and_method: m
    class C(oa.Object):
        m: i32
        def m(self) -> i32:
            return 1
reserved_field: _heap, rename|taken
    class C(oa.Object):
        _heap: i32
reserved_reference: _reference, rename|taken
    class C(oa.Object):
        _reference: i32
dunder_field: __x__
    class C(oa.Object):
        __x__: i32
    oa.new(C, 3, __x__=5)
dunder_eq: __eq__
    class C(oa.Object):
        n: i32
        def __eq__(self, o): return True
dunder_len: __len__
    class C(oa.Object):
        def __len__(self): return 1
lambda_method: lambda|function
    class C(oa.Object):
        m = lambda self: 1
cached_method: m, decorat|function
    import functools
    class C(oa.Object):
        @functools.cache
        def m(self) -> i32:
            return 1
static_override: get
    class C(Base):
        @staticmethod
        def get() -> i32:
            return 1
property_override: get
    class C(Base):
        @property
        def get(self) -> i32:
            return 1
property_override_without_setter: half, setter, getter
    class A(oa.Object):
        x: f32
        @property
        def half(self) -> f32:
            return self.x
        @half.setter
        def half(self, v: f32) -> None:
            self.x = v
    class C(A):
        @property
        def half(self) -> f32:
            return self.x
object_of_an_abc: step, abstract, subclass
    import abc
    class A(oa.Object, abc.ABC):
        @abc.abstractmethod
        def step(self) -> i32:
            return 1
    oa.new(A)
abc_registered: register, subclass
    Base.register(int)
final_without_value: RATE, Final, f32
    from typing import Final
    class A(oa.Object):
        RATE: Final[float]
field_of_text: str, text
    class A(oa.Object):
        name: str
    oa.new(A)
field_of_a_plain_class: Plain, oa.Object
    class Plain:
        pass
    class A(oa.Object):
        plain: Plain
    oa.new(A)
override_other_result: get, signature
    class C(Base):
        def get(self) -> f32:
            return 1.0
    oa.new(C)
override_other_parameters: put, signature
    class C(Base):
        def put(self, v: f32) -> None:
            pass
    oa.new(C)
override_more_parameters: put, signature
    class C(Base):
        def put(self, v: i32, w: i32) -> None:
            pass
    oa.new(C)
override_other_names: put, names
    class C(Base):
        def put(self, w: i32) -> None:
            pass
    oa.new(C)
method_without_self: m, self|parameter|receiver
    class C(oa.Object):
        def m() -> i32:
            return 1
    oa.new(C, 2).m()
method_without_types: m, annotation|type
    class C(oa.Object):
        def m(self, v):
            return v
    oa.new(C, 2).m(1)
method_without_result: m, value|result|annotation|return
    class C(oa.Object):
        def m(self):
            return 1
    oa.new(C, 2).m()
method_with_stars: m|v
    class C(oa.Object):
        def m(self, *v: i32) -> i32:
            return 1
    oa.new(C, 2).m(1)
async_method: m, async|def
    class C(oa.Object):
        async def m(self) -> i32:
            return 1
    oa.new(C, 2).m()
layout_unknown: rows, aos
    class C(oa.Object, layout='rows'): pass
layout_of_a_subclass: layout, Base
    class C(Base, layout='aos'): pass
class_option_unknown: keyword|mode
    class C(oa.Object, mode='auto'): pass
cycle_of_values: V
    @oa.value
    class V:
        v: V
value_with_a_base: base
    class B: pass
    @oa.value
    class V(B):
        x: i32
value_without_fields: no fields
    @oa.value
    class V: pass
value_with_default_of_another_type: default, i32
    @oa.value
    class V:
        x: i32 = 3.5
value_with_default_before: no default, before
    @oa.value
    class V:
        x: i32 = 3
        y: i32
value_as_a_dataclass: dataclass
    import dataclasses
    @oa.value
    @dataclasses.dataclass
    class V:
        x: i32
value_with_init: __init__
    @oa.value
    class V:
        x: i32
        def __init__(self): pass
value_with_array: Array
    @oa.value
    class V:
        x: oa.Array[i32]
value_of_a_function: oa.value|decorates
    @oa.value
    def f(): pass
kernel_of_a_class: function
    @oa.kernel
    class C: pass
kernel_of_a_kernel: function
    @oa.kernel
    @oa.kernel
    def k(n: i32): pass
kernel_of_a_lambda: lambda|source|annotation|def
    k = oa.kernel(lambda n: n)
    k[1](1)
kernel_with_a_result: return|result
    @oa.kernel
    def k(n: i32) -> i32:
        return n
    k[1](1)
kernel_without_types: n, annotation
    @oa.kernel
    def k(n):
        pass
    k[1](1)
kernel_with_stars: n, parameter
    @oa.kernel
    def k(*n: i32):
        pass
    k[1](1)
kernel_with_option_name: mode, rename
    @oa.kernel
    def k(mode: i32):
        pass
    k[1](1)
kernel_with_default_of_another_type: n, i32|default
    @oa.kernel
    def k(n: i32 = 'a'):
        pass
    k[1]()
kernel_as_a_method: k|kernel|Kernel
    class C(oa.Object):
        @oa.kernel
        def k(self): pass
generator_kernel: yield
    @oa.kernel
    def k(a: oa.Array[i32]):
        yield a[0]
    k[1](oa.zeros(1, i32))
func_of_a_class: function
    @oa.func
    class C: pass
func_without_types: x, annotation
    @oa.func
    def f(x):
        return x
    @oa.kernel
    def k(a: oa.Array[i32]):
        a[0] = f(1)
    k[1](oa.zeros(1, i32))
func_with_a_mutable_default: x|default
    @oa.func
    def f(x: i32 = []) -> i32:
        return 1
    @oa.kernel
    def k(a: oa.Array[i32]):
        a[0] = f()
    k[1](oa.zeros(1, i32))
abstract_class_made: abstract, m
    class C(oa.Object):
        def m(self) -> i32: ...
    oa.new(C)
object_itself_made: Object|subclass
    oa.new(oa.Object)
new_of_a_number: 5, shared class
    oa.new(5)
new_of_a_python_class: C, shared class
    class C: pass
    oa.new(C)
new_of_a_value: V, shared class
    @oa.value
    class V:
        x: i32
    oa.new(V)
attribute_set: extra
    Base.extra = 5
method_added: extra
    Base.extra = lambda self: 1
method_deleted: get
    del Base.get
field_of_an_object_added: extra
    oa.new(Base).extra = 5
"""


_WORKS = """
mixin: [6, 8]
    class Mix:
        def twice(self) -> i32:
            return 2 * self.get()
    class C(Base, Mix): pass
    found = oa.new(C, 2, n=[3, 4]).twice()
default: [5, 5, 9]
    class C(Base):
        m: i32 = 5
        def sum(self) -> i32:
            return self.n + self.m
    found = [*oa.new(C, 2).sum(), C(n=4).sum()]
default_of_a_subclass_behind_its_base: [9, 2]
    class C(Base):
        m: i32 = 9
    class D(C):
        def get(self) -> i32:
            return 1
    made = oa.new(D, 1, n=4)
    found = [made[0].m, made.get()[0] + 1]
"""
"""What was refused once."""

#: What is of Python itself says enough where it is refused by Python.
ERRORS = (oa.ClassError, oa.CompileError, oa.ArgumentError, TypeError, AttributeError)


def _add(entry: Entry) -> None:
    def run() -> None:
        with refuses(ERRORS, *entry.words):
            module(_HEAD + entry.body)
        # What was refused has left nothing behind.
        good = module(_HEAD + "class Last(Base): pass\n", "good")
        check_equal(oa.new(good.Last, 3, n=[1, 2, 3]).get().numpy(), [1, 2, 3])

    run.__doc__ = described("A module with", entry)
    add(f"definitions.{entry.name}", run, debug=False, backends=CPU)


def _add_working(entry: Entry) -> None:
    def run() -> None:
        check_equal(list(module(_HEAD + entry.body).found), literal_eval(entry.due))

    run.__doc__ = described("A module with", entry)
    add(f"definitions.{entry.name}", run, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)
for _entry in entries(_WORKS):
    _add_working(_entry)
