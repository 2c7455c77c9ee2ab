"""What a few warps of a launch would touch: their program in SSA form, interpreted on the heap's
memory, and which fields had better lie side by side.

The interpreter changes nothing, so threads see what was there before the launch. What it cannot
know (an atomic's result, a function of the math library) stays unknown, and what rests on that is
left out. Where nobody knows which way a thread goes it goes both, half as often; afterwards it has
what one of them has left to it. What an operation does is asked of ``ir.operations``; one that
nobody declared ends it.
"""

from .grouping import Choice as Choice
from .grouping import Costs as Costs
from .grouping import Group as Group
from .grouping import NotCounted as NotCounted
from .grouping import SampledCosts as SampledCosts
from .threads import sample as sample
from .traffic import Traffic as Traffic
from .traffic import traffic as traffic
