"""Environments in other processes, in any language: they speak the environment protocol over HTTP."""
