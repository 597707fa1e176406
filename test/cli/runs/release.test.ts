import { hostname, userInfo } from 'node:os';
import { Readable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import type { Manifest } from '../../../core/export/manifest.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';

const failed: Execution = {
  name: 'leads-night',
  status: 'FAILED',
  input: { entity: 'leads' },
  error: 'FileQuarantined',
  cause: 'It shrank.',
  start: '2026-11-20T01:00:00.000Z',
  stop: '2026-11-20T01:05:00.000Z',
};
const stopped = (guard = 'maxShrink'): Partial<Manifest> => ({
  state: 'quarantined',
  guards: {
    checks: [{ guard, passed: false, measured: 0.9, bound: 0.5, detail: null }],
    comparedWith: [],
    medianRows: 10,
  },
});

async function cloudWith(manifest: Partial<Manifest> | null, execution: Partial<Execution> = {}) {
  const cloud = await aws(executions([{ ...failed, ...execution }]));
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
  expect(stderr).toMatch(/leads-\S+ releases leads-night\.\nTo follow: /);
});

test('shows how the file differs from the published one, unless --yes is given', async () => {
  const { release, publish, started } = await cloudWith(null);
  publish({ date: '2026-11-19', execution: 'leads-before', content: 'id,name\n1,a\n2,b\n3,c\n' });
  publish({ content: 'id,name\n1,a\n2,x\n', manifest: stopped(), pointers: [] });

  expect((await release('leads-night', '--reason', 'Holidays')).stderr).toContain('keys by id: 0 added, 1 removed');
  expect((await release('leads-night', '--reason', 'Holidays', '--yes')).stderr).not.toContain('keys by');
  expect(started).toHaveLength(2);
});

test('asks a person at a terminal, and releases the run only after yes', async () => {
  const { release, started } = await cloudWith(stopped());
  const answered = async (line: string) => {
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(Object.assign(Readable.from([line]), { isTTY: true }) as never);
    return release('leads-night', '--reason', 'Holidays');
  };

  expect(await answered('n\n')).toMatchObject({
    ...{ code: 2, stderr: expect.stringMatching(/Release leads-night to its readers\? \[y\/N\] Not confirmed/) },
  });
  expect(started).toEqual([]);
  expect((await answered('y\n')).code).toBe(0);
  expect(started).toHaveLength(1);
});

test('releases a run that cannot be compared, and says why it was not compared', async () => {
  const { release } = await cloudWith(stopped());

  const { code, stderr } = await release('leads-night', '--reason', 'The first night');

  expect(code).toBe(0);
  expect(stderr).toMatch(/^Not compared: No export of leads is published before 2026-11-20/);
});

test('sets newNormal in the input for --new-normal, and finds the run by its entity', async () => {
  const { release, started } = await cloudWith(stopped());

  expect(await release('leads', '--reason', 'Archived', '--new-normal')).toMatchObject({ code: 0 });

  expect(started).toMatchObject([{ release: 'leads-night', newNormal: true }]);
});

test('says that latest does not change if a later date is published', async () => {
  const { release, publish } = await cloudWith(stopped());
  publish({ date: '2026-11-21', execution: 'leads-next' });

  const { stderr } = await release('leads-night', '--reason', 'Holidays');

  expect(stderr).toContain('It becomes the published leads of 2026-11-20. The pointer latest stays at 2026-11-21.');
});

test.each(['{"schemaVersion":1,"execution":"leads-old"}', '{}'])(
  'warns of a pointer that reads %s',
  async (pointer) => {
    const { release, started, objects } = await cloudWith(stopped());
    objects.set('published/entity=leads/latest.json', Buffer.from(pointer));

    const { code, stderr } = await release('leads-night', '--reason', 'Holidays');

    expect({ code, started: started.length }, stderr).toEqual({ code: 0, started: 1 });
    expect(stderr).toContain('The object published/entity=leads/latest.json ');
  },
);

test('refuses in one sentence a run that cannot be released, and starts no execution', async () => {
  const rows: [what: string, Partial<Manifest> | null, Partial<Execution>?][] = [
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
