"""Programs as somebody would write them with each tool, for comparison: those of ``apps/`` too."""
