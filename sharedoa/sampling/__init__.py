"""What a few warps of a launch would touch: their typed tree, interpreted on the heap's memory.

The interpreter changes nothing. What it cannot know (an atomic's result, a function of the math
library) stays unknown, and what rests on that is left out.
"""
