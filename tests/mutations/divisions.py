"""Faults in how numbers are divided, compared and negated on NVIDIA's GPUs, and in what is written
for its assembler."""

from .mutation import Mutation

_QUOTIENT = "sharedoa/targets/nvptx_division.py"
_BLOCKS = "sharedoa/targets/block_divisions.py"

MUTATIONS = (
    Mutation(
        "minima with zero", "sharedoa/targets/nvptx.py",
        "with_signed_zeros(self.machine.emit_assembly(module))",
        "self.machine.emit_assembly(module)",
        "min(0.0, -0.0) is -0.0 on NVIDIA's GPUs", ("tests/codegen/test_zeros.py",),
    ),
    Mutation(
        "minima of three", "sharedoa/targets/nvptx_minima.py", "(ptx)) < 2:", "(ptx)) < 200:",
        "ptxas loses the sign of what is negated", ("tests/targets/test_minima.py",),
    ),
    Mutation(
        "addresses of local arrays", "sharedoa/targets/nvptx_local_arrays.py",
        "uses > 1 + places", "uses > 100 + places",
        "ptxas forgets the stack pointer of a function in a loop over its local array",
        ("tests/targets/test_local_arrays.py::test_ptxas_has_no_uniform_register_for_its_address",),
    ),
    Mutation(
        "functions as they print alone", _BLOCKS,
        "zip(functions, _definitions(text), strict=True)",
        "zip(functions, (str(each).strip() for each in functions), strict=True)",
        "what stands otherwise in the module is not found there",
        (
            "tests/targets/test_block_divisions.py"
            "::test_a_function_alone_is_printed_with_other_numbers_of_attributes",
        ),
    ),
    # ---------------------------------------------------------------- quotients
    Mutation(
        "the first quotient", _QUOTIENT,
        "    quotient = _fma(builder, inverse, rest, quotient)\n", "",
        "the product with the inverse is not corrected",
        ("tests/targets/test_divisions.py::test_hard_quotients",),
    ),
    Mutation(
        "the first inverse", _QUOTIENT,
        "    inverse = _fma(builder, inverse, error, inverse)\n    quotient", "    quotient",
        "the inverse is one unit off", ("tests/targets/test_divisions.py::test_hard_quotients",),
    ),
    Mutation(
        "minus zero", _QUOTIENT,
        'builder.icmp_signed("==", builder.bitcast(dividend, I32), I32(0))',
        'builder.fcmp_ordered("==", dividend, F32(0.0))',
        "-0 / 1 is +0",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "small dividends", _QUOTIENT, "= 2.0**-75, 2.0**-50", "= 2.0**-149, 2.0**-50",
        "the remainder has fewer digits than it needs",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "large divisors", _QUOTIENT, "= 2.0**-75, 2.0**-50", "= 2.0**-75, 2.0**-126",
        "a subnormal quotient is rounded twice",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "what is no number", _QUOTIENT,
        '    is_usual = builder.and_(is_usual, builder.fcmp_ordered("ord", quotient, F32(0.0)))\n',
        "", "infinity is NaN",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "zero and infinity as f64", _QUOTIENT, "builder.select(has_rest, better, first)", "better",
        "quotients by zero are NaN",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "the first quotient as f64", _QUOTIENT, "builder.select(has_rest, better, first)", "first",
        "the quotient has 20 digits",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    Mutation(
        "the first inverse as f64", _QUOTIENT,
        "better = _fma(builder, rest, inverse, first)", "better = _fma(builder, rest, near, first)",
        "the quotient has fewer digits than tell midpoints from their neighbours",
        (
            "tests/targets/test_divisions.py::test_special_operands",
            "tests/targets/test_divisions.py::test_random_operands",
            "tests/targets/test_divisions.py::test_midpoints",
        ),
    ),
    # ------------------------------------------------------------------ groups
    Mutation(
        "stores before reads", _BLOCKS,
        "if not _is_pure(instruction) and not _is_plain_load(instruction):",
        "if depends and not _is_pure(instruction) and not _is_plain_load(instruction):",
        "what a quotient says where to read is read behind a store that came after it",
        ("tests/targets/test_block_divisions.py::test_reads_stay_before_stores",),
    ),
    Mutation(
        "divisions that need each other", _BLOCKS,
        "if is_division and (depends or divisions == _MOST):",
        "if is_division and divisions == _MOST:",
        "a quotient is divided that is there only behind the branch",
        ("tests/targets/test_block_divisions.py::test_nothing_is_called[several]",),
    ),
    Mutation(
        "operands of the others", _QUOTIENT,
        "reduce(builder.and_, usual)", "usual[0]",
        "only the first division is tested",
        ("tests/targets/test_block_divisions.py::test_results_stay[summed]",),
    ),
    Mutation(
        "quotients of a group", _BLOCKS,
        "float] {name}, {number}", "float] {name}, {size - 1 - number}",
        "each division has the quotient of another one of its group",
        ("tests/targets/test_block_divisions.py::test_results_stay[summed]",),
    ),
    Mutation(
        "rounds one after another", _BLOCKS, "_SIDE_BY_SIDE = 8", "_SIDE_BY_SIDE = 1",
        "each round of a loop waits for its division",
        ("tests/targets/test_block_divisions.py::test_rounds_of_a_loop_are_a_group",),
    ),
)  # fmt: skip
