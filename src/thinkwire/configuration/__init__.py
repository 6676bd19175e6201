"""What the operator may set, and how a file of it is read."""
