"""What people see while they work: bars of loops, and large values in notebooks."""
