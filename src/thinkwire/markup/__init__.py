"""Reasoning that stands inline in text: what its markers are, and how it is taken out while the text streams."""
