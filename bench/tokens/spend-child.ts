import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConditionalCheckFailedException, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createGetAccessToken, type GetAccessToken } from '../../core/oauth/access-token.ts';
import { accessTokenDeps } from '../../core/oauth/compose.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';
import { type Cost, type Counts, type Job, WARM_CALLS } from './job.ts';

/** One process of `bench:tokens`. */

const job = givenJob<Job>();
const secrets = new SecretsManagerClient();
const dynamo = new DynamoDBClient();
const counts: Counts = { reads: 0, versions: 0, ledgerWrites: 0, refusedClaims: 0 };

secrets.middlewareStack.add(
  (next, { commandName }) =>
    async (args) => {
      counts[commandName === 'PutSecretValueCommand' ? 'versions' : 'reads'] += 1;
      return next(args);
    },
  { step: 'finalizeRequest', priority: 'low' },
);
dynamo.middlewareStack.add(
  (next, { commandName }) =>
    async (args) => {
      try {
        const answer = await next(args);
        if (commandName === 'UpdateItemCommand') counts.ledgerWrites += 1;
        return answer;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) counts.refusedClaims += 1;
        throw error;
      }
    },
  { step: 'initialize' },
);

/** A client has its own cache and its own flight, as a container of Lambda has. */
function client(): GetAccessToken {
  return createGetAccessToken(
    accessTokenDeps(job.places, {
      secrets,
      dynamo,
      crm: job.crm,
      random: Math.random,
      authorizeCommand: '',
      now: () => new Date(),
      sleep: (ms) => sleep(ms),
      secondsLeft: () => 900,
      count: () => undefined,
    }),
  );
}

async function oneToken(getAccessToken: GetAccessToken): Promise<string> {
  const { accessToken } = await getAccessToken();
  return createHash('sha256').update(accessToken).digest('hex').slice(0, 12);
}

async function work(): Promise<string[]> {
  if (job.work === 'secret') {
    const read = () => secrets.send(new GetSecretValueCommand({ SecretId: job.places.tokensSecretId }));
    await Promise.all(clients.map(read));
    return [];
  }
  if (job.work === 'token') return Promise.all(clients.map(oneToken));
  for (let call = 0; call < WARM_CALLS; call += 1) for (const getAccessToken of clients) await getAccessToken();
  return [];
}

const clients = Array.from({ length: job.clients }, client);
if (job.work === 'warm') {
  await Promise.all(clients.map(oneToken));
  Object.assign(counts, { reads: 0, versions: 0, ledgerWrites: 0, refusedClaims: 0 });
}
await whenBegun(async (): Promise<Cost> => {
  let tokens: string[] = [];
  const { seconds, cpuSeconds } = await costOf(async () => {
    tokens = [...new Set(await work())];
  });
  return { ...counts, wallMs: seconds * 1000, cpuMs: cpuSeconds * 1000, tokens };
});
