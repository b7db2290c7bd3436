"""A third party's package with operators of all kinds, installed as anybody would install it."""
