import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fieldIndex, type ListedFields, listedFields } from '../../../core/columns/header.ts';
import { run } from '../../support/builders.ts';
import { runs } from '../../support/runs.ts';

/** `idNumber` is left out; the others are requested. */
const FIELDS = [
  { name: 'id', label: 'מזהה' },
  { name: 'firstName', label: 'שם פרטי' },
  { name: 'idNumber', label: 'מספר זהות' },
  { name: 'cell_phone', label: 'טלפון נייד' },
  { name: 'status', label: 'Status' },
];
const COLUMNS = ['id', 'firstName', 'cell_phone', 'status'];
const EXCEPTED = [{ name: 'idNumber', label: 'מספר זהות' }];

const index = (given: Partial<ListedFields> = {}) =>
  fieldIndex({ columns: COLUMNS, fields: FIELDS, excepted: EXCEPTED, labels: {}, ...given });
const read = (cells: string[], given: Partial<ListedFields> = {}) => index(given).readHeader(cells);

const GOOD = { excepted: 0, unlisted: [], unnamed: [] };

describe('readHeader returns the names of the columns for a header of', () => {
  test.each([
    ['names', COLUMNS],
    ['labels', ['מזהה', 'שם פרטי', 'טלפון נייד', 'Status']],
    ['names and labels', ['id', 'שם פרטי', 'cell_phone', 'status']],
    ['names in capitals', ['ID', 'FIRSTNAME', 'CELL_PHONE', 'STATUS']],
    ['separate words', ['Id', 'First name', 'Cell-Phone', ' status ']],
    ['names in quotation marks', ['"id"', "'firstName'", '״cell_phone״', '`status`']],
    ['names after a byte order mark', ['\uFEFFid', 'firstName', 'cell_phone', 'status']],
    ['labels with direction marks', ['\u200Fמזהה', 'שם פרטי\u200E', '\u202Bטלפון נייד\u202C', 'status']],
    ['labels with colons', ['מזהה:', 'שם פרטי:', 'טלפון נייד:', 'Status:']],
    ['paths', ['lead.id', 'lead.firstName', 'lead.contact.cellPhone', 'lead.Status']],
    ['names in full-width letters', ['ｉｄ', 'ｆｉｒｓｔＮａｍｅ', 'ｃｅｌｌ＿ｐｈｏｎｅ', 'ｓｔａｔｕｓ']],
  ])('%s', (_, cells) => {
    expect(read(cells)).toEqual({ names: COLUMNS, listed: 4, ...GOOD });
    expect(cells.every(index().isListed)).toBe(true);
  });

  test('a path with an exact name at its end, though another column has it as a label in another letter case', () => {
    const fields = [...FIELDS, { name: 'stage', label: 'STATUS' }];

    expect(read(['lead.status'], { fields })).toMatchObject({ names: ['status'], listed: 1, ...GOOD });
  });

  test('fewer columns than requested, in another order', () => {
    expect(read(['Status', 'ID'])).toMatchObject({ names: ['status', 'id'], listed: 2, ...GOOD });
  });
});

describe('a text that means a left-out column is counted', () => {
  test.each([
    ['its name', 'idNumber'],
    ['its name in another letter case', 'IDNUMBER'],
    ['its name with separators', 'id_number'],
    ['its name after a path', 'lead.idNumber'],
    ['its name after a path, in full-width letters', 'ｌｅａｄ．ｉｄＮｕｍｂｅｒ'],
    ['its label', 'מספר זהות'],
    ['its label with a colon', 'מספר זהות:'],
    ['its label after a direction mark', '\u200Fמספר זהות'],
    ['its name with a soft hyphen', 'id\u00ADNumber'],
    ['its name between quotation marks', '"idNumber"'],
  ])('%s', (_, cell) => {
    expect(read([cell, 'firstName'])).toEqual({ names: null, listed: 1, unlisted: [], excepted: 1, unnamed: [] });
    expect(index().isListed(cell)).toBe(true);
  });

  test('a text that columns.labels maps to it', () => {
    expect(read(['ת.ז.'], { labels: { 'ת.ז.': 'idNumber' } })).toMatchObject({ excepted: 1, names: null });
    expect(read(['ת.ז.'], { labels: { 'ת.ז.': 'ID_number' } })).toMatchObject({ excepted: 1, names: null });
  });

  test('the name of a requested column that columns.labels maps to it', () => {
    expect(read(['id', 'status'], { labels: { status: 'idNumber' } })).toMatchObject({ excepted: 1, names: null });
  });

  test('a column that was requested and is left out now', () => {
    for (const cell of ['idNumber', ' idNumber'])
      expect(read([cell, 'id'], { columns: ['idNumber', 'id'] })).toMatchObject({ excepted: 1, listed: 1 });
  });

  test('a text that may mean it or another column, but not the exact name of the other column', () => {
    const given = { columns: ['id_number'], fields: [...FIELDS, { name: 'id_number', label: 'מספר זהות' }] };

    expect(read(['id_number'], given)).toMatchObject({ names: ['id_number'], excepted: 0 });
    expect(read(['', 'id_number'], given)).toMatchObject({ names: ['', 'id_number'], excepted: 0 });
    expect(read(['מספר זהות'], given)).toMatchObject({ names: ['id_number'], excepted: 0 });
    expect(read(['ID_NUMBER'], given)).toMatchObject({ names: null, excepted: 1 });
    expect(read(['מספר זהות:'], given)).toMatchObject({ names: null, excepted: 1 });
    expect(read(['x', 'מספר זהות'], given)).toMatchObject({ names: null, excepted: 1 });
  });

  test('a name that differs from a requested one only by a blank', () => {
    const given = { columns: ['idNumber'], excepted: [{ name: 'idNumber ', label: null }] };

    expect(read(['idNumber '], given)).toMatchObject({ names: null, excepted: 1 });
    expect(read(['idNumber'], given)).toMatchObject({ names: ['idNumber'], excepted: 0 });
  });
});

test('a left-out column is found by a label without letters', () => {
  expect(read(['id', '-'], { excepted: [{ name: 'x', label: '-' }] })).toMatchObject({ names: null, excepted: 1 });
});

describe('a path that contains a left-out column is counted', () => {
  const given = { columns: ['id', 'email', 'name'], fields: [], excepted: [{ name: 'owner', label: 'בעלים' }] };

  test.each(['owner.email', 'Owner.Email', 'lead.owner.email', 'OWNER.name.email', 'בעלים.email', 'email.owner'])(
    '%s',
    (cell) => {
      expect(read(['id', cell], given)).toMatchObject({ names: null, listed: 1, unlisted: [], excepted: 1 });
    },
  );

  test.each(['owners.0.email', 'ownerInfo.email', 'lead.account_owner.email', 'OWNER_2.EMAIL', 'בעלים-ראשי.email'])(
    'as a word: %s',
    (cell) => {
      expect(read(['id', cell], given)).toMatchObject({ names: null, excepted: 1 });
      expect(read(['id', 'ownership.email'], given)).toMatchObject({ names: ['id', 'email'], excepted: 0 });
    },
  );

  test('even if its parts together spell another column', () => {
    const both = { ...given, columns: ['id', 'ownerEmail'] };

    expect(read(['id', 'owner.email'], both)).toMatchObject({ names: null, excepted: 1 });
    expect(read(['id', 'Owner email'], both)).toMatchObject({ names: ['id', 'ownerEmail'], excepted: 0 });
  });

  test('unless the whole text is listed, or columns.labels maps it', () => {
    const listed = { ...given, columns: ['id', 'owner.email'] };

    expect(read(['owner.email', 'id'], listed)).toMatchObject({ names: ['owner.email', 'id'], excepted: 0 });
    expect(read(['Owner.Email', 'id'], listed)).toMatchObject({ names: ['owner.email', 'id'], excepted: 0 });
    const found = read(['owner.email'], { ...given, labels: { 'owner.email': 'email' } });
    expect(found).toMatchObject({ names: ['email'], excepted: 0 });
  });

  test('a path through another column means no listed column', () => {
    const fields = [{ name: 'agent', label: 'סוכן' }];

    expect(read(['agent.email', 'lead.agent.email', 'סוכן.email'], { ...given, fields })).toMatchObject({
      names: null,
      listed: 0,
      excepted: 0,
      unlisted: ['agent.email', 'lead.agent.email', 'סוכן.email'],
    });
    expect(read(['lead.email'], { ...given, fields }).names).toEqual(['email']);
  });

  test.each(['lead.email', 'Leads.Email', 'lead.contact.email'])(
    'the kind of the records in front names no column, unless it is left out: %s',
    (cell) => {
      const lead = { name: 'lead', label: 'ליד' };
      const listed = { ...given, entity: 'leads' as const, fields: [lead, { name: 'leads', label: null }] };

      expect(read([cell], listed).names).toEqual(['email']);
      expect(read([cell], { ...listed, excepted: [lead, { name: 'leads', label: null }] })).toMatchObject({
        excepted: 1,
      });
    },
  );
});

describe('a text that columns.labels maps to null', () => {
  const labels = { 'Export note': null, idNumber: null, 'note.idNumber': null, Status: null };

  test('is known, and belongs to no column', () => {
    const found = read(['id', 'export NOTE'], { labels });
    expect(found).toMatchObject({ names: ['id', ''], listed: 1, unlisted: [], excepted: 0, unnamed: [] });
    expect(index({ labels }).isListed('Export note')).toBe(true);
  });

  test('still counts as a left-out or listed column if it means one', () => {
    expect(read(['idNumber', 'note.idNumber', 'STATUS'], { labels })).toMatchObject({ excepted: 2, listed: 1 });
  });
});

describe('readHeader does not guess', () => {
  test('if two columns differ only by separators, only the exact name means one of them', () => {
    const given = { columns: ['phone1', 'phone_1'], fields: [], excepted: [] };

    expect(read(['phone1', 'phone_1'], given).names).toEqual(['phone1', 'phone_1']);
    expect(read(['Phone1', 'phone_1'], given)).toMatchObject({ names: null, listed: 1, unlisted: ['Phone1'] });
    expect(index(given).isListed('PHONE-1')).toBe(false);
  });

  test('if two columns share a label, the label means the column at its position, or none', () => {
    const columns = ['a', 'b'];
    const given = { columns, fields: columns.map((name) => ({ name, label: 'שם' })), excepted: [] };

    expect(read(['שם', 'שם'], given)).toMatchObject({ names: ['a', 'b'], listed: 2 });
    expect(read(['x', 'y', 'שם'], given)).toMatchObject({ names: null, listed: 1, unlisted: ['x', 'y'] });
    expect(read(['a', 'x', 'שם'], { ...given, labels: { x: 'a', שם: 'b' } }).names).toEqual(['a', 'a', 'b']);
  });

  test('a listed name may contain a dot, and a dot at the end of a text is ignored', () => {
    const given = { columns: ['agent.id', 'id'], fields: [], excepted: [] };

    expect(read(['agent.id', 'id'], given).names).toEqual(['agent.id', 'id']);
    expect(read(['id.', '.', 'agent.'], given)).toMatchObject({ listed: 1, unlisted: ['.', 'agent.'] });
  });

  test('a cell without visible characters has no name', () => {
    const found = read(['id', '', ' \t', '\u200F\u00AD']);
    expect(found).toMatchObject({ names: ['id', '', '', ''], unlisted: [], unnamed: [1, 2, 3] });
  });

  test('a text of columns.labels means a field only if the CRM lists that field', () => {
    const labels = { 'מס׳ נייד': 'cell_phone', 'Client state': 'STATUS', Town: 'city' };

    expect(read(['מס׳ נייד', 'client_state', 'Town'], { labels })).toMatchObject({ listed: 2, unlisted: ['Town'] });
    expect(read(['מס נייד', 'CLIENT STATE'], { labels }).names).toEqual(['cell_phone', 'status']);
  });
});

const separators = ['_', '-', ' ', '\u00A0', '־', '\u2013'];
const invisible = ['\u00AD', '\u200E', '\u200F', '\u200B', '\u2060', '\uFEFF', '\u061C', '\u2068'];
const wide = (text: string) =>
  text.replace(/[!-~]/g, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0));
const put = (text: string, place: number, what: string) =>
  text.slice(0, place % (text.length + 1)) + what + text.slice(place % (text.length + 1));

const text = fc.constantFrom('idNumber', 'מספר זהות');
const DISGUISES: Record<string, fc.Arbitrary<string>> = {
  'a path': fc.tuple(fc.stringMatching(/^[a-z.]{1,12}$/), text).map(([path, name]) => `${path}.${name}`),
  'a note after it': fc.tuple(text, fc.constantFrom('(text)', '[string]', '*', '#2')).map((parts) => parts.join(' ')),
  'a colon': fc.tuple(text, fc.constantFrom(':', ' :', '：')).map((parts) => parts.join('')),
  'invisible marks': fc
    .tuple(text, fc.nat(20), fc.constantFrom(...invisible))
    .map(([name, place, mark]) => put(name, place, mark)),
  'full-width letters': text.map(wide),
  'no name': fc.constantFrom('', ' ', ...invisible),
  'letter case': fc.constantFrom('IDNUMBER', 'idnumber', 'IdNumber', 'Id Number'),
  'other separators': fc
    .tuple(text, fc.nat(20), fc.constantFrom(...separators))
    .map(([name, place, between]) => put(name, place, between)),
};

describe('a disguised left-out column is never among the names of a header', () => {
  test.each(Object.entries(DISGUISES))('%s', (_, disguise) => {
    fc.assert(
      fc.property(disguise, disguise, fc.nat(4), (one, other, place) => {
        const cells = [...COLUMNS.slice(0, place), [...new Set([one, other])].join(''), ...COLUMNS.slice(place)];
        for (const cell of [one, other, cells[place] ?? '']) {
          for (const header of [COLUMNS.with(place % 4, cell), COLUMNS.toSpliced(place, 0, cell)]) {
            const found = read(header);
            const told = found.excepted + found.unlisted.length + found.unnamed.length;
            expect({ header, told, names: found.names?.includes(cell) ?? false }).toMatchObject({
              told: 1,
              names: cell === '',
            });
          }
        }
      }),
    );
  });

  test('isListed and unlisted agree for any text', () => {
    const any = fc.oneof(fc.string(), ...Object.values(DISGUISES), fc.constantFrom(...COLUMNS, 'מזהה', 'lead.status'));
    fc.assert(
      fc.property(any, (cell) => {
        const { listed, excepted, unlisted, unnamed } = read(['id', cell]);
        expect(listed + excepted + unlisted.length + unnamed.length).toBe(2);
        expect(index().isListed(cell)).toBe(listed + excepted === 2);
      }),
      { numRuns: runs(2000) },
    );
  });
});

test('listedFields of a run contains its columns, mapped labels, and left-out columns that are not listed', () => {
  const excepted = [{ entry: 'nationalId', name: 'nationalId', label: 'ת"ז' }];

  const index = fieldIndex(listedFields(run({ excepted }), { 'Full name': 'name' }));
  const found = index.readHeader(['id', 'FULL NAME', 'ת״ז']);

  expect(found).toMatchObject({ listed: 2, excepted: 1, unlisted: [] });
});
