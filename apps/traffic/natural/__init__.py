"""Traffic as one would write it with classes: cells that produce vehicles, swallow them or let
buses stop, and cars, trucks and buses that drive each in their own way."""
