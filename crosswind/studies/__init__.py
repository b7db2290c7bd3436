"""Studies above all other packages: audits, searches, replays, reports, proofs and the demo."""
