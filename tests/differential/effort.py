"""How many random programs and histories a run tries."""

from __future__ import annotations

import os

#: For each mode; a thorough run sets the variable to some hundreds.
EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "6"))
