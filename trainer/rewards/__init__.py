"""Rewards, one small pure function of a trajectory a file. A new one is one file here, or one entry point
elsewhere.
"""
