"""Names for users of the TypeScript API; `roundtable.agents` and `roundtable.modes` export them."""
