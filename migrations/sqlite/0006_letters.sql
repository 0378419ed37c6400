-- What sends a value again that its sink refused.
ALTER TABLE dead_letter ADD COLUMN attempts  INTEGER NOT NULL DEFAULT 1;
ALTER TABLE dead_letter ADD COLUMN output    TEXT    NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN firing_id TEXT    NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN message   BLOB    NOT NULL DEFAULT x'';
UPDATE dead_letter SET output = substr(reason, 8, instr(reason, ':') - 8) WHERE stage = 'sink' AND reason LIKE 'output %:%';
