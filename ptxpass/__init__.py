"""The pass that replaces the vtable-pointer load of virtual calls by what a dispatch mode says.

``ptxpass.ir`` works on symbolic calls, which mean that load, on their way to LLVM IR;
``ptxpass.text`` on PTX of any compiler. ``control_flow`` is what any graph of blocks needs:
dominators, loops, and where threads that took different ways meet again.
"""

from . import search_path  # noqa: F401  before what imports dispatch
