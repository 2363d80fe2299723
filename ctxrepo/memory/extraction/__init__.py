"""From what was said to facts: turns, sentences, what a sentence does, what it is about, when it holds."""
