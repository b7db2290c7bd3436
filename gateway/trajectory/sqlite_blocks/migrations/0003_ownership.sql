-- Who uses which content, so that deleting a session costs what that session referred to; a plain view needs no frame;
-- completions are appended instead of sorted in; what a request was spared.

-- Every session has a number of its own that is never given again.
CREATE TABLE numbering (last INTEGER NOT NULL);
INSERT INTO numbering SELECT coalesce(max(rowid), 0) FROM session;
ALTER TABLE session ADD COLUMN number INTEGER;
UPDATE session SET number = rowid;
CREATE UNIQUE INDEX session_number ON session (number);
CREATE INDEX session_tenant ON session (tenant) WHERE tenant IS NOT NULL;
CREATE INDEX session_pending ON session (created_us) WHERE reward_state = 'pending';
CREATE TRIGGER session_numbered AFTER INSERT ON session BEGIN
  UPDATE numbering SET last = last + 1;
  UPDATE session SET number = (SELECT last FROM numbering) WHERE rowid = NEW.rowid;
END;

-- The session that a piece of content belongs to, by number; further sessions that use it are in `share`.
ALTER TABLE block ADD COLUMN owner INTEGER;
ALTER TABLE chain ADD COLUMN owner INTEGER;
ALTER TABLE frame ADD COLUMN owner INTEGER;

-- Kinds: 0 block, 1 chain, 2 frame.
CREATE TABLE share (
  kind    INTEGER NOT NULL,
  key     BLOB NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (kind, key, session)
) WITHOUT ROWID;

-- Content of deleted sessions that is still to be given up, piece by piece.
CREATE TABLE released (
  session INTEGER NOT NULL,
  kind    INTEGER NOT NULL,
  key     BLOB NOT NULL,
  PRIMARY KEY (session, kind, key)
) WITHOUT ROWID;

WITH RECURSIVE used (session, key) AS (
  SELECT number, received_chain FROM turn JOIN session ON session.id = session_id
  UNION SELECT number, sent_chain FROM turn JOIN session ON session.id = session_id
  UNION SELECT number, produced_chain FROM turn JOIN session ON session.id = session_id
  UNION SELECT number, delivered_chain FROM turn JOIN session ON session.id = session_id
  UNION SELECT number, prompt_chain FROM turn JOIN session ON session.id = session_id
  UNION SELECT session, parent FROM used JOIN chain USING (key)
)
INSERT INTO share SELECT 1, key, session FROM used WHERE key IS NOT NULL;

INSERT INTO share
SELECT DISTINCT 2, key, number FROM (
  SELECT received_frame AS key, session_id FROM turn
  UNION SELECT sent_frame, session_id FROM turn
  UNION SELECT produced_frame, session_id FROM turn
  UNION SELECT delivered_frame, session_id FROM turn
) JOIN session ON session.id = session_id WHERE key IS NOT NULL;

INSERT INTO share
SELECT 0, chain.block, share.session FROM share JOIN chain USING (key) WHERE share.kind = 1
UNION
SELECT 0, frame.block, share.session FROM share JOIN frame USING (key) WHERE share.kind = 2 AND frame.block IS NOT NULL;

UPDATE block SET owner = (SELECT min(session) FROM share WHERE kind = 0 AND key = block.hash);
UPDATE chain SET owner = (SELECT min(session) FROM share WHERE kind = 1 AND share.key = chain.key);
UPDATE frame SET owner = (SELECT min(session) FROM share WHERE kind = 2 AND share.key = frame.key);
DELETE FROM share
WHERE session = (SELECT min(session) FROM share AS first WHERE first.kind = share.kind AND first.key = share.key);

-- A piece that another session brings anew is shared from then on.
CREATE TRIGGER block_shared BEFORE INSERT ON block
WHEN EXISTS (SELECT 1 FROM block WHERE hash = NEW.hash AND owner IS NOT NEW.owner) BEGIN
  INSERT INTO share VALUES (0, NEW.hash, NEW.owner) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER chain_shared BEFORE INSERT ON chain
WHEN EXISTS (SELECT 1 FROM chain WHERE key = NEW.key AND owner IS NOT NEW.owner) BEGIN
  INSERT INTO share VALUES (1, NEW.key, NEW.owner) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER frame_shared BEFORE INSERT ON frame
WHEN EXISTS (SELECT 1 FROM frame WHERE key = NEW.key AND ordinal = NEW.ordinal AND owner IS NOT NEW.owner) BEGIN
  INSERT INTO share VALUES (2, NEW.key, NEW.owner) ON CONFLICT DO NOTHING;
END;

-- Noise that a request was spared by its header, so that a replay spares it, too.
ALTER TABLE turn ADD COLUMN spared INTEGER;

-- The views are made anew below: they name what changes here.
DROP VIEW readable_turn;
DROP VIEW turn_text;

CREATE TABLE completion_row (
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
);
INSERT INTO completion_row SELECT
  session_id, turn_index, attempt, choice, token_ids, logprobs, finish_reason, versions_json, entropy, top_logprobs
FROM completion;
DROP TABLE completion;
ALTER TABLE completion_row RENAME TO completion;

-- The text of each of a turn's views: the frame's pieces in order, the chain in its place. A frame of 17 bytes is a
-- plain body: a zero byte and the hash of its block.
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
SELECT session_id, turn_index, attempt, view,
  CASE length(frame) WHEN 17 THEN (SELECT CAST(body AS TEXT) FROM block WHERE hash = substr(view_of.frame, 2)) ELSE (
    SELECT group_concat(piece, '') FROM (
      SELECT coalesce(
        CAST(block.body AS TEXT), (SELECT text FROM chain_text WHERE chain_text.key = view_of.chain), '') AS piece
      FROM frame LEFT JOIN block ON block.hash = frame.block
      WHERE frame.key = view_of.frame ORDER BY frame.ordinal
    )
  ) END AS text
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
