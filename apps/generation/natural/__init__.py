"""The automaton as one would write it with classes: what a cell holds is dead, a candidate, alive
or decaying, and each does in a generation what it has to."""
