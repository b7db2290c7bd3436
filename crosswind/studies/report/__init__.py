"""`crosswind report`: one self-contained HTML page about a store, with plots."""
