"""Bytes to frames and back: server-sent events, JSON lines, and the guard in front of every JSON decoder."""
