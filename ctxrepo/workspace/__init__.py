"""A workspace: its stores, its settings, whose it is, and which project one stands in."""
