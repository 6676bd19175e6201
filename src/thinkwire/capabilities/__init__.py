"""What each endpoint and model accepts: a table of data and its lookup."""

from thinkwire.capabilities.lookup import find_rules

__all__ = ["find_rules"]
