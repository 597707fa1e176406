import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/verify.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { statesOf } from './support/states-of.ts';

const MIB = 1024 * 1024;
let system: Deployed;

beforeAll(async () => {
  const polling = { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 };
  // Three parts of the smallest size.
  system = await deployForTests('continued', { polling }, { bytes: { leads: 24 * MIB } });
});

afterAll(() => system?.close());

it('the next invocation continues an upload, and starts over where the file has changed', async () => {
  const { faults } = system.sandbox;
  faults.add({ path: 'file', entity: 'leads', calls: [3], answer: { status: 403, body: '<Error/>' } });
  faults.add({ path: 'download', entity: 'leads', calls: [2], answer: { status: 409 } });
  faults.add({ path: 'file', entity: 'leads', etagChangesAt: 4 });

  const report = await system.run('leads');

  expect(`${report.status} ${report.error} ${report.cause}`).toBe('SUCCEEDED null null');
  const { manifest } = await verifyPublished(system.target, report);
  expect(manifest.export).toMatchObject({ restarts: 1 });
  const states = await statesOf(system.target, report.executionArn);
  const waited = states.filter(({ name, state }) => name === 'WaitBeforeCheck' && state?.outcome === 'NOT_READY');
  expect(waited.map(({ state }) => state?.moving?.upload?.size)).toContain(manifest.file.bytes);
  expect(await bucketTools(system.target).uploads()).toEqual([]);
});
