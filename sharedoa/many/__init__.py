"""Reductions, scans, sorting and selection of all elements of arrays and fields."""
