"""How fast memory is, side by side with the design it is compared with."""
