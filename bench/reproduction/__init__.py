"""The evaluation of "Judging a Type by Its Pointer" (ASPLOS 2021), as programs, records, tables and
plots: ``python -m bench.reproduction --help``."""
