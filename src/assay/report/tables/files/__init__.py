"""Files of tables: told by their bytes, read whole or by blocks, texts made into numbers."""
