-- What is new in a session since a row of it was seen: the newest row is one seek, what came since a short range.
-- A table's rowid ends every entry of its indexes.

CREATE INDEX turn_session ON turn (session_id);
CREATE INDEX shown_session ON shown (session_id);
