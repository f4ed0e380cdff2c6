"""The second set: packages, and rows, chosen before ``source.capture`` had run on them."""
