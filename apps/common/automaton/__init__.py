"""What cellular automata share: boards, their rules and pictures, and a reference on arrays."""
