"""An interpreter of PTX for tests: what a program does, without a GPU and without trust.

One thread runs after another, each as far as it comes without its warp (``warps``) or its block
(``bar.sync`` hands over to the next). Every access must lie in memory that is allocated, be aligned
and carry no tag bits; every register must be written before it is used; call and callee must agree
about parameters. So a forgotten mask, a wild walk of a table or a lost load fails loudly. Only the
reading of the text is ``ptxpass``'s.
"""

from .errors import PtxFault, Trap, UnsupportedInstruction
from .machine import Addresses, Machine
from .memory import AccessFault

__all__ = ["AccessFault", "Addresses", "Machine", "PtxFault", "Trap", "UnsupportedInstruction"]
