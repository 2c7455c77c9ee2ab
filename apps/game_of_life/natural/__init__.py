"""The Game of Life as one would write it with classes: what a cell holds is dead, a candidate or
alive, and each does in a generation what it has to."""
