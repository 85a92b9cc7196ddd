"""The core: typed models, the protocols of plugins, and the record of a debate. It imports no part that plugs in.

Import its names from the packages that promise them, such as `roundtable.types`, `roundtable.protocols` and
`roundtable.errors`.
"""
