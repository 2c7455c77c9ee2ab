"""The structure as one would write it: a class for each kind of node, and what no longer takes part
is deleted."""
