"""What is released: built twice, looked at, and run where nothing else of it is."""
