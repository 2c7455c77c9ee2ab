"""``python -m bench``: every benchmark, small; with ``--full`` at the sizes that are recorded."""

from __future__ import annotations

import importlib
import sys

from bench.harness import argument_parser, errors_in_words, options_from, record

NAMES = (
    "launch_cost",
    "creation",
    "many",
    "compile_time",
    "specialised",
    "virtual_call",
    "virtual_call_cxx",
    "population",
    "chain",
    "births",
    "moving",
    "gradients",
    "long_tape",
    "agents",
    "programs",
    "allocation",
    "dispatch_grid",
    "field_layout",
    "traffic",
    "page_migrations",
    "cpu_numba",
    "cpu_mesa",
    "sweep",
    "source_lines",
    "reproduce",
)


@errors_in_words()
def main() -> None:
    """Run the benchmarks named on the command line, all by default."""
    parser = argument_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(NAMES)}")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    options = options_from(given)
    failures = 0
    for name in given.names or NAMES:
        result = importlib.import_module(f"bench.{name}").run(options)
        record(result, options)
        failures += len(result.failures)
    if failures:
        sys.exit(f"{failures} failures")


if __name__ == "__main__":
    main()
