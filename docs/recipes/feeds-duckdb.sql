-- Queries for the feeds of changes of leads, for DuckDB with its extension httpfs. Replace BUCKET, leads, and the dates.
-- Replace updatedat by all columns that changes.ignore names, or named when one of these feeds was written; remove it if there are none.
-- If a feed was stopped or is not written yet, there is a table after the newest one that the feeds end at: max(date) of chain.
-- First run: CREATE SECRET (TYPE s3, PROVIDER credential_chain);

-- 1. The chain: the feeds from the one that head.json names back to the oldest that is kept. Run this before all others.
--    A feed that is being written, or is no part of the chain, is not read. replaced is the snapshot that replaces a feed.
--    If DuckDB finds no common type for a column whose type has changed, write max(sequence) for min(sequence): the chain then
--    begins with the newest snapshot.
CREATE OR REPLACE TABLE chain AS
WITH RECURSIVE records AS (
  SELECT sequence, kind, "from".run AS from_run, "from".date AS from_date, "to".run AS to_run, "to".date AS date,
    replace(filename, '_feed.json', 'changes.parquet') AS path
  FROM read_json('s3://BUCKET/changes/entity=leads/date=*/run=*/_feed.json', filename = true, hive_partitioning = false,
    columns = {sequence: 'BIGINT', kind: 'TEXT', "from": 'STRUCT(run TEXT, date DATE)', "to": 'STRUCT(run TEXT, date DATE)'})
), back AS (
  SELECT records.* FROM records
  JOIN read_json('s3://BUCKET/changes/entity=leads/head.json', hive_partitioning = false,
    columns = {sequence: 'BIGINT', "end": 'STRUCT(run TEXT)'}) AS head
  ON records.sequence = head.sequence AND to_run = head."end".run
  UNION ALL
  SELECT records.* FROM records JOIN back ON records.sequence < back.sequence AND records.to_run = back.from_run
)
SELECT sequence, kind, from_date, date, path, min(CASE WHEN kind = 'snapshot' THEN sequence END) OVER later AS replaced
FROM back
WHERE sequence >= coalesce((SELECT min(sequence) FROM back WHERE kind = 'snapshot'), 0)
WINDOW later AS (ORDER BY sequence ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING);

SET VARIABLE feeds = (SELECT list(path ORDER BY sequence) FROM chain);
CREATE OR REPLACE TABLE feeds AS
SELECT *, CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS _more
FROM read_parquet(getvariable('feeds'), union_by_name = true, hive_partitioning = false);

-- 2. What changed since a date, feed by feed.
SELECT * EXCLUDE (_more) FROM feeds
WHERE _to_date > DATE '2026-11-19' AND _kind = 'changes'
ORDER BY _sequence, id, _change_type DESC;

-- 3. The newest table, from all feeds since the newest snapshot. The last query has no row if the feeds are complete.
SET VARIABLE folded = (
  SELECT list(path) FROM chain WHERE sequence >= (SELECT max(sequence) FROM chain WHERE kind = 'snapshot'));
CREATE OR REPLACE TABLE folded AS
SELECT * EXCLUDE (_copies, _copy) FROM (
  SELECT * EXCLUDE (_change_type, _sequence, _kind, _from_run, _to_run, _from_date, _to_date, updatedat),
    sum(CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END) AS _copies
  FROM read_parquet(getvariable('folded'), hive_partitioning = false)
  GROUP BY ALL
), range(_copies::BIGINT) AS each(_copy);

WITH newest AS (
  SELECT * EXCLUDE (updatedat)
  FROM read_parquet('s3://BUCKET/tables/entity=leads/date=2026-11-20/leads.parquet', hive_partitioning = false)
)
(FROM folded EXCEPT ALL FROM newest) UNION ALL (FROM newest EXCEPT ALL FROM folded);

-- 4. The history: each version of a row, with the date of the feed that brought it and of the one that ended it (null: it is current).
--    A snapshot ends the versions that it does not have; the others go on. A new column with a value makes each version a new one.
--    A version that came and went on one date has that date twice. _copies is above 1 if rows are equal in all columns.
--    The table of a date: WHERE valid_from <= DATE '2026-11-19' AND (valid_to IS NULL OR valid_to > DATE '2026-11-19').
CREATE OR REPLACE VIEW history AS
WITH counted AS (
  FROM feeds
  UNION ALL
  SELECT feeds.* REPLACE (chain.replaced AS _sequence, -_more AS _more)
  FROM feeds JOIN chain ON chain.sequence = _sequence WHERE chain.replaced IS NOT NULL
), steps AS (
  SELECT * EXCLUDE (_change_type, _kind, _from_run, _to_run, _from_date, _to_date, _more, updatedat), sum(_more) AS _more
  FROM counted GROUP BY ALL HAVING sum(_more) <> 0
), spans AS (
  SELECT * EXCLUDE (_more), sum(_more) OVER versions AS _copies, lead(_sequence) OVER versions AS _until
  FROM (SELECT *, row(*COLUMNS(* EXCLUDE (_sequence, _more))) AS _row FROM steps)
  WINDOW versions AS (PARTITION BY _row ORDER BY _sequence)
)
SELECT spans.* EXCLUDE (_sequence, _until, _row), since.date AS valid_from, until.date AS valid_to
FROM spans JOIN chain AS since ON since.sequence = _sequence LEFT JOIN chain AS until ON until.sequence = _until
WHERE _copies > 0;

-- 5. The versions of one record, by its key.
SELECT * FROM history WHERE id = '7' ORDER BY valid_from, valid_to NULLS LAST;

-- 6. The difference between a date and today.
SELECT CASE WHEN valid_to IS NULL THEN 'came' ELSE 'went' END AS what, * FROM history
WHERE (valid_from <= DATE '2026-11-19' AND valid_to > DATE '2026-11-19')
  OR (valid_from > DATE '2026-11-19' AND valid_to IS NULL)
ORDER BY id, what DESC;

-- 7. Run this after 1 if no snapshot is kept any more: the history then begins with the oldest feed. Its rows before that are those
--    of the newest table, without all changes since. It changes nothing if there is a snapshot. 3 is not possible then.
CREATE OR REPLACE TABLE feeds AS
WITH first AS (SELECT min(sequence) - 1 AS place FROM chain HAVING count(*) FILTER (kind = 'snapshot') = 0)
FROM feeds
UNION ALL BY NAME
SELECT newest.*, 1 AS _more, first.place AS _sequence
FROM read_parquet('s3://BUCKET/tables/entity=leads/date=2026-11-20/leads.parquet', hive_partitioning = false) AS newest, first
UNION ALL BY NAME
SELECT feeds.* REPLACE (first.place AS _sequence, -_more AS _more) FROM feeds, first;
CREATE OR REPLACE TABLE chain AS
FROM chain
UNION ALL BY NAME
SELECT min(sequence) - 1 AS sequence, min(from_date) AS date, 'snapshot' AS kind
FROM chain HAVING count(*) FILTER (kind = 'snapshot') = 0;
