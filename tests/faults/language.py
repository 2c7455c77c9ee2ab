"""Bodies of kernels that are refused, and what is refused at the edge of what is allowed."""

from __future__ import annotations

import sharedoa as oa

from .catalogue import CPU, add, case
from .programs import module
from .texts import Entry, described, entries
from .verdicts import check_equal, may_refuse, refuses

_HEAD = """
from __future__ import annotations
import math
import numpy as np
import sharedoa as oa
from sharedoa import f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

class Base(oa.Object):
    n: i32
    next: Base
    items: oa.Array[i32]
    few: oa.inline[f32, 4]
    def get(self) -> i32:
        return self.n

class Leaf(Base):
    size: i32

@oa.value
class Pair:
    x: i32
    y: f32

@oa.func
def half(n: i32) -> i32:
    return n // 2

@oa.func
def nothing(n: i32) -> None:
    pass

table = [1, 2, 3]
@oa.kernel
def k(n: i32, x: f64, a: oa.Array[i32], base: Base, bases: oa.Array[Base]):
"""


def launch(body: str) -> list[int]:
    """The first elements of ``a`` after a kernel with this body."""
    text = _HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    mine = module(text)
    a = oa.zeros(8, oa.i32)
    bases = oa.new(mine.Leaf, 4, n=[1, 2, 3, 4])
    bases.next = bases[0]
    mine.k[1](7, 2.5, a, bases[0], bases)
    oa.synchronize()
    return [int(number) for number in a.numpy()]


#: With words of the complaint.
_REFUSED = """
dict: dict
    b = {1: 2}
set: set
    b = {1, 2}
f_string: f-string
    s = f'{n}'
string_variable: str|text
    s = 'abc'
    a[0] = n
string_compare: str|text
    a[0] = 1 if 'a' == 'b' else 0
bytes_literal: number|bytes
    b = b'abc'
complex_literal: complex|real numbers
    b = 1j
try_block: try
    try:
        n = 1
    except ValueError:
        pass
raise_statement: raise, assert
    raise ValueError('no')
with_block: with
    with open('x') as f:
        pass
nested_function: nested function, oa.func
    def inner():
        pass
    inner()
nested_class: nested class
    class Inner:
        pass
import_inside: import
    import os
global_statement: global
    global table
    table = n
del_statement: del
    del n
lambda_in_a_list: lambda
    f = [lambda v: v]
star_arguments: half|star|argument|*
    half(*(1,))
unknown_name: missing, not defined
    a[0] = missing
unknown_field: missing, Base
    a[0] = base.missing
unknown_method: missing, Base
    a[0] = base.missing()
field_of_a_subclass: size, isinstance|Base
    a[0] = base.size
field_of_a_number: real|i32
    a[0] = n.real
call_of_a_number: n|call
    a[0] = n()
index_of_a_number: index
    a[0] = n[0]
index_by_a_float: index, f64|float
    a[x] = 1
index_by_an_object: index|Base
    a[base] = 1
float_into_int: f64, i32
    a[0] = x
variable_of_two_types: m, Base|i32
    m = base
    m = n
unset_variable: m
    if n > 3:
        m = 1
    a[0] = m
too_few_arguments: half, n
    a[0] = half()
too_many_arguments: half
    a[0] = half(1, 2)
unknown_keyword: half, m
    a[0] = half(m=1)
value_of_nothing: no value|not None
    a[0] = nothing(1)
return_of_a_value: return
    return n
object_plus_object: Base, +
    a[0] = base + base
object_less_than_object: Base|<
    a[0] = 1 if base < base else 0
text_plus_number: str|text
    a[0] = n + 'a'
oa_new_inside: new
    b = oa.new(Leaf, 3)
oa_zeros_inside: zeros
    b = oa.zeros(3, i32)
synchronize_inside: synchronize
    oa.synchronize()
kernel_called_inside: kernel|k
    k[1](n, x, a, base, bases)
numpy_function: np|numpy|sum
    a[0] = np.sum(a)
list_global_used: table
    a[0] = table[0]
range_with_a_float: range|f64
    for i in range(x):
        a[0] = i
range_step_zero: step|zero|0
    for i in range(0, 5, 0):
        a[0] = i
loop_over_a_number: range|for
    for v in n:
        a[0] = v
unpacking_too_few: 3|unpack|2
    p, q = (1, 2, 3)
constant_too_large: 18446744073709551616, fit
    m = 2**64
    a[0] = i32(m)
constant_index_too_large: fit
    a[2**64] = 1
isinstance_of_a_tuple: isinstance
    a[0] = 1 if isinstance(n, i32) else 0
isinstance_of_no_class: isinstance|Pair
    a[0] = 1 if isinstance(base, Pair) else 0
super_in_a_kernel: super
    super().get()
grid_of_a_variable: grid
    i = oa.grid(n)
atomic_on_a_number: atomic
    oa.atomic_add(n, 1)
atomic_on_an_object: atomic
    oa.atomic_add(base, 1)
attribute_of_a_value_set: values|Pair
    p = Pair(1, 2.0)
    p.x = 3
value_with_too_few: Pair|y
    p = Pair(1)
value_with_the_wrong_type: Pair|x|Base
    p = Pair(base, 1.0)
method_without_call: get|call
    f = base.get
    a[0] = 1
assignment_to_a_parameter_array: a, i32|Array
    a = n
assignment_to_a_function: half
    half = n
    a[0] = half(1)
assignment_to_length: len
    len = n
    a[0] = len(a)
yield_statement: yield
    yield n
chained_with_objects: is|i32
    a[0] = 1 if base is bases[0] is None is n else 0
power_of_an_object: Base|**
    a[0] = base ** 2
matrix_product: @
    a[0] = n @ n
shift_of_a_float: <<|f64
    a[0] = i32(x << 2)
invert_a_float: ~|f64
    a[0] = i32(~x)
docstring_with_format: str|text|%
    '%s' % n
ellipsis_as_a_value: ...|Ellipsis|ellipsis
    a[0] = ...
math_with_an_object: sqrt|Base
    a[0] = i32(math.sqrt(base))
math_unknown: gamma_of
    a[0] = math.gamma_of(n)
int_of_text: text|str|int
    a[0] = int('3')
store_none_in_a_number: None
    a[0] = None
length_of_a_number: len
    a[0] = len(n)
huge_inline_index: 7, 4
    base.few[7] = 1.0
negative_inline_index: -5|5, 4
    base.few[-5] = 1.0
unset_loop_variable: before it has a value
    for i in range(5):
        pass
    a[0] = i
unset_behind_a_break: before it has a value
    for i in range(5):
        if i == 3:
            break
    else:
        a[1] = 1
    a[0] = i
sum_of_bools: bools
    a[0] = (n > 3) + (n > 4)
assert_with_a_call: value
    assert nothing(1)
"""

#: With what the elements of ``a`` begin with.
_FINE = """
plain: 7
    a[0] = n
chained_comparison: 1 0
    a[0] = 1 if 1 < n < 9 else 0
    a[1] = 1 if 1 < n < 5 else 0
chained_assignment: 14
    p = q = n
    a[0] = p + q
swap: 2 1
    p, q = 1, 2
    p, q = q, p
    a[0] = p
    a[1] = q
while_else: 10
    i = 0
    while i < 3:
        i += 1
    else:
        i = 10
    a[0] = i
loop_variable_assigned: 10
    s = 0
    for i in range(5):
        s += i
        i = 100
    a[0] = s
bound_changed_in_loop: 3
    m = 3
    c = 0
    for i in range(m):
        m = 10
        c += 1
    a[0] = c
range_backwards: 531
    s = 0
    for i in range(5, 0, -2):
        s = s * 10 + i
    a[0] = s
range_empty: 9 0
    i = 9
    for i in range(3, 1):
        a[1] = 1
    a[0] = i
short_circuit: 1
    a[0] = 1 if (n == 7 or a[n // 0] == 1) else 0
conditional_value: 6
    a[0] = (3 if n > 5 else 4) * 2
negative_constant_index: 8
    a[0] = 1 - -n
floor_division: -4 -4 2 -2
    a[0] = -n // 2
    a[1] = n // -2
    a[2] = -n % 3
    a[3] = n % -3
nested_tuples: 7
    p = ((1, 2), (3, n))
    a[0] = p[1][1]
early_return: 1
    a[0] = 1
    if n == 7:
        return
    a[0] = 2
pass_alone: 0
    pass
docstring_alone: 0
    '''nothing'''
unused_expression: 1
    n + 1
    a[0] = 1
is_none: 1
    a[0] = 1 if base.next is not None else 0
walk_of_a_list: 5
    c = base
    i = 0
    while c is not None and i < 5:
        i += 1
        c = c.next
    a[0] = i
augmented_element: 15
    a[n - 7] += 5
    a[n - 7] *= 3
augmented_index_once: 0 -3
    i = 0
    a[i + 1] += 2
    a[i + 1] -= 5
divmod_of_numbers: 4
    a[0] = n % 4 + n // 4
bit_operations: 13 -8 3
    a[0] = (n & 5) | (n ^ 3) << 1
    a[1] = ~n
    a[2] = n >> 1
min_and_max: 3 9 7
    a[0] = min(n, 3, 9)
    a[1] = max(n, 3, 9)
    a[2] = abs(-n)
unicode_names: 7
    größe = n
    a[0] = größe
constant_condition: 0 0 1
    while False:
        a[0] = 1
    if 1 > 2:
        a[1] = 1
    a[2] = 1
true_loop_with_break: 8
    i = 0
    while True:
        i += 1
        if i > n:
            break
    a[0] = i
list: 1 2
    b = [1, 2]
    a[0] = b[0]
    a[1] = b[1]
comprehension: 3 2
    b = [i for i in range(3)]
    a[0] = len(b)
    a[1] = b[-1]
generator: 3
    a[0] = sum(i for i in range(3))
walrus: 4 3
    a[0] = (m := 3) + 1
    a[1] = m
slice_of_array: 2 7
    b = a[1:3]
    a[0] = len(b)
    b[0] = n
match_block: 5
    match n:
        case 7:
            a[0] = 5
loop_over_an_array: 0 7 7
    for v in a[1:3]:
        a[0] += v
    for i in range(1, 3):
        a[i] = n
grid_of_three: 0 0 0
    a[0], a[1], a[2] = oa.grid(3)
in_operator: 0 1
    a[0] = 1 if n in (1, 2) else 0
    a[1] = 1 if n in (1, 7) else 0
continue_in_loops: 6
    s = 0
    for i in range(6):
        if i % 2:
            continue
        s += i
    a[0] = s
"""


def _add_refused(entry: Entry) -> None:
    def run() -> None:
        with refuses((oa.CompileError, oa.ClassError), *entry.words):
            launch(entry.body)

    run.__doc__ = described("A kernel with", entry)
    add(f"language.{entry.name}", run, debug=False, backends=CPU)


def _add_fine(entry: Entry) -> None:
    def run() -> None:
        expected = [int(number) for number in entry.due.split()]
        check_equal(launch(entry.body)[: len(expected)], expected)

    run.__doc__ = described("A kernel with", entry)
    add(f"language.{entry.name}", run)


for _entry in entries(_REFUSED):
    _add_refused(_entry)
for _entry in entries(_FINE):
    _add_fine(_entry)


@case()
def deep_parentheses() -> None:
    """Sixty parentheses."""
    check_equal(launch("a[0] = " + "(" * 60 + "n" + ")" * 60)[0], 7)


@case()
def many_variables() -> None:
    """Three hundred variables."""
    body = "\n".join(f"v{i} = n + {i}" for i in range(300)) + "\na[0] = v299"
    check_equal(launch(body)[0], 306)


@case()
def many_branches() -> None:
    """A hundred and fifty branches."""
    check_equal(launch("\n".join(f"if n == {i}:\n    a[0] = {i}" for i in range(150)))[0], 7)


@case(debug=False)
def conjunction_of_two_thousand() -> None:
    """An ``and`` of 2,000 terms."""
    with may_refuse(oa.CompileError, "nest|deep|long|many"):
        body = "if " + " and ".join(["n == 7"] * 2000) + ":\n    a[0] = 1"
        check_equal(launch(body)[0], 1)


@case(debug=False)
def sum_of_two_thousand() -> None:
    """A sum of 2,000 terms."""
    with may_refuse(oa.CompileError, "nest|deep|long|many"):
        check_equal(launch("a[0] = " + " + ".join(["n"] * 2000))[0], 14000)


@case(debug=False)
def elif_of_a_thousand() -> None:
    """An ``elif`` chain of 1,000 branches."""
    with may_refuse(oa.CompileError, "nest|deep|long|many"):
        body = "if n == -1:\n    a[0] = 1\n" + "".join(
            f"elif n == {i}:\n    a[0] = {i + 1}\n" for i in range(1000)
        )
        check_equal(launch(body)[0], 8)


@case(debug=False)
def comparison_of_a_thousand() -> None:
    """A chain of 1,000 comparisons."""
    with may_refuse(oa.CompileError, "nest|deep|long|many"):
        body = "a[0] = 1 if " + " <= ".join(["n"] * 1000) + " else 0"
        check_equal(launch(body)[0], 1)


@case(debug=False)
def parentheses_of_five_hundred() -> None:
    """Five hundred unary operators."""
    with may_refuse((oa.CompileError, SyntaxError, RecursionError), "nest|deep|recursion|long"):
        check_equal(launch("a[0] = " + "-" * 500 + "n")[0], 7)


@case(debug=False)
def tuple_of_a_thousand() -> None:
    """A tuple of 1,000 numbers, indexed."""
    with may_refuse(oa.CompileError, "tuple|nest|long|many"):
        check_equal(launch("p = (" + ", ".join(["n"] * 1000) + ")\na[0] = p[999]")[0], 7)


@case(debug=False)
def loops_of_thirty_levels() -> None:
    """Thirty loops in each other: Python itself refuses more than twenty blocks."""
    body = "".join("    " * i + f"for i{i} in range(1):\n" for i in range(30))
    with may_refuse((oa.CompileError, SyntaxError), "nested|deep"):
        check_equal(launch(body + "    " * 30 + "a[0] = 1")[0], 1)


@case(debug=False, backends=CPU)
def source_typed_at_a_prompt() -> None:
    """A kernel whose source nobody can read."""
    names: dict[str, object] = {}
    exec(
        "import sharedoa as oa\n@oa.kernel\ndef k(a: oa.Array[oa.i32]):\n    a[0] = 1\n",
        names,
    )
    kernel = names["k"]
    assert isinstance(kernel, oa.Kernel)
    with refuses(oa.CompileError, "source", "file|notebook"):
        kernel[1](oa.zeros(1, oa.i32))


@case(debug=False, backends=CPU)
def all_mistakes_at_once() -> None:
    """Several mistakes are told together, each with its line."""
    with refuses(oa.CompileError, "missing", "dict", "mine.py"):
        launch("a[0] = missing\nb = {1: 1}")


@case(debug=False, backends=CPU)
def good_after_bad() -> None:
    """A kernel that was refused does not disturb the next."""
    with refuses(oa.CompileError, "missing"):
        launch("a[0] = missing")
    check_equal(launch("a[0] = n")[0], 7)
