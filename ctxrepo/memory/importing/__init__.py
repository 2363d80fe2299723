"""Memories from elsewhere: read, shown first, and taken in as candidates that nothing recalls yet."""
