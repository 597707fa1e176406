"""Which promises a published file breaks, judged without the product: by the forms of its values, never by its header.

Reads cases from standard input, one JSON object a line:
  number, path        the file as it was published
  columns             requested, in order
  except              whether idNumber is left out
  required            columns that must be there
  added, removed      whether drift stops a column too many, or a missing one
  minRows, leastRows  fewer rows than these are too few (null: not promised)
  oldExport           the id of the export is that of another night
  endsWithBreak       the file of the night before ended with a line break
  total               a last line of one cell was released
  trailing            whether rows or header end with a separator
  rows, header        what the manifest says (null: nothing)
Writes a JSON object a line: number, rows, broken (list of sentences).
"""
import csv, gzip, io, json, re, sys, unicodedata, zipfile, zlib

csv.field_size_limit(1 << 30)
TEXT = lambda name: re.compile(name + r"\.(\d+)=[^=]*=" + name, re.S)
FORMS = {
    "id": re.compile(r"1d000000-0000-4000-8000-(\d{12})"),
    "name": TEXT("name"),
    "phone": re.compile(r"\+97257(\d{7})"),
    "email": re.compile(r"row(\d+)\.email@mail\.test"),
    "city": TEXT("city"),
    "notes": TEXT("notes"),
    "score": re.compile(r"(?<!\d)42(\d{6})(?!\d)"),
    "updated": re.compile(r"2071-\d\d-\d\d"),
    "idNumber": re.compile(r"31234(\d{4})"),
    "extra": TEXT("extra"),
}


TITLES = ["Records of the night", "Made by the CRM", "2 pages"]
# The maximum number of rows in a generated file. Millions of empty styled rows may follow.
MOST_ROWS = 5000


class Damaged(Exception):
    pass


NOTES = re.compile(r"(^|/)(__MACOSX/|\.DS_Store$|Thumbs\.db$|desktop\.ini$)")


def unpacked(data, besides):
    """The content, and whether it is a spreadsheet. What else is in an archive goes to `besides`."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Damaged(f"gzip: {error}")
    if data[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        return data, False
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        bad = archive.testzip()
    except Exception as error:
        raise Damaged(f"zip: {error}")
    if bad is not None:
        raise Damaged(f"zip: {bad} is damaged")
    names = [name for name in archive.namelist() if not name.endswith("/")]
    besides.append(archive.comment.decode("latin-1"))
    if "xl/workbook.xml" in names:
        # Removes XML tags, so that the parts of a value are adjacent.
        besides += [re.sub(r"<[^>]*>", " ", archive.read(name).decode("utf-8", "replace")) for name in names]
        besides += [archive.read(name).decode("utf-8", "replace") for name in names]
        return data, True
    inside = [name for name in names if not NOTES.search(name)]
    besides += [archive.read(name).decode("utf-8", "replace") for name in names if name not in inside]
    if len(inside) != 1:
        raise Damaged(f"an archive of {len(inside)} files")
    return unpacked(archive.read(inside[0]), besides)


def decoded(data):
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if max(even, odd) * 4 > len(data):
        return data.decode("utf-16-le" if odd > even else "utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1255", "replace")


def valued(records):
    """Cells that hold exactly one whole value."""
    whole = lambda cell: any(form.fullmatch(cell.strip()) for form in FORMS.values())
    return sum(whole(cell) for record in records for cell in record)


def records_of(text):
    named = re.match(r"sep=(.)(?:\r\n|\r|\n)", text)
    if named:
        text, separators = text[named.end():], [named.group(1)]
    else:
        separators = [",", ";", "\t"]
    read = lambda separator: [each for each in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if each]
    return max((read(separator) for separator in separators), key=valued)


def plain(case, records):
    """The records without titles, and without the empty cell after a last separator."""
    while records and records[0][0] in TITLES:
        records = records[1:]
    width = len(case["columns"])
    if not case["trailing"]:
        return records
    return [record[:-1] if len(record) == width + 1 and record[-1] == "" else record for record in records]


def sheets_of(data):
    """Every cell of every sheet, hidden ones too, and comments: the records of the first sheet, and all other texts."""
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    first, others = [], []
    for place, sheet in enumerate(book.worksheets):
        if sheet.max_row == 1_048_576 and any(cell.value for cell in sheet[sheet.max_row]):
            raise Damaged("the sheet is full")
        for row in sheet.iter_rows(max_row=min(sheet.max_row, MOST_ROWS)):
            cells = ["" if cell.value is None else text_of(cell.value) for cell in row]
            others += [cell.comment.text for cell in row if cell.comment]
            if any(cells):
                (first if place == 0 else others).append(cells if place == 0 else " ".join(cells))
    return first, "\n".join(others)


def text_of(value):
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def judge(case):
    if case["oldExport"]:
        yield "the export of another night"
    with open(case["path"], "rb") as file:
        data = file.read()
    try:
        besides = []
        content, is_sheet = unpacked(data, besides)
        text = None if is_sheet else decoded(content)
        records, others = sheets_of(content) if is_sheet else (plain(case, records_of(text)), "")
    except Damaged as error:
        yield f"damaged: {error}"
        return
    except Exception as error:
        yield f"cannot be read: {error!r}"
        return
    whole = others + "\n" + ("\n".join("\t".join(record) for record in records) if text is None else text)
    if case["except"] and any(FORMS["idNumber"].search(each) for each in [whole, *besides]):
        yield "values of the column that is left out"
    yield from judge_values(case, records, whole)
    # Outside of quotation marks, some programs read a lone carriage return as a line break, and others do not.
    doubtful = text is not None and "\n" in text and re.search(r"\r(?!\n)", re.sub(r'"[^"]*"', "", text))
    if text is not None and records:
        yield from judge_ending(case, records, text, doubtful)
    if not doubtful:
        yield from judge_manifest(case, records)


def judge_values(case, records, whole):
    found = {name: [match.group(1) if match.lastindex else "" for match in form.finditer(whole)] for name, form in FORMS.items()}
    # A value may be quoted in another program's way: a row counts if any value names it.
    rows = {int(row) for name in FORMS for row in found[name] if row}
    # Every program that reads CSV counts a header in the middle as a row.
    repeated = max(0, sum(record == records[0] for record in records) - 1) if records else 0
    case["seen"] = len(rows) + repeated
    later = [record for record in records[1:] if case["kind"] == "csv" and is_header(case, record)]
    if later:
        yield f"{len(later)} headers further down"
    for name in case["required"]:
        if rows and not found[name]:
            yield f"no values of the required column {name}"
    if rows and case["removed"]:
        for name in case["columns"]:
            if not found[name] and len(rows) > 20:
                yield f"no values of the requested column {name}"
    if case["added"]:
        for name in FORMS:
            if found[name] and name not in case["columns"]:
                yield f"values of {name}, which was not requested"
    for key in ("minRows", "leastRows"):
        if case[key] is not None and case["seen"] < case[key]:
            yield f"{case['seen']} rows, {key} {case[key]}"
    if not rows and not header_of(case, records):
        yield "no export at all"


def folded(text):
    return "".join(letter for letter in unicodedata.normalize("NFKC", text).casefold() if letter.isalnum())


def is_header(case, record):
    known = {folded(name) for column in case["names"] for name in column} | {folded("idNumber"), folded("מספר זהות")}
    cells = [folded(cell.rsplit(".", 1)[-1]) for cell in record if cell.strip()]
    return len(cells) > 0 and all(cell in known for cell in cells)


def header_of(case, records):
    """Whether the first record names requested columns, by any of the names that they have here."""
    first = [folded(cell.rsplit(".", 1)[-1]) for cell in (records[0] if records else [])]
    known = {folded(name) for column in case["names"] for name in column}
    return bool(first) and all(cell in known for cell in first if cell)


def judge_ending(case, records, text, doubtful):
    last = records[-1]
    if len(last) != len(records[0]) and not (case["total"] and len(last) == 1) and not doubtful:
        yield f"the last record has {len(last)} cells, the first {len(records[0])}"
    if case["endsWithBreak"] and text[-1] not in "\r\n":
        yield "the last line break is missing"


def judge_manifest(case, records):
    """What readers are told of the file is so."""
    body = records if case["headerless"] else records[1:]
    if case["kind"] == "csv" and case["rows"] is not None and len(body) != case["rows"]:
        yield f"the manifest says {case['rows']} rows, there are {len(body)}"
    for place, name in enumerate(case["header"] or []):
        for record in records:
            cell = record[place].strip() if place < len(record) else ""
            of = [other for other, form in FORMS.items() if form.fullmatch(cell)]
            if of and name not in of:
                yield f"the manifest says {name} above values of {of[0]}"
                break


for line in sys.stdin:
    case = json.loads(line)
    broken = list(judge(case))
    print(json.dumps({"number": case["number"], "rows": case.get("seen"), "broken": broken}), flush=True)
