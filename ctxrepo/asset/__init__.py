"""Assets as values: reading, checking and writing Markdown files with a header; no disk, no clock."""
