import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Entity } from '../../core/config/entities.ts';
import { runCli, WITHOUT_AWS } from '../cli/support/run-cli.ts';
import { endAll, run } from '../support/running.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

/** Tests the commands that change something, as a person runs them. The screens and unit tests show the others. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('operator', {}, { rows: 3, jobChecks: 1 });
});

afterAll(async () => {
  await endAll();
  await system?.close();
});

afterEach(() => {
  system.sandbox.faults.clear();
  system.sandbox.settings.jobChecks = 1;
});

const cli = (...args: string[]) => runCli(...args, ...system.place);

async function documentOf(...args: string[]) {
  const { code, stdout, stderr } = await cli(...args, '--json');
  expect(stdout.trimEnd().split('\n'), stderr).toHaveLength(1);
  return { code, stderr, document: JSON.parse(stdout) };
}

const describe = (executionArn: string) => system.target.sfn.send(new DescribeExecutionCommand({ executionArn }));

/** A run that continues until it is stopped: its export is never ready, and every status request takes a while. */
async function endlessRun(entity: Entity) {
  system.sandbox.settings.jobChecks = 100_000;
  system.sandbox.faults.add({ path: 'status', entity, delaySeconds: 0.5 });
  const { code, document } = await documentOf('start', entity);
  expect(code).toBe(0);
  return document.runs[0];
}

it('start --wait follows several runs and ends with exit code 1 for a failed one, which retry repeats', async () => {
  system.sandbox.faults.add({ path: 'status', entity: 'contacts', status: 'FAILED' });
  const started = await documentOf('start', 'leads', 'contacts', '--date', '2026-11-02', '--same-data', '--wait');
  expect(started).toMatchObject({
    code: 1,
    document: {
      ok: false,
      runs: [
        { status: 'SUCCEEDED', rows: 3 },
        { status: 'FAILED', error: 'ExportFailed' },
      ],
    },
  });
  system.sandbox.faults.clear();

  const { run: name } = started.document.runs[1];
  const retried = await documentOf('retry', name, '--wait');
  expect(retried.code, retried.stderr).toBe(0);
  expect(retried.document).toMatchObject({ ok: true, runs: [{ entity: 'contacts', status: 'SUCCEEDED', rows: 3 }] });
  const anew = await describe(retried.document.runs[0].executionArn);
  expect(JSON.parse(anew.input ?? '')).toEqual({ entity: 'contacts', date: '2026-11-02' });
  expect(anew.name).not.toBe(name);
});

it('Ctrl-C ends follow but not the run; stop ends the run, and retry adopts its export', async () => {
  const { run: name, executionArn } = await endlessRun('meetings');
  const follow = run('cli/main.js', ['follow', 'meetings', ...system.place], WITHOUT_AWS);
  await follow.says(/meetings: CheckStatus, \d+ check/);
  expect(await follow.interrupt(), follow.stderr()).toBe(130);
  expect(follow.stderr()).toMatch(new RegExp(`^Stopped .* follow ${name} .*--deployment operator\\n$`, 'm'));
  expect((await describe(executionArn)).status).toBe('RUNNING');

  const stopped = await cli('stop', 'meetings', '--yes');
  expect(stopped, stopped.stderr).toMatchObject({ code: 0, stdout: `${name}: stopped.\n` });
  const error = { error: 'StoppedByOperator', cause: expect.stringContaining('command stop') };
  expect(await describe(executionArn)).toMatchObject({ status: 'ABORTED', ...error });
  expect(await cli('stop', name, '--yes')).toMatchObject({ code: 2 });
  const { document: shown } = await documentOf('show', name);
  expect(shown).toMatchObject({ status: 'ABORTED', ...error });

  system.sandbox.faults.clear();
  system.sandbox.settings.jobChecks = 1;
  const requested = () => system.sandbox.ledger.count({ kind: 'create', entity: 'meetings' });
  const before = requested();
  const retried = await documentOf('retry', name, '--wait');
  expect(retried.document).toMatchObject({ ok: true, runs: [{ status: 'SUCCEEDED', exportId: shown.exportId }] });
  expect(requested()).toBe(before);
});
