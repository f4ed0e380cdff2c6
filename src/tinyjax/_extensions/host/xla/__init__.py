"""Calls of compiled programs, specialized to one signature each: loaded when a program has run."""
