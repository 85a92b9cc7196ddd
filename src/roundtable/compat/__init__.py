"""Names that only callers of the TypeScript API look for; `roundtable.agents` and `roundtable.modes` export them."""
