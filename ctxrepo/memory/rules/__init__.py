"""The person's own rules of what to remember and what not."""
