-- Where a member takes requests that other members forward (M53), '' when it takes none.
ALTER TABLE lease ADD COLUMN peer text NOT NULL DEFAULT '';
