"""Faults in what kernels assign as a whole, by setters, and read by any index."""

from .mutation import Mutation

_SETTERS = "tests/runtime/test_setters.py::"
_TUPLES = "tests/runtime/test_tuples_by_index.py::"
_WHOLE = "tests/codegen/test_whole_inline_arrays.py::"

MUTATIONS = (
    Mutation(
        "repeated items of inline arrays are each computed", "sharedoa/frontend/inline_arrays.py",
        'coerce(context, held.hold_unknown(each), type.item, node, "an element")',
        'coerce(context, each, type.item, node, "an element")',
        "self.k = [f()] * 4 calls f four times",
        (_WHOLE + "test_fields_are_assigned_as_a_whole",),
    ),
    Mutation(
        "tuples for inline arrays are computed for each item", "sharedoa/frontend/inline_arrays.py",
        "    whole = held.hold(as_variable(context, value, node))\n    parts",
        "    whole = value\n    parts",
        "self.k = f() calls f four times",
        (_WHOLE + "test_fields_are_assigned_as_a_whole",),
    ),
    Mutation(
        "tuples that are indexed are computed for each item", "sharedoa/frontend/lists.py",
        "items_of_tuple(held.hold(as_variable(context, base, node)))", "items_of_tuple(base)",
        "f()[k] calls f as often as its result has items",
        (_TUPLES + "test_the_same_everywhere",),
    ),
    Mutation(
        "tuples are not indexed from their end", "sharedoa/frontend/lists.py",
        "wraps = not is_nonnegative(context, place)", "wraps = False",
        "(a, b, c)[k - 3] reads what lies before the tuple",
        (_TUPLES + "test_the_same_everywhere",),
    ),
    Mutation(
        "properties are assigned before the value is computed", "sharedoa/frontend/targets.py",
        "    if not isinstance(value, tree.Constant):\n        value",
        "    if False:\n        value",
        "objects[f()].speed = g() calls f first",
        (_SETTERS + "test_the_same_everywhere",),
    ),
    Mutation(
        "objects whose property is augmented are looked for twice", "sharedoa/frontend/targets.py",
        "    receiver = _named(context, made, target.receiver, node)",
        "    receiver = target.receiver",
        "objects[f()].speed += 1 calls f twice",
        (_SETTERS + "test_the_same_everywhere",),
    ),
    Mutation(
        "properties without a setter over ones with it", "sharedoa/model/object.py",
        "elif base is not None and setter_name(name) in base.slots:", "elif False:",
        "kernels call the setter of the base, where CPython raises",
        (_SETTERS + "test_overriding_properties_keep_the_setter",),
    ),
    Mutation(
        "setters stay where their property is deleted", "sharedoa/model/object.py",
        "for each in name, setter_name(name):", "for each in (name,):",
        "kernels call a setter that is gone",
        (_SETTERS + "test_a_setter_that_is_deleted_with_its_property",),
    ),
    Mutation(
        "setters need a result", "sharedoa/model/members.py",
        "types = given if is_assigning else", "types =",
        "a setter without -> None runs on the host only",
        (_SETTERS + "test_setters_need_no_result",),
    ),
    Mutation(
        "inline arrays are found before the value names variables",
        "sharedoa/frontend/inline_arrays.py",
        "isinstance(node.targets[0], ast.Attribute) and not has_names",
        "isinstance(node.targets[0], ast.Attribute)",
        "nodes[k].w = (k := 2), 2, k is refused",
        (_WHOLE + "test_fields_are_assigned_as_a_whole",),
    ),
    Mutation(
        "rows of inline arrays are assigned as the whole", "sharedoa/frontend/targets.py",
        "isinstance(operand, InlineArray) and isinstance(operand.source, tree.FieldPlace)",
        "isinstance(operand, InlineArray) and operand.source is not None",
        "node.m[0] = [1, 2] is said to have too few items",
        (_WHOLE + "test_what_to_write_instead",),
    ),
    Mutation(
        "tuples of numbers with types are tables of numbers without", "sharedoa/frontend/lists.py",
        " and set(type.items) <= {weak_int, weak_float}", "",
        "(MANY, FEW)[k] of u8 does not wrap",
        (_TUPLES + "test_the_same_everywhere",),
    ),
)  # fmt: skip
