"""Values that a task depends on: what of a user's words fills a tool's parameter, its rivals and its coarse
forms.
"""
