-- Checksums by which `doctor` finds damaged rows; rows of an earlier release have none.
-- Of a version: what it says, with its end added by exclusive or. Of a recall: at * 31 + count.
ALTER TABLE version ADD COLUMN checksum INTEGER;
ALTER TABLE version ADD COLUMN vector_checksum INTEGER;
ALTER TABLE change ADD COLUMN checksum INTEGER;
ALTER TABLE recall ADD COLUMN checksum INTEGER;
ALTER TABLE reembed ADD COLUMN checksum INTEGER;
