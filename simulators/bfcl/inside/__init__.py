"""What runs in BFCL's own environment: it imports the standard library and the package, nothing of ours."""
