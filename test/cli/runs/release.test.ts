import { hostname, userInfo } from 'node:os';
import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { clockAt } from '../../support/clock.ts';
import { type ManifestChanges, stoppedBy } from '../../support/manifests.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, execution, executions } from '../support/cloud/executions.ts';

clockAt('2026-11-21T12:00:00Z');

const stopped = (guard = 'maxShrink') => stoppedBy(guard, { measured: 0.9, medianRows: 10 });

async function cloudWith(manifest: ManifestChanges | null, changes: Partial<Execution> = {}) {
  const failed = { status: 'FAILED', error: 'FileQuarantined', cause: 'It shrank.', ...changes };
  const cloud = await aws(executions([execution('leads-night', failed)]));
  if (manifest) cloud.publish({ manifest, pointers: [] });
  return { ...cloud, release: (...args: string[]) => cloud.cli('release', ...args) };
}

test('starts an execution whose input has only the run, the reason and the person', async () => {
  const { release, started } = await cloudWith(stopped());

  const { code, stdout, stderr } = await release('leads-night', '--reason', 'Holidays');

  expect(code, stderr).toBe(0);
  const by = `${userInfo().username}@${hostname()}`;
  expect(started).toEqual([{ entity: 'leads', release: 'leads-night', reason: 'Holidays', by }]);
  expect(stdout).toMatch(/^arn:\S+\n$/);
});

test('asks a person at a terminal, and releases the run only after yes', async () => {
  const { release, started } = await cloudWith(stopped());
  const answered = async (line: string) => {
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(Object.assign(Readable.from([line]), { isTTY: true }) as never);
    return release('leads-night', '--reason', 'Holidays');
  };

  const refused = await answered('n\n');
  expect([refused.code, started]).toEqual([2, []]);
  const agreed = await answered('y\n');
  expect([agreed.code, started.length]).toEqual([0, 1]);

  const { publish, release: releaseYes } = await cloudWith(stopped());
  publish({ date: '2026-11-21', execution: 'leads-next' });
  const yes = await releaseYes('leads-night', '--reason', 'Holidays', '--yes');
  await expectResults('release-questions', [
    ['a file that cannot be compared; no', refused],
    ['a file that cannot be compared; yes', agreed],
    ['--yes, and a later date is published', yes],
  ]);
});

test('sets newNormal in the input for --new-normal, and finds the run by its entity', async () => {
  const { release, started } = await cloudWith(stopped());

  expect(await release('leads', '--reason', 'Archived', '--new-normal')).toMatchObject({ code: 0 });

  expect(started).toMatchObject([{ release: 'leads-night', newNormal: true }]);
});

test('refuses in one sentence a run that cannot be released, and starts no execution', async () => {
  const rows: [what: string, ManifestChanges | null, Partial<Execution>?][] = [
    ['under way', null, { status: 'RUNNING' }],
    ['without a stored file', null],
    ['published', {}],
    ['stored without being published', { state: 'unpublished' }],
    ['with a left-out column', stopped('excepted')],
    ['without an entity', null, { input: {} }],
  ];
  const results = [];
  for (const [what, manifest, execution] of rows) {
    const { release, started } = await cloudWith(manifest, execution);
    results.push([what, await release('leads-night', '--reason', 'Holidays')] as const);
    expect(started).toEqual([]);
  }
  const { release, started, publish } = await cloudWith(stopped());
  results.push(['unknown', await release('leads-nihgt', '--reason', 'Holidays')] as const);
  publish({ manifest: stopped() });
  results.push(['released already', await release('leads-night', '--reason', 'Holidays')] as const);
  publish({ execution: 'leads-night-2' });
  results.push(['older than the published run', await release('leads-night', '--reason', 'Holidays')] as const);

  expect(new Set(results.map(([, { code }]) => code))).toEqual(new Set([2]));
  expect(started).toEqual([]);
  await expectResults('release-refusals', results);
});
