"""The core: typed models, the protocols of plugins, and the loop of a debate. It imports no part that plugs in.

To read it, start with `engine/run.py`. Import its names from the packages that promise them, such as
`roundtable.types`, `roundtable.protocols` and `roundtable.errors`.
"""
