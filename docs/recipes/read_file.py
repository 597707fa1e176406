"""Reads a published file: python read_file.py BUCKET leads latest

Follows pointer and manifest, checks size and CRC-32, and prints a line of JSON for each record, whatever the dialect. Needs boto3.
"""

import base64, csv, gzip, json, sys, unicodedata, zlib
import boto3

bucket, entity, which = sys.argv[1:]  # such as: leads latest, or: leads date=2026-11-20
s3 = boto3.client("s3")
body = lambda key: s3.get_object(Bucket=bucket, Key=key)["Body"]

pointer = json.load(body(f"published/entity={entity}/{which}.json"))
manifest = json.load(body(pointer["manifestKey"]))
file, dialect = manifest["file"], manifest["file"]["dialect"] or {}
folded = lambda cells: ",".join("".join(filter(str.isalnum, unicodedata.normalize("NFKC", cell).casefold())) for cell in cells).rstrip(",")
for warning in manifest["warnings"]:
    print("Warning:", warning, file=sys.stderr)

size = crc = 0
with open(f"{entity}.csv", "wb") as out:
    for chunk in body(file["key"]).iter_chunks(1 << 20):
        size, crc = size + len(chunk), zlib.crc32(chunk, crc)
        out.write(chunk)
if (size, crc) != (file["bytes"], int.from_bytes(base64.b64decode(file["crc32"]), "big")):
    sys.exit("The file is corrupt.")
if not file["header"]:
    sys.exit("It is no CSV file with a header that is known.")

csv.field_size_limit(1 << 30)
content, rows = file["content"], 0
unpack = gzip.open if file["compression"] == "gzip" else open
how = {"encoding": dialect.get("encoding") or "utf-8", "errors": "replace" if content["broken"] else "strict"}
with unpack(f"{entity}.csv", "rt", newline="", **how) as text:
    start = text.read(8)  # byte order marks
    text.seek(0)
    text.read(len(start) - len(start.lstrip("\ufeff")))
    if dialect.get("separatorLine"):
        text.readline()
    records = (record for record in csv.reader(text, delimiter=dialect.get("separator") or ",") if record)
    for _ in range(content["rowsAbove"]):  # titles
        next(records)
    header = folded(next(records))
    for record in records:
        if not content["repeatedHeaders"] or folded(record) != header:
            print(json.dumps(dict(zip(file["header"], record))))
            rows += 1
if file["rows"] not in (None, rows):
    sys.exit(f"{rows} rows were read, and the manifest counts {file['rows']}.")
