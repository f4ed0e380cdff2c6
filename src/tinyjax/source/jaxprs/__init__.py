"""Jaxprs as Python, and back."""
