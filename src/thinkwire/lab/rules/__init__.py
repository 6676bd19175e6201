"""What real providers refuse in a history: named rules, each with its source. A persona is a row that names rules."""
