"""What may enter memory, and in which words."""
