-- The trajectory record. Times are microseconds since the epoch, UTC. Columns named *_json hold JSON documents.
-- Text that is no valid Unicode (a lone surrogate, say) is kept as a BLOB of its WTF-8 bytes in a TEXT column.
-- `arrival` is the store's own time: it begins at the wall clock, never goes back, and runs with the machine's
-- monotonic clock.

CREATE TABLE schema_version (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_us INTEGER NOT NULL
);

-- The store's time on the machine that it runs on: monotonic clock plus offset, as long as the machine isn't
-- booted again.
CREATE TABLE clock (
  boot      TEXT PRIMARY KEY,
  offset_us INTEGER NOT NULL
) WITHOUT ROWID;

-- Sessions -------------------------------------------------------------------------------------------------------

-- All rows of a session have its number. Numbers grow, and are never given again.
CREATE TABLE session (
  number                 INTEGER PRIMARY KEY,
  id                     TEXT NOT NULL UNIQUE,
  created_us             INTEGER NOT NULL,
  arrival                INTEGER NOT NULL,
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
  closed_arrival         INTEGER,
  reward_state           TEXT,
  reward                 REAL,
  reward_components_json TEXT,
  reward_source          TEXT,
  rewarded_us            INTEGER,     -- when the first reward came: corrections do not move a group's completion
  rewarded_arrival       INTEGER      -- the same, or when it was known that none would come
);
CREATE INDEX session_group ON session (group_id) WHERE group_id IS NOT NULL;
CREATE INDEX session_tenant ON session (tenant) WHERE tenant IS NOT NULL;
CREATE INDEX session_pending ON session (reward_state) WHERE reward_state = 'pending';
CREATE INDEX session_closed ON session (closed_arrival) WHERE closed_arrival IS NOT NULL;
CREATE INDEX session_touched ON session (max(arrival, coalesce(closed_arrival, 0), coalesce(rewarded_arrival, 0)))
  WHERE group_id IS NOT NULL;
CREATE INDEX session_alone ON session (max(arrival, coalesce(closed_arrival, 0), coalesce(rewarded_arrival, 0)))
  WHERE group_id IS NULL;

-- The highest number of a deleted session.
CREATE TABLE numbering (last INTEGER NOT NULL);
INSERT INTO numbering VALUES (0);

-- Appended, never overwritten. A row equal in every column is the same row, written again after a doubtful commit.
CREATE TABLE reward (
  id              INTEGER PRIMARY KEY,
  session         INTEGER NOT NULL,
  created_us      INTEGER NOT NULL,
  arrival         INTEGER NOT NULL,
  reward          REAL NOT NULL,
  components_json TEXT,
  source          TEXT,
  UNIQUE (session, created_us, source, reward, components_json)
);

-- Turns ----------------------------------------------------------------------------------------------------------

-- `body` and `ledger` hold what no query asks for: the views, tokens and ledger rows. They are written and read by
-- crosswind/gateway/trajectory/turn_body.py; `crosswind sessions show` prints them.
CREATE TABLE turn (
  id                         INTEGER PRIMARY KEY,
  session                    INTEGER NOT NULL,
  turn_index                 INTEGER NOT NULL,
  attempt                    INTEGER NOT NULL,
  created_us                 INTEGER NOT NULL,
  arrival                    INTEGER NOT NULL,
  parent                     INTEGER,
  branch                     TEXT,
  fitness                    TEXT,
  durable                    TEXT,
  delivered                  TEXT,
  protocol                   TEXT,
  stream                     INTEGER,
  model                      TEXT,
  response_id                TEXT,
  kept                       INTEGER,     -- 1: the provider keeps the response, and a later request may name it
  policy_first               TEXT,
  policy_last                TEXT,
  view_changed               INTEGER,     -- 1: the policy saw another view than the agent sent
  sampled_tokens             INTEGER,
  finish_reason              TEXT,
  prompt_tokens              INTEGER,     -- as the upstream counted them
  completion_tokens          INTEGER,
  injected_prompt_tokens     INTEGER,     -- what noise added
  injected_completion_tokens INTEGER,
  queue_us                   INTEGER,
  first_token_us             INTEGER,
  total_us                   INTEGER,
  upstream_status            INTEGER,
  error_source               TEXT,
  error_type                 TEXT,
  request                    BLOB,        -- the digest of the request's body
  idempotency                TEXT,
  received_key               BLOB,        -- the keys of the chains that later turns extend
  sent_key                   BLOB,
  prompt_key                 BLOB,
  ledger                     BLOB,
  body                       BLOB NOT NULL
);
CREATE UNIQUE INDEX turn_place ON turn (session, turn_index, attempt);
CREATE INDEX turn_session ON turn (session);
CREATE INDEX turn_response ON turn (response_id) WHERE kept;

-- What became of a turn after its release. A turn without a row was released, and nothing is known of the rest.
CREATE TABLE delivery (
  turn      INTEGER PRIMARY KEY,
  delivered TEXT,
  durable   TEXT,
  total_us  INTEGER
);

-- What was injected ----------------------------------------------------------------------------------------------

CREATE TABLE event (
  id           INTEGER PRIMARY KEY,
  session      INTEGER NOT NULL,
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
  version      INTEGER     -- the operator's; NULL is 1
);
CREATE UNIQUE INDEX event_place ON event (session, turn_index, attempt, ordinal);

-- What a language model wrote for an operator of noise, by the content of what it was asked. Each session has its
-- own rows of what it asked for or was shown, so that deleting one takes its words along.
CREATE TABLE generated_text (
  session    INTEGER NOT NULL,
  key        TEXT NOT NULL,
  operator   TEXT NOT NULL,
  model      TEXT NOT NULL,
  text       TEXT NOT NULL,
  score      REAL,
  created_us INTEGER NOT NULL,
  PRIMARY KEY (session, key)
);
CREATE INDEX generated_text_key ON generated_text (key);

-- What later requests are recognised by --------------------------------------------------------------------------

-- What was delivered to whom: a later turn that names no session is known by the ids in its history.
CREATE TABLE delivered_id (
  name    TEXT NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (name, session)
) WITHOUT ROWID;
CREATE INDEX delivered_id_session ON delivered_id (session);

-- Answers to a conversation's first request that noise destroyed before a client without a session's name got them.
-- An equal request is its retry, after a restart, too, and gets through.
CREATE TABLE destroyed_answer (
  session      INTEGER NOT NULL,
  turn_index   INTEGER NOT NULL,
  attempt      INTEGER NOT NULL,
  alike        TEXT NOT NULL,     -- the digest of what the draws follow from
  conversation TEXT NOT NULL,     -- the digest of the conversation
  depth        INTEGER NOT NULL,
  at_us        INTEGER NOT NULL,
  PRIMARY KEY (session, turn_index, attempt)
) WITHOUT ROWID;
CREATE INDEX destroyed_answer_alike ON destroyed_answer (alike, at_us);

-- Whose the objects are that a provider keeps (responses, files, batches, ...), where tenants share its account.
CREATE TABLE provider_object (
  id         TEXT NOT NULL PRIMARY KEY,
  tenant     TEXT NOT NULL,
  created_us INTEGER NOT NULL
) WITHOUT ROWID;

-- Deleted sessions -----------------------------------------------------------------------------------------------

-- Sessions that were deleted of late, by the digest of their ids: a late request doesn't open them anew.
CREATE TABLE deleted_session (
  digest  BLOB PRIMARY KEY,
  arrival INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX deleted_session_arrival ON deleted_session (arrival);

-- Deleted sessions with turns that are still to be deleted, in short transactions.
CREATE TABLE unswept (session INTEGER PRIMARY KEY);

-- Control plane and trainer --------------------------------------------------------------------------------------

CREATE TABLE setting (
  kind       TEXT NOT NULL,
  name       TEXT NOT NULL,
  value_json TEXT,
  updated_us INTEGER,
  arrival    INTEGER,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
-- What hangs on a session and isn't its row: the digests of its keys.
CREATE INDEX setting_session ON setting (json_extract(value_json, '$.session')) WHERE kind = 'session_key';

CREATE TABLE train_step (
  run            TEXT NOT NULL,
  step           INTEGER NOT NULL,
  group_ids_json TEXT,
  seeds_json     TEXT,
  created_us     INTEGER,
  arrival        INTEGER,
  policy_version TEXT,
  metrics_json   TEXT,
  completed_us   INTEGER,
  rewards_json   TEXT,        -- of its sessions, as they stood when the step was planned
  PRIMARY KEY (run, step)
) WITHOUT ROWID;

-- For a person at the sqlite3 prompt -----------------------------------------------------------------------------

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
  (SELECT count(*) FROM turn WHERE turn.session = session.number) AS turns,
  (SELECT count(*) FROM turn WHERE turn.session = session.number AND turn.fitness = 'fit') AS fit_turns,
  (SELECT count(*) FROM event WHERE event.session = session.number AND event.after IS NOT NULL) AS injected,
  (SELECT count(*) FROM event WHERE event.session = session.number AND event.after IS NULL
     AND event.slot <> '') AS withheld,
  session.noise_stopped,
  session.quarantine
FROM session;

-- Turn by turn: what came of it. `crosswind sessions show ID --turn N` prints what was sent, seen and answered.
CREATE VIEW readable_turn AS
SELECT
  session.id AS session_id,
  turn.turn_index AS turn,
  turn.attempt,
  strftime('%Y-%m-%dT%H:%M:%SZ', turn.created_us / 1000000, 'unixepoch') AS at,
  turn.protocol,
  turn.model,
  turn.response_id,
  turn.view_changed,
  (SELECT count(*) FROM event WHERE event.session = turn.session AND event.turn_index = turn.turn_index
     AND event.attempt = turn.attempt AND event.after IS NOT NULL) AS injected,
  turn.fitness,
  coalesce(delivery.durable, turn.durable) AS durable,
  coalesce(delivery.delivered, turn.delivered, 'unknown') AS delivered,
  turn.finish_reason,
  turn.policy_first,
  turn.policy_last,
  turn.sampled_tokens,
  turn.prompt_tokens,
  turn.completion_tokens,
  coalesce(delivery.total_us, turn.total_us) AS total_us,
  turn.upstream_status,
  turn.error_source,
  turn.error_type
FROM turn JOIN session ON session.number = turn.session LEFT JOIN delivery ON delivery.turn = turn.id;

-- Event by event: what was injected, before and after, and why the task stays solvable.
CREATE VIEW readable_event AS
SELECT
  session.id AS session_id,
  event.turn_index AS turn,
  event.attempt,
  event.ordinal,
  event.operator,
  CASE WHEN event.after IS NOT NULL THEN 'injected' WHEN event.slot = '' THEN 'no noise' ELSE 'withheld' END
    AS outcome,
  event.site,
  event.tool,
  event.tool_class,
  event.severity,
  CAST(event.before AS TEXT) AS before,
  CAST(event.after AS TEXT) AS after,
  event.recovery AS solvable_by,
  CAST(event.note AS TEXT) AS note,
  CAST(event.draw_json AS TEXT) AS draw
FROM event JOIN session ON session.number = event.session;
