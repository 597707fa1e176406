import { InvokeCommand } from '@aws-sdk/client-lambda';
import { expect } from 'vitest';
import type { Deployed } from './deployed.ts';
import { linesOf } from './everything.ts';

/**
 * Lets the deployed check look at the nights at `time`, and again until its log has counted `value` incomplete nights: the local
 * cloud may leave the last lines of a call to the log of the next.
 */
export async function checkUntilCounted(system: Deployed, time: Date, value: number) {
  let checked = await check(system, time);
  for (let again = 0; again < 20 && !checked.counted.includes(value); again += 1) checked = await check(system, time);
  expect(checked.counted).toContain(value);
  return checked;
}

async function check(system: Deployed, time: Date) {
  const { lambda, stack } = system.target;
  const Payload = JSON.stringify({ source: 'aws.events', time: time.toISOString() });
  const answer = await lambda.send(new InvokeCommand({ FunctionName: `${stack}-RecordNight`, Payload }));
  expect(answer.FunctionError).toBeUndefined();
  const lines = (await linesOf(system)).filter(({ step }) => step === 'RecordNight');
  return { lines, counted: lines.flatMap(({ NightIncomplete }) => NightIncomplete ?? []) };
}
