"""Primitives of the library. They know nothing about debates."""
