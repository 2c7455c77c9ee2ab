"""What a few warps of a launch would touch: their typed tree, interpreted on the heap's memory.

The interpreter changes nothing, so threads see what was there before the launch. What it cannot
know (an atomic's result, a function of the math library) stays unknown, and what rests on that is
left out. Where nobody knows which way a thread goes it goes both, half as often; afterwards it has
what one of them has left to it.
"""
