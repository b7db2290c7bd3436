"""Tool operators one by one; the contract that all share is in tests/test_every_operator.py."""
