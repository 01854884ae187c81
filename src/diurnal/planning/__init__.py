"""Planning: a plan as plain data, its error predicted, its mechanisms chosen, its promise explained."""
