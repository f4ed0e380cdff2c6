"""The first set: packages on which ``source.capture`` was developed."""
