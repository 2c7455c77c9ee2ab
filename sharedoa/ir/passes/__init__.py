"""Passes: functions over the program, one a file, in the order of ``pipeline.PIPELINE``."""
