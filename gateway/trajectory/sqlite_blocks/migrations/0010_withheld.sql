-- One word for noise that was drawn and did not act: withheld. Events without a slot belong to no operator; they
-- say why a request had no noise.
DROP VIEW readable_event;
DROP VIEW readable_session;

CREATE VIEW readable_event AS
SELECT
  session_id,
  turn_index AS turn,
  ordinal,
  operator,
  CASE WHEN after IS NOT NULL THEN 'injected' WHEN slot = '' THEN 'no noise' ELSE 'withheld' END AS outcome,
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
  (SELECT count(*) FROM event WHERE event.session_id = session.id AND event.after IS NULL
     AND event.slot <> '') AS withheld,
  session.noise_stopped,
  session.quarantine
FROM session;
