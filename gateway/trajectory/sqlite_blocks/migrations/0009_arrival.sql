-- The order in which rows came, whatever the wall clock says. `arrival` is the store's own time in microseconds: it
-- begins at the wall clock, never goes back, and runs with the machine's monotonic clock. Older rows have none, and
-- created_us stands in.

-- The store's time on the machine that it runs on: monotonic clock plus offset, as long as the machine isn't booted again.
CREATE TABLE clock (
  boot      TEXT PRIMARY KEY,
  offset_us INTEGER NOT NULL
) WITHOUT ROWID;

ALTER TABLE session ADD COLUMN arrival INTEGER;
ALTER TABLE session ADD COLUMN closed_arrival INTEGER;
ALTER TABLE session ADD COLUMN rewarded_arrival INTEGER;      -- of the first reward, as rewarded_us
ALTER TABLE turn ADD COLUMN arrival INTEGER;
ALTER TABLE reward ADD COLUMN arrival INTEGER;
ALTER TABLE train_step ADD COLUMN arrival INTEGER;
ALTER TABLE setting ADD COLUMN arrival INTEGER;

DROP INDEX session_created;
DROP INDEX session_pending;
CREATE INDEX session_arrival ON session (coalesce(arrival, created_us));
CREATE INDEX session_pending ON session (coalesce(arrival, created_us)) WHERE reward_state = 'pending';
CREATE INDEX session_closed ON session (closed_arrival) WHERE closed_arrival IS NOT NULL;

-- Sessions that were deleted of late, by the digest of their ids: a late request doesn't open them anew.
CREATE TABLE deleted_session (
  digest  BLOB PRIMARY KEY,
  arrival INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX deleted_session_arrival ON deleted_session (arrival);

-- Whose the objects are that a provider keeps (responses, files, batches, ...), where tenants share its account.

CREATE TABLE provider_object (
  id         TEXT NOT NULL PRIMARY KEY,
  tenant     TEXT NOT NULL,
  created_us INTEGER NOT NULL
) WITHOUT ROWID;
-- Answers to a conversation's first request that noise destroyed before a client without a session's name got them. An
-- equal request is its retry, after a restart, too, and gets through.
CREATE TABLE destroyed_answer (
  session_id   TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  turn_index   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  alike        TEXT NOT NULL,     -- the digest of what the draws follow from
  conversation TEXT NOT NULL,     -- the digest of the conversation
  depth        INTEGER NOT NULL,
  at_us        INTEGER NOT NULL,
  PRIMARY KEY (session_id, turn_index, attempt)
) WITHOUT ROWID;
CREATE INDEX destroyed_answer_alike ON destroyed_answer (alike, at_us);
