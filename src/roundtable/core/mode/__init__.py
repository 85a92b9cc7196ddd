"""How a mode plans: its base class, the shapes of a round, and the checks of a plan."""
