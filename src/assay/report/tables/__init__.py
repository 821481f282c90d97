"""Tables as they come: read, described column by column, turned into numbers, looked at in pairs."""
