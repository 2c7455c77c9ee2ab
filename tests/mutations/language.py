"""Faults in what Python means that kernels understand."""

from .mutation import Mutation

_NUMBERS = ("tests/frontend/test_number_calls.py::test_methods_of_numbers_roots_and_products",)
_PARTS = ("tests/frontend/test_patterns_and_parts.py::test_the_same_everywhere",)
_LOCAL_FUNCTIONS = ("tests/frontend/test_local_functions.py::test_the_same_everywhere",)
_NUMBER_FUNCTIONS = "sharedoa/number_functions.py"

MUTATIONS = (
    Mutation(
        "roots of integers are those that 53 digits give", _NUMBER_FUNCTIONS,
        "return root - 1 if root * root > n else root", "return root",
        "math.isqrt gives one too much below large squares", _NUMBERS,
    ),
    Mutation(
        "bits of negative numbers are those in memory", _NUMBER_FUNCTIONS,
        "return u64(0) - u64(n) if n < 0 else u64(n)", "return u64(n)",
        "(-1).bit_count() is 64", _NUMBERS,
    ),
    Mutation(
        "infinity is an integer", "sharedoa/frontend/number_methods.py",
        """"and", finite, same)""", """"and", same, same)""",
        "math.inf.is_integer() is true", _NUMBERS,
    ),
    Mutation(
        "objects begin with the __init__ of a protocol", "sharedoa/model/object.py",
        "        pass_over_protocols(cls)\n", "",
        "a class with a Protocol before one with __init__ begins objects with nothing",
        ("tests/model/test_abstract_classes.py::test_protocols",),
    ),
    Mutation(
        "names of patterns are assigned before the pattern fits", "sharedoa/frontend/matching.py",
        "own = ast.Name(context.own_name(pattern.name, pattern), ast.Load())",
        "own = ast.Name(pattern.name, ast.Load())",
        "case (y, 5) gives y another value where the second number is not 5", _PARTS,
    ),
    Mutation(
        "elements of lists wrap", "sharedoa/frontend/lists.py",
        "if joined != place.type or may_wrap(value, place.type, nonnegative):",
        "if joined != place.type:",
        "z = [u8(0)] * 4 holds 44 after z[0] = k * 100 with a k of 3",
        ("tests/frontend/test_patterns_and_parts.py::"
         "test_a_list_takes_no_int_that_it_might_not_hold",),
    ),
    Mutation(
        "elements of a list ask for one type after the other for ever",
        "sharedoa/frontend/lists.py",
        "        type = join_types(known, type)  # which only", "        pass  # which",
        "a list that is assigned an i32 and an f32 is an internal error, after a while",
        ("tests/runtime/test_lists.py::test_complaints",),
    ),
    Mutation(
        "any stops amid the items of a list", "sharedoa/frontend/folds.py",
        "*([] if is_list else [tree.Break(location)])", "tree.Break(location)",
        "any([x.hit() for x in a]) calls hit of fewer objects than CPython", _PARTS,
    ),
    Mutation(
        "parts of inline arrays begin with the array", "sharedoa/frontend/iteration.py",
        """return whole.at(binary(context, "add", start, moved, node))""",
        "return whole.at(moved)",
        "sum(self.marks[1:]) adds the first marks", _PARTS,
    ),
    Mutation(
        "lists are as long as the first of a variable", "sharedoa/frontend/context.py",
        "            self._list_lengths[name] = None\n", "            pass\n",
        "sum(v) adds three items of a list of four that v has become", _PARTS,
    ),
    Mutation(
        "slices of lists that loops go through are no copies", "sharedoa/frontend/statements.py",
        "items_of(context, gone_through(context, node))", "items_of(context, node.iter)",
        "for x in v[1:3] goes through what its rounds assign to elements of v", _PARTS,
    ),
    Mutation(
        "what min and max give without items is computed where it is needed",
        "sharedoa/frontend/folds.py",
        "kept = held.hold_unknown(other)", "kept = other",
        "a method in default=... is not called where there are items", _PARTS,
    ),
    Mutation(
        "local functions have one set of variables", "sharedoa/frontend/context.py",
        """places = [*self.expanding.values(), f"{node.lineno}.{node.col_offset}"]""",
        """places = [f"{node.lineno}.{node.col_offset}"]""",
        "a lambda that another one calls takes an object or a number, not one after the other",
        _LOCAL_FUNCTIONS,
    ),
    Mutation(
        "next goes on to the last item", "sharedoa/frontend/folds.py",
        """            tree.Assign(location, left, constant(True, boolean, location)),
            tree.Break(location),
        ]

    loops = each_item(context, node.args[0], take, left)""",
        """            tree.Assign(location, left, constant(True, boolean, location)),
        ]

    loops = each_item(context, node.args[0], take, left)""",
        "next((k for k in b if k > 2), 0) is the last of them", _LOCAL_FUNCTIONS,
    ),
    Mutation(
        "elements of inline arrays are read while others are written",
        "sharedoa/model/field_access.py",
        "in [*_elements(field, value, type.shape, ())]:",
        "in _elements(field, value, type.shape, ()):",
        "node.w = node.w[::-1] is [3, 2, 3]",
        ("tests/heap/test_field_views.py::test_an_inline_array_is_given_its_own_elements",),
    ),
    Mutation(
        "objects of one of several classes are of any", "sharedoa/frontend/conditions.py",
        """parts = [node.left, node.right]""", "return []",
        "isinstance(x, A | B) is refused", _PARTS,
    ),
    Mutation(
        "what a case names is of the variable's class", "sharedoa/frontend/matching.py",
        "fits.narrowed[name] = value.type.cls", "pass",
        "case Cat() as x is no Cat where another case names x, too", _PARTS,
    ),
    Mutation(
        "tuples are compared by their last items", "sharedoa/frontend/comparisons.py",
        "for x, y in reversed([*zip(a, b, strict=True)]):", "for x, y in zip(a, b, strict=True):",
        "max((1, 9), (2, 3)) is (1, 9)", _PARTS,
    ),
    Mutation(
        "what := gives in the condition of a generator is nothing", "sharedoa/frontend/folds.py",
        "            context.assume(assigned_by(each, True))\n", "",
        "sum(y for x in a if x > 0 and (y := f(x)) > 1) is refused", _PARTS,
    ),
    Mutation(
        "all items of a list are made before keys", "sharedoa/frontend/folds.py",
        "    others += [] if key is None else [key]\n", "",
        "max([b.tick(k) for k in a], key=f) calls f in between",
        ("tests/frontend/test_unsupported.py::test_lists_of_which_all_items_are_made_first",),
    ),
)  # fmt: skip
