"""Writes workbooks by openpyxl and XlsxWriter, and what openpyxl reads of each: python workbooks.py FOLDER COUNT SEED.

Prints a line of JSON for each: its file, the columns, the rows above the header, whether other sheets have values, and the records
as openpyxl reads them, written as the product writes them: dates as ISO text, numbers as the shortest decimal.
"""
import datetime
import decimal
import json
import os
import random
import sys

import openpyxl
import openpyxl.utils.datetime
import xlsxwriter

FOLDER, COUNT, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
WORDS = ["דוד", "תל אביב", "a,b", 'say "so"', "two\nlines", " blank around ", "<&>'", "\U0001f600", "é", "0012", "=x", "-", "TRUE", "1e5"]
DATE_FORMATS = ["yyyy-mm-dd", "dd/mm/yyyy", "d mmm yy", '[$-40D]dd" ב"mmmm yyyy', "mm-dd-yy", "[Red]yyyy/mm/dd;@"]
MOMENT_FORMATS = ["yyyy-mm-dd hh:mm:ss", "dd/mm/yyyy hh:mm", "m/d/yy h:mm", 'yyyy-mm-dd"T"hh:mm:ss.000']
TIME_FORMATS = ["hh:mm", "h:mm:ss", "h:mm AM/PM", "mm:ss.0"]
DURATION_FORMATS = ["[h]:mm:ss", "[hh]:mm", "[mm]:ss"]
NUMBER_FORMATS = ["General", "0.00", "#,##0", '0 "days"', "0%", '#,##0.00\\ "ש"', '[$₪-40D] #,##0.00;[Red]-#,##0.00', "0.00E+00", "# ?/?", '"d"0']


def decimal_text(value):
    if isinstance(value, int):
        return str(value)
    text = format(decimal.Decimal(repr(value)), "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"


def clock(delta):
    ms = round(delta / datetime.timedelta(milliseconds=1))
    text = "%02d:%02d:%02d" % (ms // 3600000, ms // 60000 % 60, ms // 1000 % 60)
    return text + (".%03d" % (ms % 1000) if ms % 1000 else "")


def moment_text(value):
    return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")


def text_of(cell):
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return decimal_text(value)
    if isinstance(value, datetime.timedelta):
        return clock(value)
    if isinstance(value, datetime.time):
        return moment_text(value)
    if isinstance(value, datetime.datetime):
        only_date = "h" not in cell.number_format and value.time() == datetime.time()
        return value.date().isoformat() if only_date else moment_text(value)
    return str(value)


def some_value(random):
    """A value and its number format."""
    kind = random.randrange(12)
    day = datetime.datetime(1904, 1, 2) + datetime.timedelta(days=random.randrange(60000))
    ms = datetime.timedelta(milliseconds=random.randrange(86400000))
    if kind == 0:
        return None, None
    if kind == 1:
        return random.choice([True, False]), None
    if kind == 2:
        return random.choice([0, 1, -5, 10**random.randrange(16), random.randrange(10**15)]), random.choice(NUMBER_FORMATS)
    if kind == 3:
        return random.choice([0.1 + 0.2, 1.5, -2.25, 1e-7, 1.1, 123456.789, random.random(), random.uniform(-1e9, 1e9), 1e15, 1.5e20]), random.choice(NUMBER_FORMATS)
    if kind == 4:
        return day, random.choice(DATE_FORMATS)
    if kind == 5:
        return day + datetime.timedelta(seconds=random.randrange(86400)), random.choice(MOMENT_FORMATS)
    if kind == 6:
        return day + ms, random.choice(DATE_FORMATS + MOMENT_FORMATS)
    if kind == 7:
        return (datetime.datetime(2000, 1, 1) + ms).time(), random.choice(TIME_FORMATS)
    if kind == 8:
        return datetime.timedelta(seconds=random.randrange(86400 * 40)), random.choice(DURATION_FORMATS)
    if kind == 9:
        return "#N/A", "error"
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(1, 4))), None


class OpenpyxlSheet:
    def __init__(self, book, title):
        self.sheet = book.create_sheet(title)

    def write(self, row, column, value, format):
        if value is None and format is None:
            return
        cell = self.sheet.cell(row + 1, column + 1)
        if isinstance(value, str):
            cell.value = value
            cell.data_type = "e" if format == "error" else "s"
        else:
            cell.value = value
            if format:
                cell.number_format = format

    def hide(self, state):
        self.sheet.sheet_state = state


class XlsxWriterSheet:
    def __init__(self, book, title):
        self.book, self.sheet = book, book.add_worksheet(title)

    def write(self, row, column, value, format):
        style = self.book.add_format({"num_format": format}) if format and format != "error" else None
        if value is None:
            self.sheet.write_blank(row, column, None, self.book.add_format({"bold": True}))
        elif isinstance(value, bool):
            self.sheet.write_boolean(row, column, value)
        elif isinstance(value, str) and format == "error":
            self.sheet.write_formula(row, column, "=NA()", None, value)
        elif isinstance(value, str):
            self.sheet.write_string(row, column, value)
        elif isinstance(value, (int, float)):
            self.sheet.write_number(row, column, value, style)
        else:
            self.sheet.write_datetime(row, column, value, style)

    def hide(self, state):
        self.sheet.very_hidden() if state == "veryHidden" else self.sheet.hide()


def write(random, path):
    epoch_1904 = random.random() < 0.3
    if random.random() < 0.5:
        book = openpyxl.Workbook()
        book.remove(book.active)
        if epoch_1904:
            book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
        make, save = lambda title: OpenpyxlSheet(book, title), lambda: book.save(path)
    else:
        book = xlsxwriter.Workbook(path, {"constant_memory": random.random() < 0.5, "date_1904": epoch_1904})
        make, save = lambda title: XlsxWriterSheet(book, title), book.close
    columns = ["c%d" % place for place in range(random.randrange(2, 30))]
    hidden = [random.choice([True, False]) for _ in range(random.randrange(3))]
    data = make("data")
    for place, filled in enumerate(hidden):
        other = make("other%d" % place)
        other.hide(random.choice(["hidden", "veryHidden"]))
        if filled:
            other.write(random.randrange(50), random.randrange(5), "x", None)
    left, at, above = random.choice([0, 0, 0, 1, 5]), random.choice([0, 0, 1, 3]), 0
    if at > 0 and random.random() < 0.7:
        data.write(0, left, "Leads of today", None)
        above = 1
    for place, name in enumerate(columns):
        data.write(at, left + place, name, None)
    for _ in range(random.randrange(60)):
        at += random.choice([1, 1, 1, 1, 2])
        for place in range(len(columns)):
            data.write(at, left + place, *some_value(random))
    save()
    return {"columns": columns, "above": above, "elsewhere": sum(hidden), "left": left}


def read(path, columns, left):
    sheet = openpyxl.load_workbook(path, data_only=True)["data"]
    rows = [[text_of(cell) for cell in row[left : left + len(columns)]] for row in sheet.iter_rows()]
    rows = [row + [""] * (len(columns) - len(row)) for row in rows if any(row)]
    return rows[rows.index(columns) :]


for number in range(COUNT):
    seeded = random.Random(SEED * 100_000 + number)
    name = os.path.join(FOLDER, "%d.xlsx" % number)
    made = write(seeded, name)
    records = read(name, made["columns"], made["left"])
    print(json.dumps({"file": name, **made, "records": records}))
