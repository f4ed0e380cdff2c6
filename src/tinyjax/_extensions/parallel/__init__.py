"""Programs on several devices: what types say of them, and what follows for each primitive."""
