-- Queries for the feeds of changes of leads, for Athena. Replace the names and dates. Name every column of the table, except those that
-- changes.ignore names, or named when one of these feeds was written. "date" >= is the date of the oldest feed to read: after the last
-- change of types, and of the newest chain (a chain that begins anew begins with sequence 1). Athena does not see a feed without rows, such as the snapshot of an empty table.

-- 1. What changed since a date, feed by feed. A feed that is no part of the chain, because a slow function wrote it late, is read too.
SELECT * FROM crm_export_prod.leads_changes
WHERE "date" > '2026-11-19' AND _kind = 'changes'
ORDER BY _sequence, id, _change_type DESC;

-- 2. The feeds since the newest snapshot, without the newest table. There is no row if the feeds are complete.
WITH feeds AS (
  SELECT * FROM crm_export_prod.leads_changes WHERE "date" >= '2026-11-01'
), counted AS (
  SELECT id, name, status, CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS more
  FROM feeds WHERE _sequence >= (SELECT max(_sequence) FROM feeds WHERE _kind = 'snapshot')
  UNION ALL
  SELECT id, name, status, -1 FROM crm_export_prod.leads WHERE "date" = '2026-11-20'
)
SELECT id, name, status, sum(more) AS more FROM counted GROUP BY id, name, status HAVING sum(more) <> 0;

-- 3. The history, from the oldest snapshot on: see 4 in feeds-duckdb.sql.
WITH feeds AS (
  SELECT * FROM crm_export_prod.leads_changes WHERE "date" >= '2026-11-01'
), places AS (
  SELECT DISTINCT _sequence AS place, _kind AS kind, _to_date AS day FROM feeds
  WHERE _sequence >= (SELECT min(_sequence) FROM feeds WHERE _kind = 'snapshot')
), chain AS (
  SELECT place, day, min(CASE WHEN kind = 'snapshot' THEN place END)
    OVER (ORDER BY place ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS replaced
  FROM places
), feed_rows AS (
  SELECT id, name, status, chain.place, chain.replaced,
    CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS more
  FROM feeds JOIN chain ON chain.place = _sequence
), counted AS (
  SELECT id, name, status, place, more FROM feed_rows
  UNION ALL
  SELECT id, name, status, replaced, -more FROM feed_rows WHERE replaced IS NOT NULL
), steps AS (
  SELECT id, name, status, place, sum(more) AS more FROM counted
  GROUP BY id, name, status, place HAVING sum(more) <> 0
), spans AS (
  SELECT id, name, status, place,
    sum(more) OVER (PARTITION BY id, name, status ORDER BY place) AS copies,
    lead(place) OVER (PARTITION BY id, name, status ORDER BY place) AS until
  FROM steps
)
SELECT id, name, status, copies, since.day AS valid_from, ended.day AS valid_to
FROM spans JOIN chain AS since ON since.place = spans.place LEFT JOIN chain AS ended ON ended.place = until
WHERE copies > 0;
