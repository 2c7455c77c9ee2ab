"""The rewriting pass: virtual calls in canonical form become what a dispatch mode says.

``ptxpass.ir`` works over llvmlite IR. ``control_flow`` is what any form of code needs: dominators,
loops, and where threads that took different ways meet again.
"""
