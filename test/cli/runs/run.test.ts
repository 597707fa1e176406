import { expect, test } from 'vitest';
import { followRun } from '../../../cli/runs/follow.ts';
import { createPublished } from '../../../cli/runs/published-runs.ts';
import {
  headText,
  OUTCOME_NAMES,
  OUTCOMES,
  outcomeText,
  outcomeWord,
  type Run,
  runSchema,
  toneOf,
} from '../../../cli/runs/run.ts';
import { newState, run, runState, storedFile } from '../../support/builders.ts';
import { type ManifestChanges, stoppedBy } from '../../support/manifests.ts';
import { expectResults } from '../../support/screen.ts';
import { aRun } from '../support/a-run.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { arnOf, stack } from '../support/cloud/stack.ts';

/** All commands report the same result of a run. */

const NIGHT = 'leads-night';
const DATE = '2026-11-20';
const input = { entity: 'leads', date: DATE };
const started = { start: `${DATE}T01:00:00.000Z`, stop: `${DATE}T01:05:00.000Z`, input };
const state = runState({ input: started.input, run: run(), file: storedFile({ bytes: 12 }) });
const manifestKey = `runs/entity=leads/run=${NIGHT}/_manifest.json`;
const stopped = stoppedBy('maxShrink');

interface Case {
  what: string;
  outcome: Run['outcome'];
  execution: Partial<Execution>;
  manifest?: ManifestChanges;
  pointers?: ('date' | 'latest')[];
}

const failed = (error: string, last: object = state): Partial<Execution> => ({
  status: 'FAILED',
  error,
  cause: 'So it was.',
  entered: [['RunFailed', started.stop, last]],
});
const succeeded = (output: object): Partial<Execution> => ({
  status: 'SUCCEEDED',
  output: JSON.stringify(output),
  entered: [['ExportPublished', started.stop, output]],
});

const done = { ...state, rows: 1, manifestKey, warningCount: 0 };
const published = succeeded({ ...done, outcome: 'PUBLISHED' });
const withoutTable = failed('TableNotWritten', { ...state, manifestKey, rows: 1 });
/** A manifest and what names it: both pointers, that of its date alone, or none. */
const LATEST: Pick<Case, 'manifest' | 'pointers'> = { manifest: {}, pointers: ['date', 'latest'] };
const REPLACED: Pick<Case, 'manifest' | 'pointers'> = { manifest: {}, pointers: [] };

const notDue = newState(input, { outcome: 'NOT_DUE' });

const CASES: Case[] = [
  { what: 'published', outcome: 'published', ...LATEST, execution: published },
  { what: 'replaced by a later run', outcome: 'published', ...REPLACED, execution: published },
  { what: 'failed', outcome: 'failed', execution: failed('ExportFailed') },
  { what: 'stopped by a guard', outcome: 'quarantined', execution: failed('FileQuarantined'), manifest: stopped },
  {
    what: 'stopped by a guard and released',
    outcome: 'released',
    manifest: stopped,
    pointers: ['date', 'latest'],
    execution: failed('FileQuarantined'),
  },
  { what: 'published without its table', outcome: 'withoutTable', ...LATEST, execution: withoutTable },
  { what: 'published without its table, and replaced', outcome: 'withoutTable', ...REPLACED, execution: withoutTable },
  {
    what: 'stored without being published',
    outcome: 'stored',
    manifest: { state: 'unpublished', kind: 'partial' },
    execution: succeeded({ ...done, outcome: 'UNPUBLISHED' }),
  },
  { what: 'a start that was not due', outcome: 'notDue', execution: succeeded(notDue) },
];

async function cloudWith({ execution, manifest, pointers = [] }: Case) {
  const cloud = await awsWithTarget(
    stack({ TimeZone: 'UTC' }),
    executions([{ name: NIGHT, status: 'SUCCEEDED', ...started, ...execution }]),
  );
  cloud.publish({ execution: 'leads-before', date: '2026-11-19' });
  if (manifest) cloud.publish({ manifest, pointers });
  if (manifest && pointers.length === 0)
    cloud.publish({ execution: 'leads-later', manifest: { startedAt: `${DATE}T02:00:00.000Z` } });
  return cloud;
}

/** Facts that only one command knows, from the history of a failed run. */
const KNOWN_TO_SOME = 'kind rows bytes key manifestKey exportId checks keptUntil warningCount'.split(' ');

/** No person has to act if a later run has replaced a missing table. */
const NEEDING_PERSON = ['failed', 'published without its table'];

test.each(CASES)('a run that is $what has one outcome and the same fields in every command', async (one) => {
  const { cli, target } = await cloudWith(one);
  const documentOf = async (...args: string[]) => {
    const { stdout } = await cli(...args, '--json');
    return JSON.parse(stdout);
  };
  const found = async (...args: string[]): Promise<Run> => {
    const { runs } = await documentOf('list', '--since', '2026-11-19', ...args);
    return runs.find((each: Run) => each.run === NIGHT);
  };

  const shown = await documentOf('show', NIGHT);
  // No list contains a start that requested no export.
  const listed = one.outcome === 'notDue' ? runSchema.parse(shown) : await found();
  const published = createPublished(target, () => undefined);
  const followed = await followRun(target.sfn, arnOf(NIGHT), { published });
  const others: Run[] = [followed, shown, ...(one.execution.status === 'FAILED' ? [await found('--failed')] : [])];

  expect(listed.outcome).toBe(one.outcome);
  expect(listed.needsPerson).toBe(NEEDING_PERSON.includes(one.what));
  expect(Object.keys(listed)).toEqual(Object.keys(runSchema.shape));
  for (const other of others) {
    const base = Object.fromEntries(Object.keys(listed).map((field) => [field, Object(other)[field]]));
    expect(runSchema.parse(base)).toEqual(base);
    const same = Object.entries(listed).filter(([field, value]) => !KNOWN_TO_SOME.includes(field) || value !== null);
    expect(base).toMatchObject(Object.fromEntries(same));
    expect(outcomeWord(other)).toBe(outcomeWord(listed));
  }
});

test('runs of verify are marked, and a run that verify made fail needs no person', async () => {
  const id = '20261120T020000Z-1a2b3c';
  const refused = { status: 'FAILED', ...started, error: 'InvalidInput', cause: 'No.' } as const;
  const { cli, publish } = await awsWithTarget(
    stack({ TimeZone: 'UTC' }),
    executions([
      { name: 'by-event-bridge', ...refused, input: { verify: id } },
      { name: 'by-hand', ...refused, input: {} },
      { name: `leads-verify-${id}-0`, ...refused, error: 'ExportFailed' },
      { name: `contacts-verify-${id}-0`, status: 'SUCCEEDED', ...started },
    ]),
  );
  publish({ execution: `contacts-verify-${id}-0`, date: DATE });
  const since = ['list', '--since', DATE];

  const { runs } = JSON.parse((await cli(...since, '--json')).stdout);

  expect(runs.map((one: Run) => [one.run, one.byVerify, one.needsPerson]).toSorted()).toEqual([
    ['by-event-bridge', true, false],
    ['by-hand', false, true],
    [`contacts-verify-${id}-0`, true, false],
    [`leads-verify-${id}-0`, true, false],
  ]);
  await expectResults('list-of-verify', [['runs of verify and of a person', await cli(...since)]]);
});

test('a run that failed before its manifest reports plan and export from its last state', async () => {
  const begun = run({ kind: 'partial', differs: ['columns'] });
  const { cli } = await cloudWith({
    what: 'failed',
    outcome: 'failed',
    execution: failed('ExportFailed', { ...state, run: begun }),
  });

  const { kind, differs, exportId, keptUntil } = JSON.parse((await cli('show', NIGHT, '--json')).stdout);

  expect({ kind, differs, exportId, keptUntil }).toEqual({
    kind: 'partial',
    differs: ['columns'],
    exportId: begun.exportId,
    keptUntil: begun.keptUntil,
  });
});

test.each(OUTCOME_NAMES)('%s has a word, a sentence and a colour', (outcome) => {
  const one = aRun({ outcome, error: outcome === 'failed' ? 'ExportFailed' : null });
  for (const text of [outcomeWord(one), outcomeText(one), headText(one)]) expect(text).toMatch(/\S/);
  expect(toneOf(one)).toBe(OUTCOMES[outcome].tone);
  expect(toneOf({ ...one, standing: 'superseded' })).toBe('idle');
});
