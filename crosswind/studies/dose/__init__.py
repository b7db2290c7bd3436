"""`crosswind noise dose`: how the damage rises with severity."""
