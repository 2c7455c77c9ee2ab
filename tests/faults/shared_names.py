"""Names that cases bind anew."""

limit = 5
