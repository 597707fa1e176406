import { expect, test } from 'vitest';
import { addFollow } from '../../../cli/runs/follow.ts';
import { addLogs } from '../../../cli/runs/logs.ts';
import { addRelease } from '../../../cli/runs/release-run.ts';
import { addRetry } from '../../../cli/runs/retry-run.ts';
import { addShow } from '../../../cli/runs/show-run.ts';
import { addStop } from '../../../cli/runs/stop.ts';
import { addTable } from '../../../cli/tables/table.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({
  follow: addFollow,
  show: addShow,
  logs: addLogs,
  retry: addRetry,
  release: addRelease,
  table: addTable,
  stop: addStop,
});

const COMMANDS = ['show', 'logs', 'follow', 'stop', 'retry', 'release', 'table'].map((name) => [name] as const);
const more = (command: string) => (command === 'release' ? ['--reason', 'Right.'] : []);
const ran = (name: string): Execution => ({
  ...{ name, status: 'SUCCEEDED', input: { entity: 'leads' } },
  start: '2026-11-20T02:00:00.000Z',
});

test.each(COMMANDS)('%s takes no end of two names, and names both', async (command) => {
  const { cli } = await aws(executions([ran('leads-a-c03f3a'), ran('leads-b-c03f3a')]));

  const { code, stderr } = await cli(command, 'c03f3a', ...more(command));

  expect(code).toBe(2);
  expect(stderr).toContain('2 runs end in "c03f3a": leads-a-c03f3a, leads-b-c03f3a; type more of the name.');
});

test.each(COMMANDS)('%s takes a date with an entity alone', async (command) => {
  const { cli } = await aws(executions([ran('leads-a-c03f3a')]));

  const { code, stderr } = await cli(command, 'leads-a-c03f3a', '--date', '2026-11-20', ...more(command));

  expect({ code, stderr }).toEqual({ code: 2, stderr: '--date goes with an entity: a run has its own date.\n' });
});

test.each(['show', 'stop'])(
  '%s finds the run of an entity and a date, and that of the end of a name',
  async (command) => {
    const { cli } = await aws(
      executions([{ ...ran('leads-b-111111'), start: '2026-11-21T02:00:00.000Z' }, ran('leads-a-c03f3a')]),
    );

    for (const args of [['leads', '--date', '2026-11-20'], ['c03f3a']]) {
      const { stdout, stderr } = await cli(command, ...args);
      expect(stdout + stderr).toMatch(/^leads-a-c03f3a/);
    }
  },
);
