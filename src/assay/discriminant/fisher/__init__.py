"""Fisher's discriminant, of rows and of a kernel."""
