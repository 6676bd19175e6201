"""thinkwire: LLM reasoning between any client and any model, not lost, leaked, reordered or sent to the wrong place."""
