import { LambdaClient } from '@aws-sdk/client-lambda';
import { expect, it } from 'vitest';
import { concurrencyCheck } from '../../../cli/doctor/concurrency.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';
import { type Reply, serve } from '../support/aws-server.ts';

const limits = (ConcurrentExecutions: number, UnreservedConcurrentExecutions: number): Reply => ({
  status: 200,
  type: 'application/json',
  body: JSON.stringify({ AccountLimit: { ConcurrentExecutions, UnreservedConcurrentExecutions } }),
});

/** A client of an account that answers so to the one request that is expected. */
async function account(reply: Reply): Promise<{ lambda: LambdaClient }> {
  const endpoint = await serve(({ method, url }) =>
    `${method} ${url}` === 'GET /2016-08-19/account-settings' ? reply : { status: 404 },
  );
  const credentials = { accessKeyId: 'a', secretAccessKey: 's' };
  return { lambda: new LambdaClient({ endpoint, region: 'eu-west-1', credentials, maxAttempts: 1 }) };
}

const settings = deployment();
const updating = deployment({ customerUpdates: true, updates: { ...settings.updates, concurrency: 8 } });

it('says that everything fits, and what that is', async () => {
  expect(await concurrencyCheck(await account(limits(1000, 1000)), updating)).toMatchObject({
    status: 'ok',
    text: `The account may run 1000 functions at once; this deployment may want ${ENTITIES.length + 8}: ${ENTITIES.length} nightly runs and 8 chunks of a batch of updates.`,
  });
});

it('warns in a new account, which runs ten, and says how many chunks fit beside the nights', async () => {
  expect(await concurrencyCheck(await account(limits(10, 10)), updating)).toMatchObject({
    status: 'warning',
    text: expect.stringContaining(
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

  expect(await concurrencyCheck(await account(limits(1000, 0)), one)).toMatchObject({
    status: 'warning',
    text: 'The account may run 1000 functions at once, 0 of them not reserved; this deployment may want 1: 1 nightly runs.',
  });
});

it('says where the count is that of a file which is not deployed', async () => {
  expect((await concurrencyCheck(await account(limits(1000, 1000)), updating, false)).text).toMatch(
    /of a batch of updates\. \(By the file; another is deployed\.\)$/,
  );
});

it('tells the account alone where there is no configuration to compare with', async () => {
  expect(await concurrencyCheck(await account(limits(10, 10)), undefined)).toMatchObject({
    status: 'ok',
    text: 'The account may run 10 functions at once.',
  });
});

it('asks for the right that it lacks, and fails nothing', async () => {
  const denied: Reply = {
    status: 403,
    type: 'application/json',
    body: JSON.stringify({
      __type: 'AccessDeniedException',
      Message: 'User: x is not authorized to perform: lambda:GetAccountSettings',
    }),
  };

  expect(await concurrencyCheck(await account(denied), updating)).toMatchObject({
    status: 'warning',
    text: 'How many functions the account may run at once could not be looked at.',
  });
});
