"""The release: built twice, inspected, and run where nothing else of the project is."""
