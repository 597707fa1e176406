import { expect, test } from 'vitest';
import type { GuardSettings } from '../../../core/config/entity-settings.ts';
import type { Facts } from '../../../core/gate/facts.ts';
import { isReleasable, passGate, stoppedText } from '../../../core/gate/gate.ts';
import { failedChecks, type GateReport } from '../../../core/gate/report.ts';
import { factsOf, historyOf, subjectOf } from '../../support/gate.ts';
import { expectMessages } from '../../support/screen.ts';

const week = (rows: number) => Array.from({ length: 7 }, () => rows);

interface Measured {
  rows: number | null;
  empty?: boolean;
  bytes?: number;
  irregularShare?: number;
}

type Case = [
  what: string,
  history: (number | null)[],
  file: Measured,
  stoppedBy: string[],
  settings?: Partial<GuardSettings>,
];

const CASES: Case[] = [
  ['the usual number of rows', week(1000), { rows: 1000 }, []],
  ['exactly half', week(1000), { rows: 500 }, []],
  ['one below half', week(1000), { rows: 499 }, ['maxShrink']],
  ['no rows', week(1000), { rows: 0 }, ['noRows', 'maxShrink']],
  ['no bytes', week(1000), { rows: 0, bytes: 0, empty: true }, ['empty', 'noRows', 'maxShrink']],
  ['ten times as many', week(1000), { rows: 10_000 }, []],
  ['one more than ten times as many', week(1000), { rows: 10_001 }, ['maxGrowth']],
  ['one odd night of seven has no effect', [1000, 1000, 1000, 10, 1000, 1000, 1000], { rows: 400 }, ['maxShrink']],
  ['four odd nights of seven set the usual number', [10, 10, 10, 10, 1000, 1000, 1000], { rows: 10 }, []],
  ['two nights: half of their median', [1000, 2000], { rows: 750 }, []],
  ['two nights: less than half of their median', [1000, 2000], { rows: 749 }, ['maxShrink']],
  ['no history and no rows', [], { rows: 0 }, []],
  ['no history and no bytes', [], { rows: 0, bytes: 0, empty: true }, ['empty']],
  ['an entity that never had rows', week(0), { rows: 0 }, []],
  ['the first rows of an entity', week(0), { rows: 200 }, []],
  ['too many first rows', week(0), { rows: 201 }, ['maxGrowth']],
  ['a small entity loses nearly all rows', week(19), { rows: 1 }, []],
  ['a small entity loses all rows', week(19), { rows: 0 }, ['noRows']],
  ['an entity of twenty rows loses most', week(20), { rows: 9 }, ['maxShrink']],
  ['a small entity grows', week(3), { rows: 200 }, []],
  ['a small entity grows too much', week(3), { rows: 201 }, ['maxGrowth']],
  ['rows that were never counted', [null, null], { rows: null }, []],
  ['rows that can no longer be counted', week(1000), { rows: null }, ['counted']],
  ['nights without a count are ignored', [null, 1000, null, 1000], { rows: 100 }, ['maxShrink']],
  ['one row fewer than minRows', week(50), { rows: 49 }, ['minRows'], { minRows: 50 }],
  ['as many rows as minRows', [], { rows: 50 }, [], { minRows: 50 }],
  ['minRows and an unknown number of rows', [], { rows: null }, ['minRows'], { minRows: 1 }],
  ['minRows 0 and no rows', [], { rows: 0 }, [], { minRows: 0 }],
  ['maxShrink 0 and one row fewer', week(1000), { rows: 999 }, ['maxShrink'], { maxShrink: 0 }],
  ['maxShrink 1 and no rows', week(1000), { rows: 0 }, ['noRows'], { maxShrink: 1 }],
  ['maxGrowth 1 and one row more', week(1000), { rows: 1001 }, ['maxGrowth'], { maxGrowth: 1 }],
  ['one in a hundred records is irregular', week(99), { rows: 99, irregularShare: 0.01 }, []],
  ['more than 1 % of records are irregular', week(99), { rows: 99, irregularShare: 0.0101 }, ['maxIrregularShare']],
  ['maxIrregularShare 0', [], { rows: 99, irregularShare: 0.0001 }, ['maxIrregularShare'], { maxIrregularShare: 0 }],
  [
    'irregular records, and fewer rows than maxShrink and minRows allow',
    week(100),
    { rows: 9, irregularShare: 0.5 },
    ['minRows', 'maxShrink', 'maxIrregularShare'],
    { minRows: 10 },
  ],
];

function factsFor({ rows, empty = false, bytes = 1000, irregularShare = 0 }: Measured): Facts {
  const content = { records: 10_000, irregular: irregularShare * 10_000 };
  return factsOf(rows, content, { bytes, ...(empty && { format: null, rows: 0 }) });
}

function reportOf(file: Facts, history: (number | null)[], settings: Partial<GuardSettings> = {}): GateReport {
  const nights = historyOf(...history.map((rows) => factsOf(rows)));
  const { report } = passGate(subjectOf(file, { history: nights, promised: { guards: settings } }));
  if (!report) throw new Error('there is no report');
  return report;
}

const failedOf = (report: GateReport) => failedChecks(report).map(({ guard }) => guard);

test.each(CASES)(
  '%s: with the history %j, the file %j is stopped by %j',
  (_, history, file, stoppedBy, settings = {}) => {
    const report = reportOf(factsFor(file), history, settings);

    expect(failedOf(report)).toEqual(stoppedBy);
    expect(report.comparedWith.map(({ rows }) => rows)).toEqual(history);
  },
);

test('a report contains each measure, its bound and the median of the compared files', () => {
  const report = reportOf(factsFor({ rows: 12, bytes: 40 }), [40, 48, 56], { minRows: 10 });

  expect(report).toMatchObject({
    checks: expect.arrayContaining([
      { guard: 'empty', passed: true, measured: 40, bound: 1, detail: null },
      { guard: 'noRows', passed: true, measured: 12, bound: 1, detail: null },
      { guard: 'minRows', passed: true, measured: 12, bound: 10, detail: null },
      { guard: 'maxShrink', passed: false, measured: 0.75, bound: 0.5, detail: null },
      { guard: 'maxGrowth', passed: true, measured: 0.25, bound: 10, detail: null },
      { guard: 'maxIrregularShare', passed: true, measured: 0, bound: 0.01, detail: null },
    ]),
    medianRows: 48,
  });
  expect(stoppedText(report, factsOf(12))).toMatch(/\b12 rows, 48 /);
});

test('the text for a stopped file contains measure and bound', async () => {
  const files: Measured[] = [
    { rows: 0, bytes: 0, empty: true },
    { rows: null },
    { rows: 1200 },
    { rows: 99, irregularShare: 0.0123 },
  ];
  const told = files.map((file) => {
    const facts = factsFor(file);
    return [JSON.stringify(file), stoppedText(reportOf(facts, week(100), { minRows: 30 }), facts)] as const;
  });
  await expectMessages('stopped-measures', told);
});

test('a release despite a missing line break causes no warning for a file that ends with one', () => {
  const releasedBefore = [{ guard: 'lastLineBreak', kind: 'csv 2 2', columns: null }];
  const subject = subjectOf(factsOf(9), { history: { ...historyOf(factsOf(9)), releasedBefore } });
  expect(passGate(subject).warnings).toEqual([]);
});

test('an empty file, or one after an empty file, has no change of format', () => {
  const [empty, packed] = [factsFor({ rows: 0, empty: true }), factsOf(9, {}, { compression: 'gzip' })];
  expect(passGate(subjectOf(empty, { history: historyOf(packed) })).warnings).toEqual([]);
  expect(passGate(subjectOf(packed, { history: historyOf(empty) })).warnings).toEqual([]);
});

test('rows without any value do not count for noRows, minRows and maxShrink', () => {
  expect(failedOf(reportOf(factsOf(100, { emptyRows: 51 }), week(100)))).toEqual(['maxShrink']);
  expect(failedOf(reportOf(factsOf(100, { emptyRows: 100 }), week(100)))).toEqual(['noRows', 'maxShrink']);
  expect(failedOf(reportOf(factsOf(100, { emptyRows: 71 }), [], { minRows: 30 }))).toEqual(['minRows']);
});

test('stoppedText names a check of a later release, and a file that the check excepted stops cannot be released', () => {
  const check = { passed: false, measured: 4, bound: 3, detail: null };
  const report = (guard: string) => ({ checks: [{ guard, ...check }], comparedWith: [], medianRows: null });

  expect(stoppedText(report('later'), factsOf(1))).toMatch(/\blater \(measured 4, bound 3\)$/);
  expect([isReleasable(report('later')), isReleasable(report('excepted'))]).toEqual([true, false]);
});
