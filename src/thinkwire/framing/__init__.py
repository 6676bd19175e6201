"""Bytes to frames and back: events, lines and arrays, and the guard in front of every JSON decoder."""
