-- What was delivered to whom, so that a later turn that names no session is known by the ids in its history.

CREATE TABLE delivered_id (
  name       TEXT NOT NULL,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  PRIMARY KEY (name, session_id)
) WITHOUT ROWID;
CREATE INDEX delivered_id_session ON delivered_id (session_id);
