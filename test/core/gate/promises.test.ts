import { expect, test } from 'vitest';
import type { Content, Facts } from '../../../core/gate/facts.ts';
import { isReleasable, passGate, stoppedText } from '../../../core/gate/gate.ts';
import { failedChecks } from '../../../core/gate/report.ts';
import type { History } from '../../../core/gate/subject.ts';
import { factsOf, historyOf, night, type Promised, subjectOf } from '../../support/gate.ts';
import { DIALECT } from '../../support/manifests.ts';
import { expectMessages } from '../../support/screen.ts';

type SubjectOptions = Parameters<typeof subjectOf>[1];

/** The checks that stop a file, whether a person may release it, and the sentence. */
function judged(facts: Facts, given?: SubjectOptions) {
  const { report, warnings, facts: known } = passGate(subjectOf(facts, given));
  if (!report) throw new Error('there is no report');
  const stoppedBy = failedChecks(report).map(({ guard }) => guard);
  return { stoppedBy, releasable: isReleasable(report), text: stoppedText(report, facts), warnings, facts: known };
}

const stoppedBy = (facts: Facts, given?: SubjectOptions) => judged(facts, given).stoppedBy;
const ofContent = (content: Partial<Content>, overrides: Partial<Facts> = {}) => factsOf(10, content, overrides);
const STRICT = { added: 'stop', removed: 'stop', retyped: 'warn' } as const;
const released = (guard: string, kind = '', nights: Facts[] = [], columns: string[] | null = null): History => ({
  ...historyOf(...nights),
  releasedBefore: [{ guard, kind, columns }],
});

test('a good file passes without a warning, with or without a history', () => {
  const { stoppedBy: by, warnings } = judged(factsOf(10));

  expect(by).toEqual([]);
  expect(warnings).toEqual([]);
  expect(judged(factsOf(10), { history: historyOf(factsOf(10)) }).warnings).toEqual([]);
});

test('a file that is not published is judged only by the check of left-out columns', () => {
  const bad = ofContent({ excepted: 1 }, { bytes: 0 });
  const guards = { minRows: 99 };
  const run = { publish: false };

  expect(passGate(subjectOf(bad, { run, promised: { guards } }))).toMatchObject({ report: null, passed: true });
  const { report, passed } = passGate(subjectOf(bad, { run, promised: { guards, excepting: true } }));
  expect([report?.checks.map(({ guard }) => guard), passed]).toEqual([['excepted'], false]);
});

const ending = (cells: number, lineBreak = true) => ({ ending: { cells, lineBreak } });
const sheet = { format: 'xlsx' };
const after = historyOf(factsOf(10));
const anyWidth = { guards: { maxIrregularShare: 1 } };
const afterRelease = (width = 2, format = 'csv', nights = [factsOf(10)]) =>
  released('lastRecord', `${format} ${width} 1`, nights);
const UNBROKEN = ending(2, false);
const OTHER_FORMAT = { history: afterRelease(2, 'xlsx') };

test.each<[what: string, content: Partial<Content>, stopped: string[], given?: SubjectOptions, facts?: Partial<Facts>]>(
  [
    ['as wide as the others, with a line break', ending(2), [], { history: after }],
    ['shorter: cut off, or the text of an error', ending(1), ['lastRecord'], { history: after }],
    ['longer', ending(3), ['lastRecord'], { history: after }],
    ['without the line break of the previous file', ending(2, false), ['lastLineBreak'], { history: after }],
    ['cut off in the middle', ending(1, false), ['lastRecord', 'lastLineBreak'], { history: after }],
    ['unknown', { ending: null }, [], { history: after }],
    ['without a line break, in the first file', ending(2, false), []],
    ['without a line break, like the previous file', UNBROKEN, [], { history: historyOf(ofContent(UNBROKEN)) }],
    ['shorter, in a sheet, where empty cells at the end are not stored', ending(1), [], {}, sheet],
    ['longer, in a sheet', ending(3), ['lastRecord'], {}, sheet],
    ['with far fewer values, in a sheet', { ...ending(2), endsThin: true }, ['lastRecord'], {}, sheet],
    ['of any width, if maxIrregularShare is 1', ending(1), [], { promised: anyWidth }],
    ['like the ending of a released file', ending(1), [], { history: afterRelease() }],
    ['like it, but cut off before its line break', ending(1, false), ['lastLineBreak'], { history: afterRelease() }],
    ['unlike the ending of a released file', ending(3), ['lastRecord'], { history: afterRelease() }],
    ['like the ending of a released file of another width', ending(1), ['lastRecord'], { history: afterRelease(3) }],
    ['like the ending of a released file of another format', ending(1), ['lastRecord'], OTHER_FORMAT],
  ],
)('a last record is judged: %s', (_, content, stopped, given, facts) => {
  const { stoppedBy: by, releasable } = judged(ofContent(content, facts), given);

  expect([by, releasable]).toEqual([stopped, true]);
});

test('a file without its line break, like a released one, passes with a warning', () => {
  const found = judged(ofContent(ending(2, false)), { history: released('lastLineBreak', 'csv 2 2', [factsOf(10)]) });

  expect(found.stoppedBy).toEqual([]);
  expect(found.warnings).toEqual([expect.stringContaining('line break')]);
});

test('required stops a file whose header is unknown or does not contain a required column', () => {
  const promised = { required: ['id'] };

  expect(stoppedBy(factsOf(10), { promised })).toEqual([]);
  expect(judged(factsOf(10, {}, { header: ['name'] }), { promised })).toMatchObject({
    stoppedBy: ['required'],
    releasable: true,
    text: expect.stringContaining('columns.required'),
  });
  expect(stoppedBy(ofContent({ headed: null }, { header: null }), { promised })).toEqual(['required', 'unknownHeader']);
});

test.each<[string, Partial<Facts>, Partial<Content>, string[]]>([
  ['the requested ones', {}, {}, []],
  ['in another order', { header: ['name', 'id'] }, {}, []],
  ['one is missing', { header: ['id'] }, {}, ['header']],
  ['one more', { header: ['id', 'name', 'phone'] }, {}, ['header']],
  ['one has another name', { header: ['id', 'title'] }, {}, ['header']],
  ['one without a name has values', { header: ['id', 'name', ''] }, { unnamed: 1 }, ['header']],
  ['one without a name is empty', { header: ['id', 'name', ''] }, {}, []],
  ['an unknown header', { header: null }, { headed: null }, ['header', 'unknownHeader']],
])('with drift "stop", the columns of the file are checked: %s', (_, facts, content, stopped) => {
  expect(stoppedBy(ofContent(content, facts), { promised: { drift: STRICT } })).toEqual(stopped);
});

test.each<[drift: object, header: string[], stopped: string[]]>([
  [{ added: 'stop' }, ['id', 'name', 'phone'], ['header']],
  [{ added: 'stop' }, ['id'], []],
  [{ removed: 'stop' }, ['id'], ['header']],
  [{ removed: 'stop' }, ['id', 'name', 'phone'], []],
])('with drift %j, a file with the columns %j is stopped by %j', (drift, header, stopped) => {
  expect(stoppedBy(factsOf(1, {}, { header }), { promised: { drift } })).toEqual(stopped);
});

test.each<[width: number, promised: Promised, stopped: string[]]>([
  [2, { drift: STRICT }, []],
  [3, { drift: STRICT }, ['header']],
  [2, { required: ['name'] }, []],
  [1, { required: ['name'] }, ['required']],
])('a file without a header by its setting is judged by its number of columns: %d, %j', (width, promised, stopped) => {
  const rows = ofContent({ headed: false, width, ...ending(width) }, { header: null });

  expect(stoppedBy(rows, { promised: { headerless: true, ...promised } })).toEqual(stopped);
});

const firstRecord = 'f'.repeat(64);
const unknown = factsOf(null, { headed: null, records: 10, firstRecord }, { header: null });
const afterHeader = (columns = ['id', 'name'], of = firstRecord) => released('unknownHeader', of, [], columns);

test('an unknown header stops a file until a release, and then means the columns of that release', () => {
  expect(judged(unknown)).toMatchObject({ stoppedBy: ['unknownHeader'], releasable: true });
  const promised = { drift: STRICT, required: ['id'] };
  const known = judged(unknown, { history: afterHeader(), promised });
  expect(known).toMatchObject({ stoppedBy: [], facts: { header: ['id', 'name'], rows: 9, content: { headed: true } } });
  const others = { history: afterHeader(['id', 'phone']), promised: { required: ['name'] } };
  expect(judged(unknown, others)).toMatchObject({ stoppedBy: ['required'], facts: { header: ['id', 'phone'] } });
  expect(stoppedBy(unknown, { history: afterHeader(['id', 'name'], 'e'.repeat(64)) })).toEqual(['unknownHeader']);
});

test('an unknown header with names in another order needs columns.labels, even after a release by an earlier version', () => {
  const moved = factsOf(null, { headed: null, firstRecord, width: 2, moved: 1 }, { header: null });
  const { stoppedBy: by, text } = judged(moved, { history: afterHeader() });

  expect(by).toEqual(['unknownHeader']);
  expect(text).toMatch(/If it is the header, name its texts in columns\.labels/);
});

test('with left-out columns, a file with an unknown header cannot be released, and the text does not suggest it', () => {
  const doubtful = factsOf(9, { headed: null, unlisted: null, excepted: null }, { header: null });

  const { stoppedBy: by, releasable, text } = judged(doubtful, { promised: { excepting: true } });

  expect([by, releasable]).toEqual([['excepted'], false]);
  expect(text).not.toContain('release');
});

test('the text for a file without a header names the setting columns.header', () => {
  const { stoppedBy: by, text } = judged(ofContent({ headed: false }, { header: null }));

  expect(by).toEqual(['unknownHeader']);
  expect(text).toContain('columns.header');
  expect(stoppedBy(ofContent({ headed: false }, { header: null }), { promised: { headerless: true } })).toEqual([]);
});

const LEFT_OUT: [what: string, content: Partial<Content>, facts: Partial<Facts>][] = [
  ['a left-out column', { excepted: 1 }, { header: null }],
  ['a text that is not listed', { unlisted: 1, unlistedPlaces: [2] }, { header: null }],
  ['values without a column name', { unnamed: 1 }, {}],
  ['a name twice', {}, { header: ['id', 'name', 'name'] }],
  ['a record longer than the header', { longer: 2 }, {}],
  ['another sheet', { elsewhere: 1, elsewhereKinds: ['formulas'] }, { format: 'xlsx' }],
  ['no header', { headed: false, excepted: null, unlisted: null }, { header: null }],
  ['an unknown header', { headed: null, excepted: null, unlisted: null }, { header: null }],
  ['a label of several columns', {}, { header: null }],
];

test('the check excepted stops a file unless every cell names a listed column', async () => {
  const promised = { excepting: true };
  for (const facts of [{}, { header: ['id'] }])
    expect(judged(ofContent({}, facts), { promised }).stoppedBy).toEqual([]);
  const told = LEFT_OUT.map(([what, content, facts]) => {
    const { stoppedBy: by, releasable, text } = judged(ofContent(content, facts), { promised });
    expect([by.includes('excepted'), releasable], what).toEqual([true, false]);
    return [what, text] as const;
  });
  await expectMessages('stopped-left-out-columns', told);
});

test('an unread file cannot be released with left-out columns, and counted stops it only after a counted file', () => {
  const opaque = factsOf(null, {}, { format: 'xls', header: null, content: null });

  expect(judged(opaque, { promised: { excepting: true } })).toMatchObject({ releasable: false });
  expect(stoppedBy(opaque)).toEqual([]);
  expect(stoppedBy(opaque, { history: historyOf(factsOf(10)) })).toEqual(['counted']);
  expect(stoppedBy(opaque, { history: historyOf(opaque) })).toEqual([]);
});

test('a file without content is judged by the check empty, not by its header', () => {
  const empty = factsOf(null, {}, { bytes: 0, format: null, header: null, content: null });

  expect(judged(empty, { promised: { excepting: true, required: ['id'], drift: STRICT } })).toMatchObject({
    stoppedBy: ['empty'],
    releasable: true,
    warnings: [],
  });
});

test('an export id of another date stops the file; one of its own date is a warning unless the run adopted it', () => {
  const ofDate = { ...historyOf(factsOf(10)), ofDate: night(factsOf(10), 0, { exportId: 'export-0' }) };

  expect(judged(factsOf(10), { run: { exportId: 'export-1' }, history: historyOf(factsOf(10)) })).toMatchObject({
    stoppedBy: ['exportId'],
    releasable: true,
  });
  const again = { ...ofDate, comparedWith: [night(factsOf(10), 0, { exportId: 'export-0' })] };
  expect(stoppedBy(factsOf(10), { history: again })).toEqual([]);
  expect(judged(factsOf(10), { history: ofDate }).warnings).toEqual([expect.stringContaining('same id')]);
  expect(judged(factsOf(10), { history: ofDate, run: { adopted: 'night-0' } }).warnings).toEqual([]);
});

test('several sheets with a header, or a full sheet, stop the file until a release', () => {
  const sheet = (content: Partial<Content>) => judged(ofContent(content, { format: 'xlsx' }));

  expect(sheet({ sheets: 1 }).stoppedBy).toEqual([]);
  expect(sheet({ sheets: 2 })).toMatchObject({ stoppedBy: ['sheets'], releasable: true });
  expect(sheet({ fullSheet: true })).toMatchObject({ stoppedBy: ['fullSheet'], releasable: true });
});

const FORMS: [what: string, now: Facts, before: Facts, word: string | undefined][] = [
  ['the same', factsOf(10), factsOf(10), undefined],
  ['a spreadsheet', factsOf(10, {}, { format: 'xlsx', dialect: null }), factsOf(10), 'format'],
  ['compressed', factsOf(10, {}, { compression: 'gzip' }), factsOf(10), 'compression'],
  [
    'another encoding',
    factsOf(10, { ascii: false }, { dialect: { ...DIALECT, encoding: 'windows-1255' } }),
    factsOf(10, { ascii: false }),
    'encoding',
  ],
  [
    'another encoding of ASCII text',
    factsOf(10, { ascii: true }),
    factsOf(10, { ascii: false }, { dialect: { ...DIALECT, encoding: 'windows-1255' } }),
    undefined,
  ],
  ['another separator', factsOf(10, {}, { dialect: { ...DIALECT, separator: ';' } }), factsOf(10), 'separator'],
  ['an unknown separator', factsOf(10, {}, { dialect: { ...DIALECT, separator: null } }), factsOf(10), undefined],
];

test.each(FORMS)('warns about a change of form since the last published file: %s', (_, now, before, word) => {
  const { stoppedBy: by, warnings } = judged(now, { history: historyOf(before) });

  expect(by).toEqual([]);
  expect(warnings).toEqual(word === undefined ? [] : [expect.stringMatching(`^The ${word} .* changed `)]);
});

test('a file is published with a warning on its header and its rows', async () => {
  const warned: [what: string, facts: Partial<Facts>, content?: Partial<Content>][] = [
    ['no rows', { rows: 0 }],
    ['fewer columns', { header: ['id'] }],
    ['other names', { header: ['ID', 'Name'] }],
    ['another order', { header: ['name', 'id'] }],
    ['irregular rows', {}, { irregular: 3 }],
  ];
  const told = warned.map(([what, facts, content]) => {
    const { warnings } = judged(factsOf(1, content, facts), { history: historyOf(factsOf(null)) });
    return [what, warnings.join('\n')] as const;
  });
  await expectMessages('header-and-row-warnings', told);
});

test('a file is published with a warning if a part of the history cannot be read', () => {
  const { stoppedBy: by, warnings } = judged(factsOf(98), { history: { ...historyOf(factsOf(100)), unreadable: 1 } });

  expect([by, warnings]).toEqual([[], [expect.stringContaining('1 published')]]);
});

test('minRows applies to full exports only, not to partial ones', () => {
  const promised = { guards: { minRows: 1000 } };

  expect(stoppedBy(factsOf(98), { promised })).toEqual(['minRows']);
  expect(stoppedBy(factsOf(98), { promised, run: { kind: 'partial' } })).toEqual([]);
});

test.each<[header: string[], warnings: number, drift?: object]>([
  [['id'], 0],
  [['id', 'x'], 0],
  [['name', 'id'], 1],
  [['id'], 0, { removed: 'accept' }],
  [['id'], 1, { added: 'accept' }],
  [['id', 'name', 'x'], 0, { added: 'accept' }],
  [['id', 'name', 'x'], 1, { removed: 'accept' }],
])('added or removed columns cause no warning if drift accepts them: %j', (header, warnings, only) => {
  const drift = only ?? { added: 'accept', removed: 'accept' };

  expect(judged(factsOf(1, {}, { header }), { promised: { drift } }).warnings).toHaveLength(warnings);
});

test.each<[released: string, content: Partial<Content>, stopped: string[]]>([
  ['repeatedHeader', { repeatedHeaders: 2 }, []],
  ['repeatedHeader', { otherHeaders: 1 }, ['otherHeader']],
  ['otherHeader', { otherHeaders: 1 }, []],
])('after a release from the check %s, a file with %j is stopped by %j', (check, content, stopped) => {
  expect(stoppedBy(ofContent(content), { history: released(check, '', [factsOf(10)]) })).toEqual(stopped);
});
