-- What sends a value again that its sink refused.
ALTER TABLE dead_letter ADD COLUMN attempts  bigint NOT NULL DEFAULT 1;
ALTER TABLE dead_letter ADD COLUMN output    text   NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN firing_id text   NOT NULL DEFAULT '';
ALTER TABLE dead_letter ADD COLUMN message   bytea  NOT NULL DEFAULT '';
UPDATE dead_letter SET output = substr(reason, 8, strpos(reason, ':') - 8) WHERE stage = 'sink' AND reason LIKE 'output %:%';
