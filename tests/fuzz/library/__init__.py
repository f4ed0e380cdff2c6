"""A library held against its reference, call by random call."""
