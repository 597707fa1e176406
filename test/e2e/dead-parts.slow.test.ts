import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { putTokens } from './support/secrets.ts';

/** Tests broken or missing parts of a deployment: how the next run ends, and how to restore the deployment. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('dead-parts', {}, { rows: 3, jobChecks: 1 });
});

afterAll(() => system?.close());

it('a run ends in ConfigInvalid if the secret of the grant is not JSON, without its value', async () => {
  await putTokens(system, 'not-json-but-secret');
  // Warm functions read the secret again only when the CRM refuses their token.
  system.sandbox.expireAccessTokens();

  const report = await system.run('customers');

  await system.authorize();
  expect(report).toMatchObject({ status: 'FAILED', error: 'ConfigInvalid' });
  expect(report.cause).toContain('npx --no -- crm-export authorize');
  expect(report.cause).not.toContain('not-json-but-secret');
});

it('a run ends in StorageDenied if the bucket does not exist', async () => {
  await bucketTools(system.target).remove();

  const report = await system.run('employers');

  expect(report).toMatchObject({ status: 'FAILED', error: 'StorageDenied' });
});

it('a deployment after a destroy has a new bucket and publishes', async () => {
  const before = system.target;

  await system.destroy();
  await system.deploy();
  await system.authorize();

  expect(system.target.BucketName).not.toBe(before.BucketName);
  const report = await system.run('leads');
  expect(report).toMatchObject({ status: 'SUCCEEDED', error: null });
  expect((await verifyPublished(system.target, report)).manifest.file.rows).toBe(3);
});
