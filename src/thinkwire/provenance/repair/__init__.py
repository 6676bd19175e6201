"""Transcripts that a provider refuses, made such that it takes them: pure, lines in and lines out.

A history is read into a view of its own (`history.py`), judged there by rules that know no wire (`rules.py`,
`pairing.py`), and only what these took out or changed is written anew: everything else is copied byte for byte.
"""
