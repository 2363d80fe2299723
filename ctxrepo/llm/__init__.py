"""A language model, where the user has chosen one: never needed, never trusted."""
