"""What a shared class is: its fields, methods, slots, types and layout."""
