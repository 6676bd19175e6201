"""One speaker for each wire: the vendor's side of the conversation."""
