"""Machines of a loss with corners on few rows: solved by one compiled call each, and measured in one walk."""
