-- What a language model wrote for an operator of noise, by the content of what it was asked. Each session has its own
-- rows of what it asked for or was shown, so that deleting one takes its words along.

CREATE TABLE generated_text (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  key        TEXT NOT NULL,
  operator   TEXT NOT NULL,
  model      TEXT NOT NULL,
  text       TEXT NOT NULL,
  score      REAL,
  created_us INTEGER NOT NULL,
  PRIMARY KEY (session_id, key)
);
CREATE INDEX generated_text_key ON generated_text (key);
