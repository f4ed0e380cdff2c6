"""Calls of compiled programs, written for one signature each: loaded when a program has run."""
