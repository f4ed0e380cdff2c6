"""Programs on several devices: their types, and the rules of each primitive."""
