"""The page of a report: its sections, pictures, style and script."""
