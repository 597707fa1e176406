-- The table of a published file that is too large for WriteTable, made by Athena. Tests run query 3 with DuckDB; nothing was run on AWS.
-- For CSV files in UTF-8, plain or with gzip, without line breaks inside cells. Replace the names, BUCKET, RUN and the date; name every
-- column of the file, in its order; the manifest of the run has them (file.header). Name the columns in lower case with underscores, as tables.md says.
-- The role needs the rights of an analyst, and also s3:GetObject on runs/entity=leads/*, s3:PutObject on tables/entity=leads/*,
-- kms:GenerateDataKey, and rights to create and delete tables in the Glue database.

-- 1. The file as texts. OpenCSVSerde reads no backslash as an escape here. Without a header, leave out skip.header.line.count.
CREATE EXTERNAL TABLE crm_export_prod.leads_texts (id string, name string, createdat string, birthdate string, sum string, notes string)
ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'
WITH SERDEPROPERTIES ('separatorChar' = ',', 'quoteChar' = '"', 'escapeChar' = '\u0001')
LOCATION 's3://BUCKET/runs/entity=leads/run=RUN/'
TBLPROPERTIES ('skip.header.line.count' = '1');

-- 2. Must be file.rows of the manifest. If it is not, Athena reads the rows differently: go no further.
SELECT count(*) FROM crm_export_prod.leads_texts;

-- 3. The table. Leave out the columns of tables.except (here notes); hash columns cannot be made here. The folder must be empty: first delete
--    an older table. A text that does not fit its type is null.
CREATE TABLE crm_export_prod.leads_written
WITH (format = 'PARQUET', write_compression = 'SNAPPY', external_location = 's3://BUCKET/tables/entity=leads/date=2026-11-20/')
AS SELECT
  id,
  name,
  CASE WHEN regexp_like(createdat, '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$')
    THEN CAST(try(from_iso8601_timestamp(createdat)) AT TIME ZONE 'UTC' AS timestamp) END AS createdat,
  CASE WHEN regexp_like(birthdate, '^\d\d/\d\d/\d{4}$')
    THEN try_cast(substr(birthdate, 7) || '-' || substr(birthdate, 4, 2) || '-' || substr(birthdate, 1, 2) AS date) END AS birthdate,
  CASE WHEN regexp_like(sum, '^[+-]?\d{1,16}(\.\d{1,2})?$') THEN try_cast(sum AS decimal(18, 2)) END AS sum
FROM crm_export_prod.leads_texts;

-- 4. Removes the descriptions; the Parquet files stay. Their names do not end in .parquet: `doctor` and `table --outdated` do not see them, and
--    there are no feeds of them. Delete them yourself when column settings change.
DROP TABLE crm_export_prod.leads_texts;
DROP TABLE crm_export_prod.leads_written;
