"""How two facts relate: what each says, taken apart, and laid side by side.  Pure."""
