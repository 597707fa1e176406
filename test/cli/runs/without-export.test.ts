import { expect, test } from 'vitest';
import { findRun } from '../../../cli/runs/find-run.ts';
import { listRuns } from '../../../cli/runs/list-runs.ts';
import { runState } from '../../support/builders.ts';
import { expectResults } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';

const since = new Date('2026-11-20T00:00:00Z');
const wanted = { entities: [], since, failed: false, warn: () => undefined };

/** The runs of a rule with two starts on a night whose event was delivered twice; newest first. */
const night: Execution[] = [
  ended('event-3', '00:00:07', { outcome: 'ALREADY_STARTED', startedBy: 'event-2' }),
  { ...ended('event-2', '00:00:01', {}), status: 'FAILED', error: 'ExportFailed' },
  ended('event-1', '23:00:01', { outcome: 'NOT_DUE' }),
];

function ended(name: string, time: string, change: object): Execution {
  const at = `2026-11-${time.startsWith('23') ? 19 : 20}T${time}.000Z`;
  const input = { entity: 'leads', scheduledFor: at };
  const state = runState({ input, run: null, ...change });
  return {
    name,
    status: 'SUCCEEDED',
    input,
    start: at,
    stop: at,
    output: JSON.stringify(state),
    entered: [
      ['BeginRun', at, input],
      ['CreateExport', at, runState({ input, run: null })],
      ['End', at, state],
    ],
  };
}

test('the newest run of an entity is the newest one with an export', async () => {
  const { target } = await awsWithTarget(executions(night));

  expect((await findRun(target, 'leads')).name).toBe('event-2');
});

test('list leaves out starts without an export', async () => {
  const { target } = await awsWithTarget(executions(night));

  const runs = await listRuns(target, { ...wanted, since: new Date('2026-11-19T00:00:00Z') });

  expect(runs.map(({ run, error }) => `${run} ${error}`)).toEqual(['event-2 ExportFailed']);
});

test('show of a start without an export gives the reason, and retry refuses it', async () => {
  const { cli, asked } = await awsWithTarget(executions(night));
  const lines = ['show event-3', 'show event-1', 'retry event-3', 'retry event-1'];
  const results = lines.map(async (line) => [line, await cli(...line.split(' '))] as const);

  await expectResults('without-export', await Promise.all(results));
  expect(asked).not.toContain('StartExecution');
});
