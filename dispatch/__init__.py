"""How a call finds its method: placement x identify x invoke, and the memory formats they share.

Knows nothing of Python classes or heaps. ``mode`` names the combinations; ``identify`` and
``invoke`` hold one strategy a file; ``range_table``, ``vtable_record``, ``header_format``,
``errors`` and ``state`` say how tables lie in memory; ``lookup`` and ``check`` emit the functions
that read them.
"""

from .errors import RECORD_DTYPE, ErrorCode
from .header_format import HeaderFormat
from .mode import MODES, Mode, ModeError, parse_mode
from .range_table import NODE_DTYPE, SegmentTree
from .vtable_record import record_words

__all__ = [
    "MODES",
    "NODE_DTYPE",
    "RECORD_DTYPE",
    "ErrorCode",
    "HeaderFormat",
    "Mode",
    "ModeError",
    "SegmentTree",
    "parse_mode",
    "record_words",
]
