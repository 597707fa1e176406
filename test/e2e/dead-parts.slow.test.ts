import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';

/** Tests a deployment after its predecessor was destroyed. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('dead-parts', {}, { rows: 3, jobChecks: 1 });
});

afterAll(() => system?.close());

it('a deployment after a destroy has a new bucket and publishes', async () => {
  const before = system.target;

  await system.destroy();
  await system.deploy();
  await system.authorize();

  expect(system.target.BucketName).not.toBe(before.BucketName);
  const report = await system.run('leads');
  expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect((await verifyPublished(system.target, report)).file.rows).toBe(3);
});
