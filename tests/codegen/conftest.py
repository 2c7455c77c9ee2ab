"""Machine code as users have it."""

from ..quick_code import usual_code

__all__ = ["usual_code"]
