"""Faults in how numbers are divided, compared and negated on NVIDIA's GPUs, and in what is written
for its assembler."""

from .mutation import Mutation

_QUOTIENT = "sharedoa/targets/nvptx_division.py"
_BLOCKS = "sharedoa/targets/block_divisions.py"
_OF_QUOTIENTS = tuple(
    f"tests/targets/test_divisions.py::test_{name}"
    for name in ("special_operands", "random_operands", "midpoints", "hard_quotients")
)
_OF_BLOCKS = ("tests/targets/test_block_divisions.py",)

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
        tuple(
            f"tests/targets/test_local_arrays.py::test_{name}_no_uniform_register_for_its_address"
            for name in ("ptxas_has", "machine_code_has")
        ),
    ),
    Mutation(
        "functions as they print alone", _BLOCKS,
        "zip(functions, _definitions(text), strict=True)",
        "zip(functions, (str(each).strip() for each in functions), strict=True)",
        "what stands otherwise in the module is not found there", _OF_BLOCKS,
    ),
    # ---------------------------------------------------------------- quotients
    Mutation(
        "the first quotient", _QUOTIENT,
        "    quotient = _fma(builder, inverse, rest, quotient)\n", "",
        "the product with the inverse is not corrected", _OF_QUOTIENTS,
    ),
    Mutation(
        "the first inverse", _QUOTIENT,
        "    inverse = _fma(builder, inverse, error, inverse)\n    quotient", "    quotient",
        "the inverse is one unit off", _OF_QUOTIENTS,
    ),
    Mutation(
        "minus zero", _QUOTIENT,
        'builder.icmp_signed("==", builder.bitcast(dividend, I32), I32(0))',
        'builder.fcmp_ordered("==", dividend, F32(0.0))',
        "-0 / 1 is +0", _OF_QUOTIENTS,
    ),
    Mutation(
        "small dividends", _QUOTIENT, "= 2.0**-75, 2.0**-50", "= 2.0**-149, 2.0**-50",
        "the remainder has fewer digits than it needs", _OF_QUOTIENTS,
    ),
    Mutation(
        "large divisors", _QUOTIENT, "= 2.0**-75, 2.0**-50", "= 2.0**-75, 2.0**-126",
        "a subnormal quotient is rounded twice", _OF_QUOTIENTS,
    ),
    Mutation(
        "what is no number", _QUOTIENT,
        '    is_usual = builder.and_(is_usual, builder.fcmp_ordered("ord", quotient, F32(0.0)))\n',
        "", "infinity is NaN", _OF_QUOTIENTS,
    ),
    Mutation(
        "zero and infinity as f64", _QUOTIENT, "builder.select(has_rest, better, first)", "better",
        "quotients by zero are NaN", _OF_QUOTIENTS,
    ),
    Mutation(
        "the first quotient as f64", _QUOTIENT, "builder.select(has_rest, better, first)", "first",
        "the quotient has 20 digits", _OF_QUOTIENTS,
    ),
    Mutation(
        "the first inverse as f64", _QUOTIENT,
        "better = _fma(builder, rest, inverse, first)", "better = _fma(builder, rest, near, first)",
        "the quotient has fewer digits than tell midpoints from their neighbours", _OF_QUOTIENTS,
    ),
    # ------------------------------------------------------------------ groups
    Mutation(
        "stores before reads", _BLOCKS,
        "if not _is_pure(instruction) and not _is_plain_load(instruction):",
        "if depends and not _is_pure(instruction) and not _is_plain_load(instruction):",
        "what a quotient says where to read is read behind a store that came after it", _OF_BLOCKS,
    ),
    Mutation(
        "divisions that need each other", _BLOCKS,
        "if is_division and (depends or divisions == _MOST):",
        "if is_division and divisions == _MOST:",
        "a quotient is divided that is there only behind the branch", _OF_BLOCKS,
    ),
    Mutation(
        "operands of the others", _QUOTIENT,
        "reduce(builder.and_, usual)", "usual[0]",
        "only the first division is tested", _OF_BLOCKS,
    ),
    Mutation(
        "quotients of a group", _BLOCKS,
        "float] {name}, {number}", "float] {name}, {size - 1 - number}",
        "each division has the quotient of another one of its group", _OF_BLOCKS,
    ),
    Mutation(
        "rounds one after another", _BLOCKS, "_SIDE_BY_SIDE = 4", "_SIDE_BY_SIDE = 1",
        "each round of a loop waits for its division", _OF_BLOCKS,
    ),
)  # fmt: skip
