"""What may stand behind the ledger: stores that outlive a process, and the patience with them.

This is the one place below `upstream` that touches clock, disk and network; the ledger itself knows none of it.
"""
