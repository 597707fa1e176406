"""Keeps a copy of a table in SQLite, by the feeds of changes: python copy_feeds.py BUCKET leads copy.db

Needs boto3 and duckdb (before version 2 also pytz). A new copy begins with the newest copy of the table below base/. Each feed is then
applied in a transaction of its own, with its place: if the process is killed, the next one goes on from there. The feeds are followed
from head.json back to the state of the copy, or to a snapshot, before anything is changed. If a feed is gone, or a row is missing, the
program ends and says how to begin anew. Dates, timestamps (in UTC) and decimals are texts in SQLite.
"""

import json, sqlite3, sys, tempfile
from urllib.parse import quote
import boto3, duckdb

bucket, entity, file = sys.argv[1:]  # such as: leads copy.db
s3, db = boto3.client("s3"), sqlite3.connect(file, isolation_level=None)
own = "_change_type, _sequence, _kind, _from_run, _to_run, _from_date, _to_date"
named = lambda *names: ", ".join('"' + name.replace('"', '""') + '"' for name in names)
plain = lambda value: value if isinstance(value, (str, int, float, type(None))) else str(value)
run = lambda to: "run=" + quote(to["run"], safe="!'()")
applied = lambda: db.execute("SELECT sequence, run FROM applied WHERE entity = ?", [entity]).fetchone()
anew = lambda why: sys.exit(f"{why}. For a new copy: DELETE FROM applied, and run this again.")

def get(key, **only):
    try:
        return s3.get_object(Bucket=bucket, Key=f"changes/entity={entity}/{key}", **only)["Body"]
    except s3.exceptions.ClientError as error:
        anew(f"{key} cannot be read: {error}")

def apply(rows, feed):
    table, names = named(entity), [column[0] for column in rows.description[1:]]
    known = [place for place, name in enumerate(names) if name not in feed["ignore"]]
    same = " AND ".join(f"{named(names[place])} IS ?" for place in known)
    if feed["kind"] == "snapshot":
        db.execute(f"DROP TABLE IF EXISTS {table}")
        db.execute(f"CREATE TABLE {table} ({named(*names)})")
        db.execute(f"CREATE INDEX {named(entity + ' by key')} ON {table} ({named(*feed['key'])})")
    while some := rows.fetchmany(1000):
        for change, *row in ([plain(value) for value in values] for values in some):
            if change in ("insert", "update_postimage"):
                db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
            elif not db.execute(f"DELETE FROM {table} WHERE _rowid_ = (SELECT _rowid_ FROM {table} WHERE {same} LIMIT 1)",
                                [row[place] for place in known]).rowcount:
                anew(f"A row that feed {feed['sequence']} takes away is not in the copy")

db.execute("CREATE TABLE IF NOT EXISTS applied (entity PRIMARY KEY, sequence, run)")
head, at, feeds = json.load(get("head.json")), applied(), []
sequence, to = head["sequence"], head["end"] or sys.exit("There is no feed yet.")
while at != (sequence, to["run"]):
    key, feed = f"base/{run(to)}.parquet", {**head["end"], "kind": "snapshot", "sequence": sequence, "to": to, "feed": {}}
    if at:
        key = f"date={to['date']}/{run(to)}/changes.parquet"
        feed = json.load(get(key.replace("changes.parquet", "_feed.json")))
    if feed["sequence"] != sequence:
        anew(f"{key} is feed {feed['sequence']}, not {sequence}")
    feeds.insert(0, (key, feed))
    if feed["kind"] == "snapshot":
        break
    sequence, to = sequence - 1, feed["from"]
for key, feed in feeds:
    with tempfile.NamedTemporaryFile() as parquet:
        for chunk in get(key, IfMatch=feed["feed"].get("etag") or feed["etag"]).iter_chunks(1 << 20):
            parquet.write(chunk)
        parquet.flush()
        columns = f"_change_type, * EXCLUDE ({own})" if at else "'insert', *"
        rows = duckdb.execute("SET TimeZone = 'UTC'").execute(
            f"SELECT {columns} FROM read_parquet(?, hive_partitioning = false)", [parquet.name])
        db.execute("BEGIN IMMEDIATE")
        if applied() != at:
            sys.exit("Another process works on this copy.")
        apply(rows, feed)
        db.execute("REPLACE INTO applied VALUES (?, ?, ?)", [entity, feed["sequence"], feed["to"]["run"]])
        db.execute("COMMIT")
    at = applied()
