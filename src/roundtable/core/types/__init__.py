"""The typed values of the library; their public names are those of `roundtable.types`."""
