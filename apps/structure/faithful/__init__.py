"""The structure as the paper's artifact has it: one concrete class below each abstract base, a type
field instead of subclasses, and flags instead of deletion."""
