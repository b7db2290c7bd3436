-- By what a turn's retry is known, after a restart too: the digest of its body, and of the idempotency key that its
-- client gave it.
ALTER TABLE turn ADD COLUMN request BLOB;
ALTER TABLE turn ADD COLUMN idempotency TEXT;
