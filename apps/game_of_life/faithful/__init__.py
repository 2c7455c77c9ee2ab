"""The Game of Life as the paper's artifact has it: one concrete class below each abstract base, all
state behind virtual getters and setters, a type field instead of subclasses."""
