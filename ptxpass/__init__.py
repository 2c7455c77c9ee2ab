"""The rewriting pass: virtual calls in canonical form become what a dispatch mode says.

``ptxpass.ir`` works over llvmlite IR, ``ptxpass.text`` over PTX of any compiler. ``control_flow``
is what any form of code needs: dominators, loops, and where threads that took different ways meet
again.
"""

from . import search_path  # noqa: F401  before what imports dispatch
