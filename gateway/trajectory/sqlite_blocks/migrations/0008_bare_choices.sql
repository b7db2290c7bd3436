-- 1: the answer is one choice without tokens, of which the turn's own finish_reason says all. It has no row in `completion`:
-- each row of a table costs a commit two pages.
ALTER TABLE turn ADD COLUMN bare_choice INTEGER;
