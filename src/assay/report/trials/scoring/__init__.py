"""Which rows judge a method, by what measure, and what may be concluded."""
