"""``python -m bench``: every benchmark, small; with ``--full`` at the sizes that are recorded."""

from __future__ import annotations

import importlib

from bench.harness import argument_parser, options_from, write

NAMES = ("launch_cost", "creation", "compile_time", "virtual_call", "traffic")


def main() -> None:
    """Run the benchmarks named on the command line, all by default."""
    parser = argument_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(NAMES)}")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    options = options_from(given)
    for name in given.names or NAMES:
        result = importlib.import_module(f"bench.{name}").run(options)
        print(f"recorded in {write(result, options.out)}", flush=True)


if __name__ == "__main__":
    main()
