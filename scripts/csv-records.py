"""Prints the records of CSV files as Python's csv reads them: for each file named on standard input one line of JSON."""

import codecs
import csv
import gzip
import io
import json
import sys

csv.field_size_limit(sys.maxsize)
SEPARATORS = ",;\t"


def text_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig")


def records_of(path):
    """The records by the separator that gives the first one most cells."""
    text = text_of(path)
    read = [list(filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=each))) for each in SEPARATORS]
    records = max(read, key=lambda records: len(records[0]) if records else 0)
    if len({len(record) for record in records}) != 1:
        raise ValueError("no fixed width")
    return {"separator": SEPARATORS[read.index(records)], "records": records}


for line in sys.stdin:
    path = line.rstrip("\n")
    try:
        print(json.dumps({"file": path, "error": None, **records_of(path)}), flush=True)
    except (ValueError, csv.Error, OSError, EOFError) as error:
        print(json.dumps({"file": path, "error": type(error).__name__, "separator": ",", "records": []}), flush=True)
