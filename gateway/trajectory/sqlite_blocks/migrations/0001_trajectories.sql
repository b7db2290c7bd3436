-- The trajectory record. Times are microseconds since the epoch, UTC. Columns named *_json hold JSON documents.
-- Text that is no valid Unicode (a lone surrogate, say) is kept as a BLOB of its WTF-8 bytes in a TEXT column.

CREATE TABLE schema_version (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_us INTEGER NOT NULL
);

-- Content, stored once -------------------------------------------------------------------------------------------

CREATE TABLE block (
  hash BLOB PRIMARY KEY,          -- 128-bit BLAKE2b of the body
  body BLOB NOT NULL
);

-- A node of a chain of segments; its key covers everything before it.
CREATE TABLE chain (
  key    BLOB PRIMARY KEY,
  parent BLOB REFERENCES chain (key),
  block  BLOB NOT NULL REFERENCES block (hash),
  depth  INTEGER NOT NULL
) WITHOUT ROWID;

-- The pieces around a chain. A piece without a block is the chain's place. A frame without pieces has one of ordinal -1.
CREATE TABLE frame (
  key     BLOB NOT NULL,
  ordinal INTEGER NOT NULL,
  block   BLOB REFERENCES block (hash),
  PRIMARY KEY (key, ordinal)
) WITHOUT ROWID;

-- Sessions -------------------------------------------------------------------------------------------------------

CREATE TABLE session (
  id                     TEXT PRIMARY KEY,
  created_us             INTEGER NOT NULL,
  plan_json              TEXT,
  arm                    TEXT,
  task_id                TEXT,
  group_id               TEXT,
  group_size             INTEGER,
  rollout_index          INTEGER,
  labels_json            TEXT,
  policy                 TEXT,
  tenant                 TEXT,
  identity               TEXT,
  confidence             REAL,
  quarantine             TEXT,
  noise_stopped          INTEGER,
  status                 TEXT,
  closed_us              INTEGER,
  reward_state           TEXT,
  reward                 REAL,
  reward_components_json TEXT,
  reward_source          TEXT,
  rewarded_us            INTEGER       -- when the first reward came: corrections do not move a group's completion
);
CREATE INDEX session_group ON session (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX session_created ON session (created_us);

-- Appended, never overwritten. A row equal in every column is the same row, written again after a doubtful commit.
CREATE TABLE reward (
  id              INTEGER PRIMARY KEY,
  session_id      TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  created_us      INTEGER NOT NULL,
  reward          REAL NOT NULL,
  components_json TEXT,
  source          TEXT,
  UNIQUE (session_id, created_us, source, reward, components_json)
);

-- Turns ----------------------------------------------------------------------------------------------------------

CREATE TABLE turn (
  session_id          TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  turn_index          INTEGER NOT NULL,
  attempt             INTEGER NOT NULL,
  created_us          INTEGER NOT NULL,
  parent              INTEGER,
  branch              TEXT,
  fitness             TEXT,
  durable             TEXT,
  delivered           TEXT,
  protocol            TEXT,
  stream              INTEGER,
  model               TEXT,
  response_id         TEXT,
  policy_first        TEXT,
  policy_last         TEXT,
  received_frame      BLOB,
  received_chain      BLOB REFERENCES chain (key),
  sent_frame          BLOB,
  sent_chain          BLOB REFERENCES chain (key),
  produced_frame      BLOB,
  produced_chain      BLOB REFERENCES chain (key),
  delivered_frame     BLOB,
  delivered_chain     BLOB REFERENCES chain (key),
  prompt_chain        BLOB REFERENCES chain (key),
  finish_reason       TEXT,
  usage_json          TEXT,
  usage_injected_json TEXT,
  queue_us            INTEGER,
  first_token_us      INTEGER,
  total_us            INTEGER,
  upstream_status     INTEGER,
  error_json          TEXT,
  inner_json          TEXT,
  PRIMARY KEY (session_id, turn_index, attempt)
);
CREATE INDEX turn_response ON turn (response_id) WHERE response_id IS NOT NULL;

-- One choice of a turn, as the policy sampled it.
CREATE TABLE completion (
  session_id    TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  turn_index    INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  choice        INTEGER NOT NULL,
  token_ids     BLOB,               -- little-endian int32
  logprobs      BLOB,               -- little-endian float64, natural logarithm
  finish_reason TEXT,
  versions_json TEXT,               -- [[version, start, end], ...]
  entropy       BLOB,               -- little-endian float64 per token, in nats, where the engine gives it
  top_logprobs  BLOB,               -- where the engine gives them; the layout comes with its first writer
  PRIMARY KEY (session_id, turn_index, attempt, choice)
) WITHOUT ROWID;

CREATE TABLE delivery (
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  turn_index INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  delivered  TEXT,
  durable    TEXT,
  total_us   INTEGER,
  PRIMARY KEY (session_id, turn_index, attempt)
) WITHOUT ROWID;

-- What was injected, and the ledger of what was shown ------------------------------------------------------------

CREATE TABLE event (
  session_id   TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  turn_index   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  ordinal      INTEGER NOT NULL,
  operator     TEXT,
  site         TEXT,
  slot         TEXT,
  anchor       TEXT,
  logical_call TEXT,
  severity     REAL,
  draw_json    TEXT,
  clean_hash   TEXT,
  before       TEXT,
  after        TEXT,
  recovery     TEXT,
  note         TEXT,
  tool         TEXT,
  tool_class   TEXT,
  created_us   INTEGER,
  PRIMARY KEY (session_id, turn_index, attempt, ordinal)
);

CREATE TABLE shown (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  branch         TEXT NOT NULL,
  anchor         TEXT NOT NULL,
  site           TEXT NOT NULL,
  ordinal        INTEGER,
  turn_index     INTEGER,
  clean_hash     TEXT,
  decisions_json TEXT,
  text           TEXT,
  UNIQUE (session_id, branch, anchor, site)
);

CREATE TABLE name_map (
  id         INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  declared   TEXT NOT NULL,
  shown      TEXT NOT NULL,
  turn_index INTEGER,
  UNIQUE (session_id, declared, shown)
);

-- Control plane and trainer --------------------------------------------------------------------------------------

CREATE TABLE setting (
  kind       TEXT NOT NULL,
  name       TEXT NOT NULL,
  value_json TEXT,
  updated_us INTEGER,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;

CREATE TABLE train_step (
  run             TEXT NOT NULL,
  step            INTEGER NOT NULL,
  group_ids_json  TEXT,
  seeds_json      TEXT,
  created_us      INTEGER,
  policy_version  TEXT,
  metrics_json    TEXT,
  completed_us    INTEGER,
  PRIMARY KEY (run, step)
) WITHOUT ROWID;

-- For a person at the sqlite3 prompt -----------------------------------------------------------------------------

-- The text of every chain: from a node back to its root.
CREATE VIEW chain_text AS
SELECT tip.key AS key, (
  WITH RECURSIVE walk (parent, text) AS (
    SELECT tip.parent, CAST(block.body AS TEXT) FROM block WHERE block.hash = tip.block
    UNION ALL
    SELECT node.parent, CAST(block.body AS TEXT) || walk.text
    FROM walk JOIN chain AS node ON node.key = walk.parent JOIN block ON block.hash = node.block
  )
  SELECT text FROM walk WHERE parent IS NULL
) AS text
FROM chain AS tip;

-- The text of each of a turn's views: the frame's pieces in order, the chain in its place.
CREATE VIEW turn_text AS
WITH view_of (session_id, turn_index, attempt, view, frame, chain) AS (
  SELECT session_id, turn_index, attempt, 'received', received_frame, received_chain FROM turn
  UNION ALL
  SELECT session_id, turn_index, attempt, 'sent', sent_frame, sent_chain FROM turn
  UNION ALL
  SELECT session_id, turn_index, attempt, 'produced', produced_frame, produced_chain FROM turn
  UNION ALL
  SELECT session_id, turn_index, attempt, 'delivered', coalesce(delivered_frame, produced_frame),
         CASE WHEN delivered_frame IS NULL THEN produced_chain ELSE delivered_chain END FROM turn
)
SELECT session_id, turn_index, attempt, view, (
  SELECT group_concat(piece, '') FROM (
    SELECT coalesce(CAST(block.body AS TEXT), (SELECT text FROM chain_text WHERE chain_text.key = view_of.chain), '') AS piece
    FROM frame LEFT JOIN block ON block.hash = frame.block
    WHERE frame.key = view_of.frame ORDER BY frame.ordinal
  )
) AS text
FROM view_of;

-- Turn by turn: what the agent sent, what the policy saw, what it produced, what the agent got.
CREATE VIEW readable_turn AS
SELECT
  turn.session_id,
  turn.turn_index AS turn,
  turn.attempt,
  strftime('%Y-%m-%dT%H:%M:%SZ', turn.created_us / 1000000, 'unixepoch') AS at,
  received.text AS agent_sent,
  sent.text AS policy_saw,
  produced.text AS policy_produced,
  handed.text AS agent_got,
  (turn.sent_frame, turn.sent_chain) IS NOT (turn.received_frame, turn.received_chain) AS view_changed,
  (SELECT count(*) FROM event WHERE event.session_id = turn.session_id AND event.turn_index = turn.turn_index
     AND event.attempt = turn.attempt AND event.after IS NOT NULL) AS injected,
  turn.fitness,
  coalesce(delivery.durable, turn.durable) AS durable,
  coalesce(delivery.delivered, turn.delivered) AS delivered,
  turn.finish_reason,
  turn.model,
  turn.policy_first,
  turn.policy_last,
  (SELECT sum(length(completion.token_ids)) / 4 FROM completion WHERE completion.session_id = turn.session_id
     AND completion.turn_index = turn.turn_index AND completion.attempt = turn.attempt) AS sampled_tokens,
  turn.upstream_status,
  turn.error_json AS error
FROM turn
JOIN turn_text AS received USING (session_id, turn_index, attempt)
JOIN turn_text AS sent USING (session_id, turn_index, attempt)
JOIN turn_text AS produced USING (session_id, turn_index, attempt)
JOIN turn_text AS handed USING (session_id, turn_index, attempt)
LEFT JOIN delivery USING (session_id, turn_index, attempt)
WHERE received.view = 'received' AND sent.view = 'sent' AND produced.view = 'produced' AND handed.view = 'delivered';

-- Event by event: what was injected, before and after, and why the task stays solvable.
CREATE VIEW readable_event AS
SELECT
  session_id,
  turn_index AS turn,
  ordinal,
  operator,
  CASE WHEN after IS NULL THEN 'withdrawn' ELSE 'injected' END AS outcome,
  site,
  tool,
  tool_class,
  severity,
  CAST(before AS TEXT) AS before,
  CAST(after AS TEXT) AS after,
  recovery AS solvable_by,
  CAST(note AS TEXT) AS note,
  CAST(draw_json AS TEXT) AS draw
FROM event;

-- Session by session: what it was to get, what it got, what came of it.
CREATE VIEW readable_session AS
SELECT
  session.id AS session_id,
  strftime('%Y-%m-%dT%H:%M:%SZ', session.created_us / 1000000, 'unixepoch') AS opened,
  session.task_id,
  session.group_id,
  session.rollout_index AS rollout,
  session.arm,
  json_extract(session.plan_json, '$.profile') AS profile,
  json_extract(session.plan_json, '$.noise_type') AS noise_type,
  json_extract(session.plan_json, '$.level') AS level,
  session.status,
  session.reward_state,
  session.reward,
  (SELECT count(*) FROM turn WHERE turn.session_id = session.id) AS turns,
  (SELECT count(*) FROM turn WHERE turn.session_id = session.id AND turn.fitness = 'fit') AS fit_turns,
  (SELECT count(*) FROM event WHERE event.session_id = session.id AND event.after IS NOT NULL) AS injected,
  (SELECT count(*) FROM event WHERE event.session_id = session.id AND event.after IS NULL) AS withdrawn,
  session.noise_stopped,
  session.quarantine
FROM session;
