"""ptxpass on its command line: files that it cannot read or write."""

from __future__ import annotations

import os
from pathlib import Path

from .catalogue import CPU, add, case
from .programs import Ended, command, ptxpass, repository_file
from .texts import Entry, entries
from .verdicts import check, check_equal

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
SINGLE = repository_file("tests", "ptxpass", "programs", "single.ptx")

#: What stands behind the head of a module, with words of the complaint.
_REFUSED = r"""
open_function: x.ptx
    .func f()
    {
     mov.u32 %r1, %r2
open_string: x.ptx
    .file 1 "abc
open_comment: x.ptx
    /* never closed
no_instruction: x.ptx
    .func f()
    {
     1234;
    }
closing_brace: x.ptx
    }
unknown_directive: x.ptx
    .frobnicate all
negative_size: x.ptx
    .global .align 8 .b8 table[-5];
nested_braces: x.ptx
    .func f()
    {{{{{{{{{{{{{{{{{{{{{{
"""


def rewritten(text: str | bytes, *options: object, name: str = "x.ptx") -> Ended:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return ptxpass(name, "--mode", "coal", "-o", "out.ptx", *options)


def _add(entry: Entry) -> None:
    def run() -> None:
        rewritten(HEAD + entry.body + "\n").refused(*entry.words, status=2)
        check(not Path("out.ptx").exists(), "something was written")

    run.__doc__ = f"PTX with: {' / '.join(entry.body.split())[:80]}"
    add(f"ptxpass.{entry.name}", run, debug=False, backends=CPU)


for _entry in entries(_REFUSED):
    _add(_entry)


@case(debug=False, backends=CPU)
def good() -> None:
    """A file of nvcc in each mode."""
    for mode in ("coal", "tag+switch", "typepointer"):
        ptxpass(SINGLE, "--mode", mode, "-o", f"{mode}.ptx").well()
        check(Path(f"{mode}.ptx").stat().st_size > 1000, "nothing was written")


@case(debug=False, backends=CPU)
def arguments() -> None:
    """Missing, unknown and contradicting arguments."""
    for given, words in (
        ((), ("FILE|argument",)),
        ((SINGLE,), ("mode",)),
        ((SINGLE, "--mode", "coal"), ("output",)),
        ((SINGLE, "--mode", "coald", "-o", "o"), ("coald", "coal")),
        ((SINGLE, "--mode", "", "-o", "o"), ("mode",)),
        ((SINGLE, "--mode", "coal", "-o", "no/such/o"), ("no/such",)),
        ((SINGLE, SINGLE, "--mode", "coal", "-o", "."), ("same",)),
        ((SINGLE, "missing", "--mode", "coal", "-o", "."), ("missing",)),
        (("missing", "--mode", "coal", "-o", "o"), ("missing",)),
        ((".", "--mode", "coal", "-o", "o"), (".",)),
        ((SINGLE, "--mode", "coal", "-o", "o", "--wild"), ("--wild",)),
        ((SINGLE, "--mode", "coal", "-o", "/dev/full"), ("/dev/full",)),
    ):
        ptxpass(*given).refused(*words)
    check_equal(sorted(os.listdir(".")), ["output.txt"], "files")


@case(debug=False, backends=CPU)
def no_text() -> None:
    """A binary, another encoding, an empty file, an end of line in the middle."""
    rewritten(b"\x7fELF\xff\xfe").refused("x.ptx", "binary|text", status=2)
    rewritten(SINGLE.read_text().encode("utf-16")).refused("x.ptx", status=2)
    rewritten(b"").refused("x.ptx", status=2)
    rewritten(bytes(5000)).refused("x.ptx", status=2)
    rewritten("// nothing here\n").refused("x.ptx", status=2)


@case(debug=False, backends=CPU, limit=120)
def cut_anywhere() -> None:
    """A file of nvcc, cut off at places: refused, or what is left is a module."""
    text = SINGLE.read_text()
    for size in range(0, len(text), max(1, len(text) // 14)):
        ended = rewritten(text[:size])
        if ended.status:
            ended.refused("x.ptx", status=2)
        else:
            ended.well()


@case(debug=False, backends=CPU)
def what_ptxas_refuses() -> None:
    """Modules that only an assembler would refuse: refused in words, or left as they are."""
    for text in (
        ".version 8.0\n",
        ".func f()\n{\n .reg .b32 ;\n}\n",
        ".global .align 8 .b8 table[999999999999999999999999999999];\n",
        f".global .align 8 .u64 table[1] = {{{'9' * 50}}};\n",
        f".global .align 8 .u64 table[1] = {{{'9' * 5000}}};\n",
        f".global .align 8 .b8 table[{'9' * 5000}];\n",
        f".func f()\n{{\n.reg .b64 %a;\nmov.u64 %a, {'9' * 5000};\nret;\n}}\n",
        f".func f()\n{{\n.reg .b64 %a<{'9' * 5000}>;\nret;\n}}\n",
    ):
        ended = rewritten(HEAD + text)
        if ended.status:
            ended.refused("x.ptx", status=2)
        else:
            ended.well()


@case(debug=False, backends=CPU)
def twice() -> None:
    """What ptxpass has written is given to it again."""
    rewritten(SINGLE.read_text()).well()
    rewritten(Path("out.ptx").read_bytes(), name="again.ptx").refused("rewritten already", status=2)


@case(debug=False, backends=CPU)
def versions() -> None:
    """Versions and targets that are too old, too new, or none."""
    for head in (
        ".version 4.1\n.target sm_30\n.address_size 64\n",
        ".version 99.9\n.target sm_80\n.address_size 64\n",
        ".version 8.0\n.target sm_80\n.address_size 32\n",
        ".version 8.0\n.target toaster\n.address_size 64\n",
        ".version x.y\n.target sm_80\n.address_size 64\n",
        ".target sm_80\n",
    ):
        ended = rewritten(head + ".func f()\n{\nret;\n}\n")
        if ended.status:
            ended.refused("x.ptx", status=2)


@case(debug=False, backends=CPU)
def output_over_the_input() -> None:
    """The output is the input, a link, a file that cannot be replaced."""
    Path("x.ptx").write_text(SINGLE.read_text())
    ptxpass("x.ptx", "--mode", "coal", "-o", "x.ptx").well()
    check("sharedoa" in Path("x.ptx").read_text(), "nothing was written")
    Path("link.ptx").symlink_to("real.ptx")
    ptxpass(SINGLE, "--mode", "coal", "-o", "link.ptx").well()
    check(Path("link.ptx").is_symlink() and Path("real.ptx").is_file(), "the link is gone")
    Path("folder").mkdir()
    ptxpass(SINGLE, "--mode", "coal", "-o", "folder").well()
    check(Path("folder/single.ptx").is_file(), "nothing in the folder")


@case(debug=False, backends=CPU)
def deep_and_wide() -> None:
    """Ten thousand empty lines, labels, registers; a hundred thousand characters in a line."""
    body = "\n" * 10_000 + ".func f()\n{\n.reg .b32 %r<10000>;\n"
    body += "".join(f"L{i}:\n" for i in range(2000)) + "ret;\n}\n"
    rewritten(HEAD + body).well()
    rewritten(HEAD + "//" + "x" * 100_000 + "\n.func f()\n{\nret;\n}\n").well()
    rewritten(HEAD + f".func {'f' * 50_000}()\n{{\nret;\n}}\n").well()


@case(debug=False, backends=CPU)
def nvcc_wrapper() -> None:
    """``ptxpass.nvcc`` without arguments, without nvcc, with quotes that do not close."""
    module = ("-m", "ptxpass.nvcc")
    command(*module).refused("mode")
    command(*module, "--mode", "coal").refused("nvcc|mode")
    command(*module, "--mode", "coal", "--", "no_such_nvcc", "a.cu").refused("no_such_nvcc", "CUDA")
    command(*module, "--mode", "coal", "--ptxpass", "'open", "--", "true").refused("ptxpass|quot")
    command(*module, "--print-include").well("include")
    Path("nvcc").write_text("#!/bin/sh\necho '#$ cicc \"unclosed' >&2\n")
    os.chmod("nvcc", 0o755)
    command(*module, "--mode", "coal", "--", "./nvcc", "a.cu").refused("quot|nvcc")


@case(debug=False, backends=CPU)
def interrupted() -> None:
    """Ctrl-C at five moments: no traceback, and no half a file."""
    import signal
    import time

    from .programs import finish, start

    for pause in (0.05, 0.15, 0.3, 0.4, 0.5):
        started = start("-m", "ptxpass", SINGLE, "--mode", "coal", "-o", "out.ptx")
        time.sleep(pause)
        started.send_signal(signal.SIGINT)
        ended = finish(started)
        check(ended.status in (0, 1, 2, 130, -signal.SIGINT), f"status {ended.status}")
        left = [name for name in os.listdir(".") if name not in ("output.txt", "out.ptx")]
        check(not left, f"files are left: {left}")
        if Path("out.ptx").exists():
            check(Path("out.ptx").read_text().rstrip().endswith("}"), "half a file")
