"""`crosswind serve --workers N`: a supervisor, N processes of the data plane, one of the control plane."""
