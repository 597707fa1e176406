"""The cells of workbooks as openpyxl reads them, a line of JSON for each workbook: python texts_of_workbooks.py FILE...

Each must be a text: no number, no date, no formula.
"""
import json
import sys

import openpyxl
from openpyxl.utils.escape import unescape

for path in sys.argv[1:]:
    sheet = openpyxl.load_workbook(path).worksheets[0]
    rows = []
    for row in sheet.iter_rows():
        kinds = {cell.data_type for cell in row if cell.value is not None}
        assert kinds <= {"s"}, (path, kinds)
        rows.append([unescape(cell.value or "") for cell in row])
    print(json.dumps(rows))
