"""Reinforcement objectives, one small pure function a file. A new one is one file here, or one entry point
elsewhere.
"""
