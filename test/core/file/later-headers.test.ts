import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readContent } from '../../../core/file/read-content.ts';
import { encodedAs } from '../../support/encoded.ts';
import { bytesSource, reading } from '../../support/reading.ts';
import { runs } from '../../support/runs.ts';
import { smallWorkbook } from '../../support/workbook.ts';

/** Pages that mention a left-out or hashed column, but not by its name. */

const COLUMNS = ['id', 'name', 'channel', 'notes'];
const LABELS = ['מזהה', 'Name', 'Channel', 'Notes', 'City', 'Phone', 'Email'];
const HEADER = `${COLUMNS.join(',')}\n`;
const ROWS = '1,Dana,Meeting,-\n'.repeat(40);
const fields = [...COLUMNS, 'city', 'phone', 'email'].map((name, at) => ({ name, label: LABELS[at] ?? null }));
const LEFT_OUT = { columns: COLUMNS, fields, excepted: [{ name: 'nationalId', label: 'National ID' }] };
const NOTHING_HIDDEN = { columns: COLUMNS, fields };
const PHONE_LEFT_OUT = { columns: COLUMNS, fields: fields.slice(0, 5), excepted: [{ name: 'phone', label: null }] };
const CODE_HASHED = {
  columns: COLUMNS,
  fields: [...fields, { name: 'nationalId', label: null }],
  hiddenInTables: ['nationalId'],
};
const MANY_COLUMNS = [...COLUMNS, 'city', 'phone', 'email', 'x'];
const HASHED = { columns: COLUMNS, fields, hiddenInTables: ['phone'] };

async function headersIn(content: string | Uint8Array, expected: object) {
  const { facts } = await readContent(bytesSource(content), reading({ expected }));
  return { other: facts.content?.otherHeaders, leftOut: facts.content?.leftOutHeaders };
}

const quoted = (cells: readonly string[]) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

const windows1255 = (text: string) => encodedAs(text, 'windows-1255');

describe('finds a header that names a left-out column', () => {
  const headers = [
    ['with its type after a colon', ['id', 'name', 'channel', 'nationalId:string']],
    ['with its type in brackets', ['id', 'name', 'channel', 'nationalId (string)']],
    ['with a remark', ['id', 'name', 'nationalId [hidden]']],
    ['beside columns that are not listed', ['x', 'name', 'nationalId:string', 'id']],
    ['as every column, with its type', ['id:string', 'name:string', 'nationalId:string', 'notes:text']],
    ['by a label with a remark', ['מזהה (טקסט)', 'Name (text)', 'National ID (text)']],
    ['with a word before it', ['id', 'name', 'Customer national id']],
    ['as a part of a name', ['id', 'name', 'channel', 'customer_nationalId_text']],
    ['as a part of a name in capitals', ['id', 'x', 'channel', 'HolderNationalIDText']],
    ['with a number', ['name', 'id', 'nationalId2']],
    ['with a sign', ['id*', 'name*', 'nationalId*']],
    ['with its label', ['id / מזהה', 'name / שם', 'nationalId / תעודת זהות']],
    ['by two labels', ['מזהה', 'National ID']],
    ['in two cells', ['id', 'nationalId:string']],
    ['in two cells, with a word', ['id', 'National ID no.']],
    ['in brackets', ['[id]', '[name]', '[nationalId]']],
    ['in brackets, beside plain names', ['id', '[name]', '<nationalId>']],
    ['alone in brackets', ['[nationalId]']],
    ['numbered', ['1) id', '2) name', '3) nationalId']],
    ['numbered, before another word', ['1) lead_id', '2) lead_name', '3) lead_nationalId']],
    ['numbered behind another word', ['lead_id 1', 'lead_name 2', 'lead_nationalId 3']],
    ['before a word and signs', ['id_lead ▾', 'name_lead •', 'nationalId_lead ◊']],
    ['lettered', ['a. id', 'b: name', 'c. nationalId']],
    ['numbered behind', ['id_1', 'name_2', 'nationalId_3']],
    ['by labels, numbered after a word', ['col1: מזהה', 'col2: Name', 'col3: National ID']],
    ['by labels, numbered', ['1) מזהה', '2) Name', '3) National ID']],
    ['after a word, beside an empty cell', ['lead_id', 'lead_name', 'lead_nationalId', '']],
    ['in two cells, numbered, in capitals', ['ID 1', 'NATIONALID 2']],
    ['numbered, after a word', ['col9_id', 'col10_name', 'col11_nationalId']],
    ['after the name of the entity, with a note', ['lead_id', 'lead_name', `lead_nationalId (${'x'.repeat(500)})`]],
    ['after it in small letters', ['leadid', 'leadname', 'leadnationalid']],
    ['after it in humps, beside columns that are not listed', ['leadId', 'leadX', 'leadNationalId']],
    ['by labels after it', ['Lead: מזהה', 'Lead: Name', 'Lead: National ID']],
    ['by labels before a sign', ['מזהה ▾', 'Name ▾', 'National ID ▾']],
    ['in two cells, after a word', ['lead.id', 'lead.nationalId']],
    ['under a new name, beside columns in their places', ['id', 'name', 'channel', 'SSN']],
    ['under a new name, in capitals', ['ID', 'Name', 'CHANNEL', 'Identity card']],
    ['under a new name, beside columns in their places in other words', ['מזהה', 'NAME', 'channel (text)', 'SSN']],
    ['in other letters', ['id', 'name', 'channel', 'nationalI\u0307d']],
    ['in Turkish capitals', ['X', 'NAME', 'NATİONALİD']],
    ['above its label', ['id\nמזהה', 'name\nשם', 'nationalId\nתעודת זהות']],
    ['below its label', ['מזהה\nid', 'Name\nname', 'National ID\nnationalId']],
    ['with its type in a second line', ['מזהה\n(מספר)', 'Name\r\n(text)', 'National ID\n(9 digits)']],
    ['under a new name, beside two columns in their places', ['id', 'name', 'SSN']],
    ['under a new name, beside two names in capitals', ['ID', 'NAME', '', 'Identity card']],
    ['under a new name, beside two labels in their places', ['מזהה', 'Name', 'Identity card']],
  ] as const;

  test.each(headers)('%s', async (_, cells) => {
    const below = `${quoted(cells)}\n${cells.map(() => '1').join(',')}\n`;

    expect(await headersIn(HEADER + ROWS + below, LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(HEADER + ROWS + below, { columns: COLUMNS, fields })).toMatchObject({ leftOut: 0 });
  });

  test.each([
    ['soft hyphens', 'cu\u00adsto\u00admer_', '_hall'],
    ['decomposed accents', 'e\u0301te\u0301_', '_hall'],
    ['ligatures', 'o\ufb03ce: ', ' hall'],
    ['letters whose capitals are two', 'Gro\u00df-Stra\u00dfe ', ' hall'],
  ])('between texts with %s', async (_, before, after) => {
    const names = ['nationalId', 'name', 'id'];

    for (const cells of [names.map((name) => before + name), names.map((name) => before + name + after)])
      expect(await headersIn(`${HEADER}${ROWS}${quoted(cells)}\n`, LEFT_OUT), cells[0]).toEqual({
        other: 1,
        leftOut: 1,
      });
  });

  test('in a sheet, and in a page with another separator', async () => {
    const cells = ['id', 'name', 'channel', 'nationalId (string)'];
    const rows = Array.from({ length: 5 }, () => ['1', 'Dana', 'Meeting', '-']);

    const found = { other: 1, leftOut: 1 };
    expect(await headersIn(smallWorkbook([COLUMNS, ...rows, cells, ...rows]), LEFT_OUT)).toEqual(found);
    expect(await headersIn(`${HEADER}${ROWS}${cells.join(';')}\n`, LEFT_OUT)).toEqual(found);
  });

  test.each<[string, string]>([
    ['in quotation marks as a whole', '"id,name,nationalId"'],
    ['in quotation marks, with another separator', '"id;name;nationalId"'],
    ['with another separator, and a comma', 'id;name;nationalId;"x, y"'],
    ['with carets', 'id^name^nationalId'],
    ['with two blanks or more', 'id  name    nationalId'],
    ['with semicolons, after signs', '$id;$name;$nationalId'],
    ['with any sign', 'id § name § National ID'],
    ['with wide commas', 'id，name，National ID'],
    ['with control characters', 'id\x1fname\x1fNational ID'],
    ['in quotation marks with its rows', '"id,name,National ID\n1,Dana,312340001"'],
    ['in quotation marks with many rows', `"id,name,National ID\n${'1,Dana,312340001\n'.repeat(5000)}"`],
    ['with line breaks of another kind', 'id,name,National ID\r1,Dana,312340001\r'],
    ['with line breaks and a separator of another kind', 'id;name;National ID\r1;Dana;312340001\r'],
    ['alone, with line breaks of another kind', 'nationalId\r312340001'],
    ['by name in a row of JSON', '{"id":1,"nationalId":"312340001"}'],
    ['by name in a row of JSON as wide as the file', '{"id":1,"name":"Dana","a":2,"nationalId":"312340001"}'],
    ['by label in a list of JSON as wide as the file', '[{"id":1,"National ID":"312340001"},{"id":2,"a":3}]'],
    ['by label in a narrow row of JSON', '{"id":1,"National ID":"312340001"}'],
    ['by name before its values', 'nationalId,312340001'],
    ['with line breaks of another kind, as wide as the file', 'x,y,nationalId\r1,Dana'],
    ['by name in a cell of JSON without quotation marks around it', "7,Dana,Meeting,{'nationalId': 312340001}"],
  ])('in a record of another form: %s', async (_, record) => {
    const text = `${HEADER}${ROWS}${record}\n${ROWS}`;

    expect(await headersIn(text, LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(text, { columns: COLUMNS, fields })).toEqual({ other: 0, leftOut: 0 });
  });

  test.each<[string, (text: string) => Buffer, (text: string) => Buffer]>([
    ['in a page in UTF-8 below rows in windows-1255', windows1255, (text) => Buffer.from(text)],
    ['in a page in windows-1255 below rows in UTF-8', (text) => Buffer.from(text), windows1255],
  ])('%s', async (_, encoded, otherwise) => {
    const rows = encoded(HEADER + '1,דנה לוי,Meeting,-\n'.repeat(40));
    const bytes = [rows, otherwise('id,name,תעודת זהות\n1,Dana,312340001\n'), Buffer.from(ROWS)];
    const expected = { ...LEFT_OUT, excepted: [{ name: 'nationalId', label: 'תעודת זהות' }] };

    expect(await headersIn(Buffer.concat(bytes), expected)).toEqual({ other: 1, leftOut: 1 });
  });

  test.each<[string, string]>([
    ['a page', 'id,name,nationalId\n1,Dana,312340001'],
    ['a page of labels below a note', 'all of them:\r\nמזהה;Name;National ID\r\n1;דנה;312340001\r\n'],
    ['a page in quotation marks', '"id","name","nationalId"\n"1","Dana","312340001"'],
    ['a page with capitals', 'ID\tNAME\tNATIONAL_ID\n1\tDana\t312340001'],
    ['a page with bars', 'id|name|nationalId\n1|Dana|312340001'],
    ['XML', '<lead><id>1</id><nationalId>312340001</nationalId></lead>'],
    ['JSON', '{"id":1,"nationalId":"312340001"}'],
    ['JSON in a list', '[{"a": {"national_id" : 312340001}}]'],
    ['JSON in a text of JSON', '{"body":"{\\"nationalId\\":312340001}"}'],
    ['JSON with a label', "{'National ID': 312340001}"],
    ['JSON of several lines', '{\n  "id": 1,\n  "nationalId": 312340001\n}'],
    ['JSON with escaped letters', '{"a":1,"national\\u0049d":"312340001"}'],
    ['JSON with escaped letters in a text of JSON', '{"a":"{\\"National \\\\u0049D\\":1}"}'],
    ['an attribute of XML', '<lead id="1" nationalId="312340001"/>'],
    ['JSON in JSON in a text of JSON', '{"a":"{\\"b\\":\\"{\\\\\\"nationalId\\\\\\":1}\\"}"}'],
  ])('inside one cell of a whole record: %s', async (_, cell) => {
    const record = ['7', 'Dana', 'Email', cell];
    const sheet = smallWorkbook([COLUMNS, ['1', 'Dana', 'Meeting', '-'], record, ['1', 'Dana', 'Meeting', '-']]);

    for (const file of [`${HEADER}${ROWS}${quoted(record)}\n${ROWS}`, sheet]) {
      expect(await headersIn(file, LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
      expect(await headersIn(file, { columns: COLUMNS, fields })).toEqual({ other: 0, leftOut: 0 });
    }
  });

  test('inside one cell, at any place of it', async () => {
    const keys = Array.from({ length: 16 }, (_, blanks) => `{${' '.repeat(blanks)}"nationalId":1}`);
    const records = keys.map((cell) => `${quoted(['7', 'Dana', 'Email', cell])}\n`);

    expect(await headersIn(HEADER + ROWS + records.join(''), LEFT_OUT)).toEqual({ other: 16, leftOut: 16 });
  });

  test.each<[name: string, label: string | null, key: string]>([
    ['birthdate', 'Date', 'birthDate'],
    ['birthdate', null, 'birth_date'],
    ['taxid', null, 'TAX_ID'],
    ['id2', null, 'ID_2'],
    ['x', null, 'X'],
    ['name2', 'ת.ז', 'ת״ז'],
    ['name2', 'Straße', 'Straße'],
    ['name2', 'Größe', 'GRÖSSE'],
    ['name2', 'имя отца', 'Имя Отца'],
  ])('inside one cell as a key of JSON: %s, %s as %s', async (name, label, key) => {
    const expected = { columns: COLUMNS, fields, excepted: [{ name, label }] };
    const text = `${HEADER}${ROWS}${quoted(['7', 'Dana', 'Email', `{"${key}":1}`])}\n`;

    expect(await headersIn(text, expected)).toEqual({ other: 1, leftOut: 1 });
  });

  test('inside one cell as a key of JSON in escaped Hebrew letters', async () => {
    const expected = { ...LEFT_OUT, excepted: [{ name: 'nationalId', label: 'תעודת זהות' }] };
    const key = Array.from('תעודת זהות', (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const cell = `{"${key.join('')}":312340001}`;

    for (const record of [quoted(['7', 'Dana', 'Email', cell]), cell])
      expect(await headersIn(`${HEADER}${ROWS}${record}\n`, expected)).toEqual({ other: 1, leftOut: 1 });
  });

  test('inside one cell as a key of JSON in windows-1255: a label of single letters', async () => {
    const expected = { ...LEFT_OUT, excepted: [{ name: 'nationalId', label: 'ת.ז' }] };
    const text = `${HEADER}${'1,דנה,Meeting,-\n'.repeat(40)}${quoted(['7', 'דנה', 'Email', '{"תז":1}'])}\n`;

    expect(await headersIn(windows1255(text), expected)).toEqual({ other: 1, leftOut: 1 });
  });

  test.each<[string, string]>([
    ['a note of several lines', 'missing:\nname, national ID, phone\nplease call, soon'],
    ['a note with two lists', 'missing: name, national ID, phone\nask on Monday, on Tuesday, or later'],
    ['a template with a label', 'Dear {name}, see "National ID": it is missing'],
    ['names in a line', 'id,name,nationalId'],
    ['a page of other columns', 'id,name,city\n1,Dana,Haifa'],
    ['JSON of other keys', '{"id":1,"note":"nationalId: missing","name":{"a":1}}'],
    ['JSON of keys that begin alike', '{"national_team":1}'],
    ['a line of names above other text', 'id,name,nationalId\nplease call'],
    ['two lines of as many words', 'missing;national ID;x\n1;2;3'],
    ['a note in braces', '{nationalId}\nis missing, see "nationalId"'],
    ['a template with a name in angle brackets', 'Dear <b>customer</b>, <nationalId> is missing'],
  ])('but not in an ordinary cell: %s', async (_, cell) => {
    const text = `${HEADER}${ROWS}${quoted(['7', 'Dana', 'Email', cell])}\n${ROWS}`;

    expect(await headersIn(text, LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
  });

  test.each(['id;name;National ID', 'id\tname\tNational ID\n1\tDana\t312340001'])(
    'in one cell of a sheet: %j',
    async (text) => {
      const rows = [['1', 'Dana', 'Meeting', '-'], [text], ['1', 'Dana', 'Meeting', '-']];

      expect(await headersIn(smallWorkbook([COLUMNS, ...rows]), LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
      expect(await headersIn(smallWorkbook([COLUMNS, ...rows]), { columns: COLUMNS, fields })).toEqual({
        other: 0,
        leftOut: 0,
      });
    },
  );

  test.each<[string, object, string]>([
    ['with one label', LEFT_OUT, '7,Dana,National ID,-'],
    ['without letters', LEFT_OUT, '\u115f,\u115f'],
    ['after an empty line, with one label', LEFT_OUT, '\nNational ID,Dana'],
    ['after an empty line, with other labels', LEFT_OUT, '\nName,Channel'],
    ['with some names of its columns', { ...LEFT_OUT, columns: MANY_COLUMNS }, '1,name,channel,notes,4,5,6,7'],
    ['with names of its columns', NOTHING_HIDDEN, 'id,name,channel,SSN'],
    ['with two names and empty cells', NOTHING_HIDDEN, 'name,id,,'],
    ['with the names of all columns but the first', NOTHING_HIDDEN, '7,Name,Channel,Notes'],
    ['whose first cell ends with a name', NOTHING_HIDDEN, 'paid,Dana,Meeting,-'],
    ['of two columns, whose first cell ends with a name', { ...NOTHING_HIDDEN, columns: ['id', 'name'] }, 'paid,name'],
  ])('but not in an ordinary row %s', async (_, expected, row) => {
    const { columns } = { columns: COLUMNS, ...expected };
    const text = `${columns.join(',')}\n${columns.join(',').replace(/\w+/g, 'x')}\n${row}\n`;

    expect(await headersIn(text, expected)).toEqual({ other: 0, leftOut: 0 });
  });

  test.each<[string, object, string, object]>([
    ['a word alone, with line breaks of another kind', PHONE_LEFT_OUT, 'phone\r0501234567\r', { other: 1, leftOut: 1 }],
    ['a code that tables hash', CODE_HASHED, 'nationalId\r312340001\r', { other: 1, leftOut: 0 }],
    ['a word as a key of JSON', PHONE_LEFT_OUT, '7,Dana,Email,{"phone":1}', { other: 0, leftOut: 0 }],
  ])('by %s', async (_, expected, record, counts) => {
    expect(await headersIn(`${HEADER}${ROWS}${record}\n`, expected)).toEqual(counts);
  });

  test('in a row of a sheet with two names', async () => {
    const sheet = smallWorkbook([COLUMNS, ['1', 'Dana', 'Meeting', '-'], ['name', 'id']]);

    expect(await headersIn(sheet, NOTHING_HIDDEN)).toEqual({ other: 1, leftOut: 0 });
  });

  test.each(['National ID', 'National ID,מזהה'])('by %s alone after empty lines', async (record) => {
    const below = `${record}\n312340001\n`;

    expect(await headersIn(`${HEADER}${ROWS}\n\n${below}`, LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(`${HEADER}${ROWS}${below}`, LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
  });

  test.each(['', ',,,', ',', ' ', '"",""," ",""', '-,-,-,-'])('alone below the empty line %j', async (line) => {
    const below = 'National ID,,,\n312340001,,,\n';

    expect(await headersIn(`${HEADER}${ROWS}${line}\n${below}`, LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(`${HEADER}${line}\n${ROWS}${below}`, LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
  });

  test.each([[[]], [[' ']], [['-', '', '-']]])('alone below the empty row %j of a sheet', async (empty) => {
    const row = ['1', 'Dana', 'Meeting', '-'];
    const below = [['National ID'], ['312340001']];

    expect(await headersIn(smallWorkbook([COLUMNS, row, empty, ...below]), LEFT_OUT)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(smallWorkbook([COLUMNS, empty, row, ...below]), LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
  });

  test('in brackets, by a name that is a word', async () => {
    const expected = { ...LEFT_OUT, excepted: [{ name: 'owner', label: null }] };

    expect(await headersIn(`${HEADER}${ROWS}[owner]\n`, expected)).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(`${HEADER}${ROWS}1,Dana,Meeting,[owner]\n`, expected)).toEqual({ other: 0, leftOut: 0 });
  });

  test('in a file of one column, with another separator', async () => {
    const text = `notes\n${'a\n'.repeat(40)}id;name;nationalId\n`;

    expect(await headersIn(text, { ...LEFT_OUT, columns: ['notes'] })).toEqual({ other: 1, leftOut: 1 });
  });

  test('and, beside left-out columns, a hashed one and a column that is not listed', async () => {
    const below = 'x,name,phone (text)\n';

    expect(await headersIn(HEADER + ROWS + below, { ...LEFT_OUT, ...HASHED })).toEqual({ other: 1, leftOut: 1 });
    expect(await headersIn(HEADER + ROWS + below, HASHED)).toEqual({ other: 1, leftOut: 0 });
  });
});

describe('counts a record once, and as repeated only if readers of records drop it', () => {
  const hidden = { columns: ['id', 'name', 'status'], hiddenInTables: ['name'] };
  test.each<[string, string, number]>([
    ['the header with another separator', 'id,name,status\n1,a,b\nid;name;status\n2;c;d\n', 3],
    ['the header with several separators', 'id,name,status\n1,a,b\n"id;  |name;  |status"\n', 2],
    ['the header in quotation marks', 'id,name,status\n1,a,b\n"id,name,status"\n', 2],
    ['a name with a sign that separates', 'id,name,status\n1,a,b\nname:\n', 2],
  ])('%s', async (_, text, rows) => {
    const { facts } = await readContent(bytesSource(text), reading({ expected: hidden }));

    expect(facts).toMatchObject({ rows, content: { repeatedHeaders: 0, otherHeaders: 1 } });
  });

  test('the header in another encoding than the file', async () => {
    const page = `מזהה,Name,Channel,Notes\n${'1,דנה,Meeting,-\n'.repeat(40)}`;
    const bytes = Buffer.concat([Buffer.from(page), windows1255(page)]);
    const expected = { columns: COLUMNS, fields };
    const { facts } = await readContent(bytesSource(bytes), reading({ expected }));

    expect(facts).toMatchObject({ rows: 81, content: { repeatedHeaders: 0, otherHeaders: 1 } });
  });

  test('the header of one column, with a separator after it', async () => {
    const expected = { columns: ['name'], hiddenInTables: ['name'] };
    const { facts } = await readContent(bytesSource('name\na\nname;\nb\n'), reading({ expected }));

    expect(facts).toMatchObject({ rows: 2, content: { repeatedHeaders: 1, otherHeaders: 0 } });
  });
});

describe('takes ordinary rows for no header', () => {
  test.each<[string, string[]]>([
    ['a note about the column', ['7', 'Dana', 'Email', 'called about national id']],
    ['a note that begins with it', ['7', 'Dana', 'Email', 'National ID: missing']],
    ['a note beside two labels', ['7', 'Email', 'City', 'asked for national ID']],
    ['two cells', ['Email', 'called about national id']],
    ['a cell', ['nationalId: unknown', '', '', '']],
    ['a list in a narrow record', ['', 'Email, City, called about national id']],
    ['two labels, of another place', ['Email', 'National ID']],
    ['three labels, in a narrow record', ['City', 'Email', 'called about national id']],
    ['a value after the name', ['Dana', 'Email', 'City', 'nationalId:312340001']],
    ['two cells of the header', ['id', 'name', 'Email', 'Dana']],
    ['two cells of the header, and a number', ['7', 'Name', 'Channel']],
    ['three cells of the header in other places', ['name', 'channel', 'Dana', 'notes']],
    ['times', ['10:30', '11:45', '12:00', 'national id']],
    ['brackets', ['7', 'Dana (owner)', 'Email', 'Phone (home), national id (copy)']],
    ['cells that begin with one letter', ['Email', 'Emma', 'Eilat', 'Every national id']],
    ['cells that begin with one word', ['My email', 'My name', 'My notes on the national id']],
    ['cells that end alike', ['Email (home)', 'Phone (home)', 'asked for a national id (home)', '-']],
    ['labels beside an empty cell', ['City', '', 'Email', 'Phone']],
    ['labels in brackets', ['[Email]', '[City]', '-', '[about the national id]']],
  ])('%s', async (_, cells) => {
    expect(await headersIn(`${HEADER}${ROWS}${quoted(cells)}\n`, LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
  });

  test.each(['email/phone', 'email - phone', '@phone, later'])('in a narrow record: %s', async (note) => {
    expect(await headersIn(`${HEADER}${ROWS}"${note}"\n`, HASHED)).toEqual({ other: 0, leftOut: 0 });
  });

  test('with any labels and notes beside an id', async () => {
    const word = fc.constantFrom('Email', 'City', 'Name', 'Notes', 'Phone', 'מזהה', 'name (x)', 'Email: none', '', 'a');
    const note = fc.constantFrom('about the national id', 'nationalId:1', 'National ID (copy)', 'my_nationalId', 'נ');
    const row = fc.tuple(fc.integer({ min: 1 }).map(String), fc.constantFrom('Dana', 'Email', 'City'), word, note);
    const file = fc.array(
      fc.oneof(
        row,
        row.map(([id, , ...cells]) => [id, 'Dana Levi', ...cells]),
      ),
      { maxLength: 9 },
    );

    await fc.assert(
      fc.asyncProperty(file, async (rows) => {
        expect(await headersIn(HEADER + rows.map(quoted).join('\n'), LEFT_OUT)).toEqual({ other: 0, leftOut: 0 });
      }),
      { numRuns: runs(300) },
    );
  });
});
