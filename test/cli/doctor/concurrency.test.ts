import { LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { concurrency } from '../../../cli/doctor/concurrency.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { aws } from '../support/cloud/cloud.ts';

const limits = (ConcurrentExecutions: number, UnreservedConcurrentExecutions: number) => ({
  AccountLimit: { ConcurrentExecutions, UnreservedConcurrentExecutions },
});

/** An account that says this of its settings. */
async function account(GetAccountSettings: object): Promise<{ lambda: LambdaClient }> {
  const { client } = await aws({ GetAccountSettings });
  return { lambda: client(LambdaClient) };
}

const settings = deployment();
const updating = deployment({ customerUpdates: true, updates: { ...settings.updates, concurrency: 8 } });

it('says that everything fits, and what that is', async () => {
  expect(await concurrency(await account(limits(1000, 1000)), updating)).toMatchObject({
    verdict: 'holds',
    found: `The account may run 1000 functions at once; this deployment may want ${ENTITIES.length + 8}: ${ENTITIES.length} nightly runs and 8 chunks of a batch of updates.`,
  });
});

it('warns in a new account, which runs ten, and says how many chunks fit beside the nights', async () => {
  expect(await concurrency(await account(limits(10, 10)), updating)).toMatchObject({
    verdict: 'warning',
    found: expect.stringContaining(
      `The account may run 10 functions at once; this deployment may want ${ENTITIES.length + 8}: `,
    ),
    advice: expect.stringContaining(
      `"Concurrent executions" of AWS Lambda raised, or set updates.concurrency to ${10 - ENTITIES.length} at`,
    ),
  });
});

it('counts what is not reserved, and the nights that are switched on', async () => {
  const off = Object.fromEntries(
    ENTITIES.slice(1).map((entity) => [entity, { columns: 'all', extra: {}, enabled: false }]),
  );
  const one = deployment({ ...settings, entities: off });

  expect(await concurrency(await account(limits(1000, 0)), one)).toMatchObject({
    verdict: 'warning',
    found:
      'The account may run 1000 functions at once, 0 of them not reserved; this deployment may want 1: 1 nightly runs.',
  });
});

it('tells the account alone where there is no configuration to compare with', async () => {
  expect(await concurrency(await account(limits(10, 10)), undefined)).toMatchObject({
    verdict: 'holds',
    found: 'The account may run 10 functions at once.',
  });
});
