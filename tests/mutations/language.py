"""Faults in what Python means that kernels understand."""

from .mutation import Mutation

_NUMBERS = ("tests/frontend/test_number_calls.py::test_methods_of_numbers_roots_and_products",)
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
)  # fmt: skip
