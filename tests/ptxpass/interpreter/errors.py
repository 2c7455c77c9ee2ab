"""What goes wrong in a PTX program, or in the interpreter's knowledge of it."""

from __future__ import annotations


class PtxFault(Exception):
    """A program does what no program may do. The machine adds the function, line and thread."""


class Trap(PtxFault):
    """``trap``, or a failed assertion."""


class UnsupportedInstruction(PtxFault):
    """The interpreter does not know an instruction that the program came to."""
