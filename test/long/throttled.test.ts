import { GetExecutionHistoryCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPublished } from '../../cli/data/stored-file.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { throttled } from './support/throttled.ts';

/** Not an end-to-end test: throttling affects the whole account and raises alarms of all deployments in it. */
let system: Deployed;

beforeAll(async () => {
  const polling = { firstWaitSeconds: 1, largestWaitSeconds: 10, deadlineSeconds: 300, createAgainSeconds: 1 };
  system = await deployForTests('throttled', { polling });
});

afterAll(() => system?.close());

it('publishes all seven entities in an account that runs only one call of each function at once', async () => {
  const reports = await throttled(system, () => Promise.all(ENTITIES.map((entity) => system.run(entity))));

  for (const report of reports) {
    expect(`${report.status} ${report.error} ${report.cause}`).toBe('SUCCEEDED null null');
    expect((await verifyPublished(system.target, report)).manifest.file.rows).toBe(240);
  }
  const ends = await Promise.all(
    reports.map(({ executionArn }) =>
      system.target.sfn.send(new GetExecutionHistoryCommand({ executionArn, maxResults: 1000 })),
    ),
  );
  const refusals = ends.flatMap(({ events = [] }) => events.flatMap((event) => event.taskFailedEventDetails ?? []));
  expect(refusals.length).toBeGreaterThan(0);
  for (const { cause } of refusals) expect(cause).toContain('Rate Exceeded');
});
