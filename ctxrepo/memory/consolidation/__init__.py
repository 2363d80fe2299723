"""What tends the whole memory at once: merging, settling, forgetting, pages about things."""
