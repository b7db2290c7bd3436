"""`crosswind init`: the files of a first run of `crosswind chaos`."""
