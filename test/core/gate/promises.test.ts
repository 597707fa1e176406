import { expect, test } from 'vitest';
import type { Content, Facts } from '../../../core/gate/facts.ts';
import { isReleasable, passGate, stoppedText } from '../../../core/gate/gate.ts';
import { failedChecks } from '../../../core/gate/report.ts';
import { type History, NO_HISTORY } from '../../../core/gate/subject.ts';
import { deployment } from '../../support/builders.ts';
import { factsOf, historyOf, night, subjectOf } from '../../support/gate.ts';

type Given = Parameters<typeof subjectOf>[1];

/** The checks that stop a file, whether a person may release it, and the sentence. */
function judged(facts: Facts, given?: Given) {
  const { report, remarks, facts: known } = passGate(subjectOf(facts, given), true);
  if (!report) throw new Error('there is no report');
  const stoppedBy = failedChecks(report).map(({ guard }) => guard);
  return { stoppedBy, releasable: isReleasable(report), text: stoppedText(report, facts), remarks, facts: known };
}

const stoppedBy = (facts: Facts, given?: Given) => judged(facts, given).stoppedBy;
const ofContent = (content: Partial<Content>, overrides: Partial<Facts> = {}) => factsOf(10, content, overrides);
const released = (known: Partial<History['releasedBefore']>, ...nights: Facts[]): History => ({
  ...historyOf(...nights),
  releasedBefore: { ...NO_HISTORY.releasedBefore, ...known },
});

test('a good file of the requested columns passes without a warning, the first of its plan too', () => {
  const { stoppedBy: by, remarks } = judged(factsOf(10));

  expect(by).toEqual([]);
  expect(remarks).toEqual([]);
  expect(judged(factsOf(10), { history: historyOf(factsOf(10)) }).remarks).toEqual([]);
});

test('of a file that nobody gets, only what can never be released is asked', () => {
  const bad = ofContent({ excepted: 1 }, { bytes: 0 });
  const guards = { ...deployment().entities.leads.guards, minRows: 99 };

  expect(passGate(subjectOf(bad, { promised: { guards } }), false)).toMatchObject({ report: null, passed: true });
  const { report, passed } = passGate(subjectOf(bad, { promised: { guards, excepting: true } }), false);
  expect([report?.checks.map(({ guard }) => guard), passed]).toEqual([['excepted'], false]);
});

const LAST: [what: string, ending: Content['ending'], stopped: string[]][] = [
  ['as wide as the others, with a line break', { cells: 2, lineBreak: true }, []],
  ['shorter: cut off, or the text of an error', { cells: 1, lineBreak: true }, ['lastRecord']],
  ['longer', { cells: 3, lineBreak: true }, ['lastRecord']],
  ['without the line break that the file before had', { cells: 2, lineBreak: false }, ['lastLineBreak']],
  ['cut off in its middle', { cells: 1, lineBreak: false }, ['lastRecord', 'lastLineBreak']],
  ['not known', null, []],
];

test.each(LAST)('a last record is judged: %s', (_, ending, stopped) => {
  const { stoppedBy: by, releasable } = judged(ofContent({ ending }), { history: historyOf(factsOf(10)) });

  expect([by, releasable]).toEqual([stopped, true]);
});

test('a file without a last line break passes where no file before had one', () => {
  const unended = ofContent({ ending: { cells: 2, lineBreak: false } });

  expect(stoppedBy(unended)).toEqual([]);
  expect(stoppedBy(unended, { history: historyOf(unended) })).toEqual([]);
});

test('an ending that a person has released is a warning afterwards, on every night', () => {
  const total = ofContent({ ending: { cells: 1, lineBreak: true } });
  const history = released({ endings: [{ cells: 1, lineBreak: true, width: 2, format: 'csv' }] }, factsOf(10));

  expect(judged(total, { history })).toMatchObject({ stoppedBy: [], remarks: [expect.stringMatching(/^It ends as /)] });
  expect(stoppedBy(ofContent({ ending: { cells: 3, lineBreak: true } }), { history })).toEqual(['lastRecord']);
});

test('a file that is stopped for its missing line break is not said to end as a released one', () => {
  const cut = ofContent({ ending: { cells: 1, lineBreak: false } });
  const history = released({ endings: [{ cells: 1, lineBreak: true, width: 2, format: 'csv' }] }, factsOf(10));

  expect(judged(cut, { history })).toMatchObject({ stoppedBy: ['lastLineBreak'], remarks: [] });
});

test('rows of a sheet may be shorter than its header: empty cells at their end are not stored', () => {
  const sheet = (cells: number) => ofContent({ ending: { cells, lineBreak: true } }, { format: 'xlsx' });

  expect([stoppedBy(sheet(1)), stoppedBy(sheet(3))]).toEqual([[], ['lastRecord']]);
});

test('where rows of any width are accepted, the last one may have any', () => {
  const guards = { ...deployment().entities.leads.guards, maxIrregularShare: 1 };

  expect(stoppedBy(ofContent({ ending: { cells: 1, lineBreak: true } }), { promised: { guards } })).toEqual([]);
});

test('required columns must be seen in the file: a header that is not known does not show them', () => {
  const promised = { required: ['id'] };

  expect(stoppedBy(factsOf(10), { promised })).toEqual([]);
  expect(judged(factsOf(10, {}, { header: ['name'] }), { promised })).toMatchObject({
    stoppedBy: ['required'],
    releasable: true,
    text: 'lacks 1 column that it must have (columns.required)',
  });
  expect(stoppedBy(ofContent({ headed: null }, { header: null }), { promised })).toEqual(['required', 'unknownHeader']);
});

test.each<[string, Partial<Facts>, Partial<Content>, string[]]>([
  ['the requested ones', {}, {}, []],
  ['in another order', { header: ['name', 'id'] }, {}, []],
  ['one is missing', { header: ['id'] }, {}, ['header']],
  ['one is too many', { header: ['id', 'name', 'phone'] }, {}, ['header']],
  ['one has another name', { header: ['id', 'title'] }, {}, ['header']],
  ['one without a name has values', { header: ['id', 'name', ''] }, { unnamed: 1 }, ['header']],
  ['one without a name is empty', { header: ['id', 'name', ''] }, {}, []],
  ['which they are is not known', { header: null }, { headed: null }, ['header', 'unknownHeader']],
])('where the configuration stops at changed columns, those of the file count: %s', (_, facts, content, stopped) => {
  const drift = { added: 'stop', removed: 'stop', retyped: 'warn' } as const;

  expect(stoppedBy(ofContent(content, facts), { promised: { drift } })).toEqual(stopped);
});

test('the columns of a file that has no header by its setting are judged by their number', () => {
  const drift = { added: 'stop', removed: 'stop', retyped: 'warn' } as const;
  const promised = { drift, headerless: true };
  const rows = (width: number) =>
    ofContent({ headed: false, width, ending: { cells: width, lineBreak: true } }, { header: null });

  expect([stoppedBy(rows(2), { promised }), stoppedBy(rows(3), { promised })]).toEqual([[], ['header']]);
});

test('required columns of a file that has no header by its setting are there where it is as wide as requested', () => {
  const promised = { required: ['name'], headerless: true };
  const rows = (width: number) =>
    ofContent({ headed: false, width, ending: { cells: width, lineBreak: true } }, { header: null });

  expect([stoppedBy(rows(2), { promised }), stoppedBy(rows(1), { promised })]).toEqual([[], ['required']]);
});

test('an unknown header waits for a person once: a file that begins with the released one is known, by its columns too', () => {
  const firstRecord = 'f'.repeat(64);
  const unknown = factsOf(null, { headed: null, records: 10, firstRecord }, { header: null });
  const drift = { added: 'stop', removed: 'stop', retyped: 'warn' } as const;

  expect(judged(unknown)).toMatchObject({ stoppedBy: ['unknownHeader'], releasable: true });
  const known = judged(unknown, {
    history: released({ headers: [{ firstRecord, columns: ['id', 'name'] }] }),
    promised: { drift, required: ['id'] },
  });
  expect(known).toMatchObject({ stoppedBy: [], facts: { header: ['id', 'name'] } });
  expect(known.facts.content).toMatchObject({ headed: true, rows: 9 });
  const other = released({ headers: [{ firstRecord: 'e'.repeat(64), columns: ['id', 'name'] }] });
  expect(stoppedBy(unknown, { history: other })).toEqual(['unknownHeader']);
});

test('a header stands for the columns that it was released for, whatever is requested by now', () => {
  const firstRecord = 'f'.repeat(64);
  const unknown = factsOf(null, { headed: null, records: 10, firstRecord }, { header: null });
  const history = released({ headers: [{ firstRecord, columns: ['id', 'phone'] }] });

  expect(judged(unknown, { history }).facts).toMatchObject({ header: ['id', 'phone'] });
  expect(stoppedBy(unknown, { history, promised: { required: ['name'] } })).toEqual(['required']);
});

test('an ending is known only for files of the width and format of the released one', () => {
  const ending = { cells: 1, lineBreak: true };
  const history = (width: number, format: string) => released({ endings: [{ ...ending, width, format }] }, factsOf(10));

  expect(stoppedBy(ofContent({ ending }), { history: history(2, 'csv') })).toEqual([]);
  expect(stoppedBy(ofContent({ ending }), { history: history(3, 'csv') })).toEqual(['lastRecord']);
  expect(stoppedBy(ofContent({ ending }), { history: history(2, 'xlsx') })).toEqual(['lastRecord']);
});

test('a released header stands for its columns only where there are as many', () => {
  const firstRecord = 'f'.repeat(64);
  const ending = { cells: 3, lineBreak: true };
  const wider = factsOf(9, { headed: null, width: 3, firstRecord, ending }, { header: null });

  expect(stoppedBy(wider, { history: released({ headers: [{ firstRecord, columns: ['id', 'name'] }] }) })).toEqual([
    'unknownHeader',
  ]);
});

test('where columns are left out, an unknown header is stopped for good: nobody is told to release it', () => {
  const unknown = factsOf(9, { headed: null, unlisted: null, excepted: null }, { header: null });

  const { stoppedBy: by, releasable, text } = judged(unknown, { promised: { excepting: true } });

  expect([by, releasable]).toEqual([['excepted'], false]);
  expect(text).not.toContain('release it');
});

test('the quarantine of a file that seems to have no header names the setting for it', () => {
  const { stoppedBy: by, text } = judged(ofContent({ headed: false }, { header: null }));

  expect(by).toEqual(['unknownHeader']);
  expect(text).toContain('"header": "none"');
  expect(stoppedBy(ofContent({ headed: false }, { header: null }), { promised: { headerless: true } })).toEqual([]);
});

const LEFT_OUT: [what: string, content: Partial<Content>, facts: Partial<Facts>, text: string | undefined][] = [
  ['every cell names a listed column', {}, {}, undefined],
  ['a column less', {}, { header: ['id'] }, undefined],
  ['a left-out column', { excepted: 1 }, { header: null }, 'has 1 column that must not be there (columns.except)'],
  [
    'a text that is not listed',
    { unlisted: 1, unlistedPlaces: [2] },
    { header: null },
    'has 1 text in its header that the CRM does not list (column 2 of the header; if it is another column, name its text in columns.labels) (columns.except)',
  ],
  ['values below no name', { unnamed: 1 }, {}, 'has 1 column with values and without a name (columns.except)'],
  [
    'a name twice, of which one may be any column',
    {},
    { header: ['id', 'name', 'name'] },
    'has 1 column under the name of another one (columns.except)',
  ],
  ['a record longer than the header', { longer: 2 }, {}, 'has 2 records longer than its header (columns.except)'],
  [
    'another sheet',
    { elsewhere: 1, elsewhereKinds: ['formulas'] },
    { format: 'xlsx' },
    'has 1 place that may hold text besides its rows (formulas) (columns.except)',
  ],
  [
    'no header',
    { headed: false, excepted: null, unlisted: null },
    { header: null },
    'may have columns that must not be there: it seems to have no header (columns.except)',
  ],
  [
    'an unknown header',
    { headed: null, excepted: null, unlisted: null },
    { header: null },
    'may have columns that must not be there: its first line names no columns as the CRM lists them; if it is a header, name its texts in columns.labels (columns.except)',
  ],
  [
    'a label of several columns',
    {},
    { header: null },
    'may have columns that must not be there: a text of its header means several (columns.except)',
  ],
];

test.each(LEFT_OUT)(
  'with columns left out, nothing but listed ones may be seen, for good: %s',
  (_, content, facts, text) => {
    const {
      stoppedBy: by,
      releasable,
      text: told,
    } = judged(ofContent(content, facts), { promised: { excepting: true } });

    expect(by.includes('excepted')).toBe(text !== undefined);
    expect(releasable).toBe(text === undefined);
    if (text !== undefined) expect(told).toContain(text);
  },
);

test('a file of which nothing was looked at may hold anything', () => {
  const opaque = factsOf(null, {}, { format: 'xls', header: null, content: null });

  expect(judged(opaque, { promised: { excepting: true } })).toMatchObject({ releasable: false });
  expect(stoppedBy(opaque)).toEqual([]);
  expect(stoppedBy(opaque, { history: historyOf(factsOf(10)) })).toEqual(['counted']);
  expect(stoppedBy(opaque, { history: historyOf(opaque) })).toEqual([]);
});

test('a file without content is judged by whether it may be empty, not by its header', () => {
  const empty = factsOf(null, {}, { bytes: 0, format: null, header: null, content: null });
  const drift = { added: 'stop', removed: 'stop', retyped: 'warn' } as const;

  expect(judged(empty, { promised: { excepting: true, required: ['id'], drift } })).toMatchObject({
    stoppedBy: ['empty'],
    releasable: true,
  });
});

test('an export that was given for another date is stopped; for its own date it is a warning, unless the run took it over', () => {
  const ofDate = { ...historyOf(factsOf(10)), ofDate: night(factsOf(10), 0, { exportId: 'export-0' }) };

  expect(judged(factsOf(10), { exportId: 'export-1', history: historyOf(factsOf(10)) })).toMatchObject({
    stoppedBy: ['exportId'],
    releasable: true,
  });
  expect(judged(factsOf(10), { history: ofDate }).remarks).toEqual([expect.stringContaining('by its id')]);
  expect(judged(factsOf(10), { history: ofDate, adopted: true }).remarks).toEqual([]);
});

test('several sheets with a header, and a sheet that is full, wait for a person', () => {
  const sheet = (content: Partial<Content>) => judged(ofContent(content, { format: 'xlsx' }));

  expect(sheet({ sheets: 1 }).stoppedBy).toEqual([]);
  expect(sheet({ sheets: 2 })).toMatchObject({ stoppedBy: ['sheets'], releasable: true });
  expect(sheet({ fullSheet: true })).toMatchObject({ stoppedBy: ['fullSheet'], releasable: true });
});

const DIALECT = { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' };
const FORMS: [what: string, now: Facts, before: Facts, word: string | undefined][] = [
  ['the same', factsOf(10), factsOf(10), undefined],
  ['a spreadsheet', factsOf(10, {}, { format: 'xlsx', dialect: null }), factsOf(10), 'format'],
  ['packed', factsOf(10, {}, { compression: 'gzip' }), factsOf(10), 'compression'],
  [
    'another encoding',
    factsOf(10, { ascii: false }, { dialect: { ...DIALECT, encoding: 'windows-1255' } }),
    factsOf(10, { ascii: false }),
    'encoding',
  ],
  [
    'all of ASCII',
    factsOf(10, { ascii: true }),
    factsOf(10, { ascii: false }, { dialect: { ...DIALECT, encoding: 'windows-1255' } }),
    undefined,
  ],
  ['another separator', factsOf(10, {}, { dialect: { ...DIALECT, separator: ';' } }), factsOf(10), 'separator'],
  [
    'a separator that is not known',
    factsOf(10, {}, { dialect: { ...DIALECT, separator: null } }),
    factsOf(10),
    undefined,
  ],
];

test.each(FORMS)('another form than that of the last file is a warning: %s', (_, now, before, word) => {
  const { stoppedBy: by, remarks } = judged(now, { history: historyOf(before) });

  expect(by).toEqual([]);
  expect(remarks).toEqual(word === undefined ? [] : [expect.stringMatching(`^The ${word} of the file is another `)]);
});
