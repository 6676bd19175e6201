"""Whose reasoning is whose: every seal attributed to its origin when it arrives, and given back to nobody else."""
