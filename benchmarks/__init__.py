"""Speed of the search, measured beside the libraries that people use instead. `make bench DATA=PATH` runs it."""
