"""From files to items in the graph. Nothing here is imported by the search path."""
