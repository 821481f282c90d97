"""Trees and their ensembles: partitions of the space of the rows, grown by one engine."""
