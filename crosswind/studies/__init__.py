"""What is no live traffic: audits, searches, replays, reports, proofs and the demo, above all other packages."""
