"""Programs of ``apps/`` as somebody would write them with another tool, for comparison."""
