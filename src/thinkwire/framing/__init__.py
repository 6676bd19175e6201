"""Bytes to frames and back: server-sent events, lines and arrays of JSON, and the guard in front of every JSON decoder."""
