import { afterEach, expect, test, vi } from 'vitest';
import { followToTheEnd } from '../../../cli/runs/follow.ts';
import { run, runState, storedFile } from '../../support/builders.ts';
import { aws } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { arnOf } from '../support/cloud/stack.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('a published run with warnings is marked, with the command that shows them', async () => {
  const state = runState({ run: run(), file: storedFile({ bytes: 12 }), rows: 7, warningCount: 2 });
  const execution = {
    name: 'leads-night',
    status: 'SUCCEEDED',
    input: { entity: 'leads' },
    output: JSON.stringify(state),
    start: '2026-11-20T01:00:00.000Z',
    stop: '2026-11-20T01:00:12.000Z',
  };
  const cloud = await aws(executions([execution]));
  const written: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean(written.push(String(text))));
  const runs = [{ entity: 'leads' as const, run: 'leads-night', executionArn: arnOf('leads-night') }];

  await followToTheEnd(cloud.target, runs, { deployment: 'prod' });
  await followToTheEnd(cloud.target, runs, { deployment: 'prod', json: true });

  expect(written.join('')).toContain(', 2 warnings: npx --no -- crm-export show leads-night --deployment prod\n');
  expect(JSON.parse(written.at(-1) ?? '')).toMatchObject({ ok: true, runs: [{ warningCount: 2 }] });
});
