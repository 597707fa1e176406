"""Prints the cells of workbooks as openpyxl reads them: for each file named on standard input one line of JSON."""

import datetime
import json
import signal
import sys
import warnings

import openpyxl

MOST_CELLS = 2_000_000
MOST_SECONDS = 20


def late(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, late)


def cell_of(value):
    """The kind of a value, and its text: n(umber), d(ate), c(lock), b(oolean) or s (text)."""
    if isinstance(value, bool):
        return ["b", "true" if value else "false"]
    if isinstance(value, (int, float)):
        return ["n", repr(value)]
    if isinstance(value, datetime.datetime):
        return ["d", value.isoformat()]
    if isinstance(value, datetime.date):
        return ["d", value.isoformat() + "T00:00:00"]
    if isinstance(value, datetime.time):
        moment = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        return ["c", repr(moment)]
    if isinstance(value, datetime.timedelta):
        return ["c", repr(value.total_seconds())]
    return ["s", str(value)]


def sheets_of(path):
    book = openpyxl.load_workbook(path, data_only=True)
    found = []
    count = 0
    for sheet in book.worksheets:
        cells = []
        # Visiting all rows and columns would take days for a sheet with a cell in its last corner.
        for (row, column), cell in sorted(sheet._cells.items()):
            # openpyxl fills a cell without a value with the address of its link.
            linked = cell.hyperlink is not None and cell.value in (cell.hyperlink.target, cell.hyperlink.location)
            if cell.value is None or cell.value == "" or linked:
                continue
            cells.append([row, column, *cell_of(cell.value)])
            count += 1
            if count > MOST_CELLS:
                raise ValueError("too many cells")
        # openpyxl drops the values of all cells of a merged area but the first.
        merged = [list(area.bounds) for area in sheet.merged_cells.ranges]
        links = [[cell.row, cell.column] for cell in sheet._cells.values() if cell.hyperlink is not None]
        found.append({"name": sheet.title, "cells": cells, "merged": merged, "links": links})
    return found


warnings.simplefilter("ignore")
# openpyxl prints messages, which must not mix with the answers.
answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    path = line.rstrip("\n")
    signal.alarm(MOST_SECONDS)
    try:
        print(json.dumps({"file": path, "error": None, "sheets": sheets_of(path)}), file=answers, flush=True)
    except Exception as error:  # noqa: BLE001
        print(json.dumps({"file": path, "error": type(error).__name__, "sheets": []}), file=answers, flush=True)
