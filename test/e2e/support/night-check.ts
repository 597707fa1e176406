import { InvokeCommand } from '@aws-sdk/client-lambda';
import { expect } from 'vitest';
import { deployedConfiguration } from '../../../cli/support/deployed-configuration.ts';
import { timesOfNight } from '../../../core/night/night-schedule.ts';
import { dateAfter, dateIn } from '../../../core/schedule/local-time.ts';
import type { Deployed } from './deployed.ts';
import { linesOf } from './everything.ts';

type Place = Pick<Deployed, 'target' | 'cloud' | 'lambda'>;

/**
 * Makes the deployed check evaluate the nights at `time`, repeatedly until its log has counted `value` incomplete
 * nights: the local cloud may log the last lines of a call only with the next call.
 */
async function checkUntilCounted(system: Place, time: Date, value: number) {
  let checked = await check(system, time);
  for (let again = 0; again < 20 && !checked.counted.includes(value); again += 1) checked = await check(system, time);
  expect(checked.counted).toContain(value);
  return checked;
}

/** Runs the check now, from when it watches, and just after the deadline of the next night, which is missing. */
export async function missNextNight(system: Place) {
  const { counted } = await checkUntilCounted(system, new Date(), 0);
  const deployed = await deployedConfiguration(system.target);
  const date = dateAfter(dateIn(deployed.timeZone, new Date()), 1);
  const deadline = timesOfNight(deployed, date)?.deadline.getTime() ?? Number.NaN;
  const { lines } = await checkUntilCounted(system, new Date(deadline + 1000), 1);
  return { date, before: counted, lines };
}

async function check(system: Place, time: Date) {
  const Payload = JSON.stringify({ source: 'aws.events', time: time.toISOString() });
  const answer = await system.lambda.send(
    new InvokeCommand({ FunctionName: `${system.target.stack}-RecordNight`, Payload }),
  );
  expect(answer.FunctionError).toBeUndefined();
  const lines = (await linesOf(system)).filter(({ step }) => step === 'RecordNight');
  return { lines, counted: lines.flatMap(({ NightIncomplete }) => NightIncomplete ?? []) };
}
