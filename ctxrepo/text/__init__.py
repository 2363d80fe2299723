"""Text as such: terms, passages, names, secrets, hidden characters; pure, and the lowest layer."""
