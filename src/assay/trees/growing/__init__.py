"""The engine of all trees: columns as codes, statistics as integers, one grower for every criterion."""
