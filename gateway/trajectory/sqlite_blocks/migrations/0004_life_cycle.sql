-- What hangs on a session and isn't its row: the digests of its keys.
CREATE INDEX setting_session ON setting (json_extract(value_json, '$.session')) WHERE kind = 'session_key';
