import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { watchClock } from '../../../cli/access/aws-clock.ts';
import { Reply, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');

/** The AWS time of a client after one answer with this Date header. */
async function timeAfter(date: string | undefined): Promise<Date> {
  const dated = new Reply((response, call) => {
    response.sendDate = false;
    if (date) response.setHeader('date', date);
    refused('ResourceNotFoundException').send(response, call);
  });
  const client = (await aws({ secretsmanager: dated })).client(SecretsManagerClient);
  const clock = watchClock(client, () => NOW.getTime());
  await expect(client.send(new GetSecretValueCommand({ SecretId: 'x' }))).rejects.toThrow();
  return clock.now();
}

test('uses the time of AWS if the clock of this machine is wrong, also when the answer is an error', async () => {
  expect((await timeAfter('Fri, 20 Nov 2026 12:05:00 GMT')).toISOString()).toBe('2026-11-20T12:05:00.500Z');
  expect((await timeAfter('Fri, 20 Nov 2026 11:59:50 GMT')).toISOString()).toBe('2026-11-20T11:59:50.500Z');
});

test('uses the clock of this machine if it agrees with AWS, or if the answer has no Date header', async () => {
  expect(await timeAfter('Fri, 20 Nov 2026 12:00:01 GMT')).toEqual(NOW);
  expect(await timeAfter(undefined)).toEqual(NOW);
});
