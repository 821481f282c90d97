"""What makes a table doubtful: repeated rows, columns that know the target, values that are codes."""
