import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { expect } from 'vitest';
import { deployedConfiguration } from '../../../cli/support/deployed-configuration.ts';
import type { Target } from '../../../cli/support/target.ts';
import { timesOfNight } from '../../../core/night/night-schedule.ts';
import { dateAfter, dateIn } from '../../../core/schedule/local-time.ts';
import { eventually } from '../../support/project.ts';
import { linesOf } from './everything.ts';
import { localPlace } from './vpc.ts';

/**
 * Makes the deployed check evaluate the nights at `time`, repeatedly until its log has counted `value` incomplete
 * nights: the local cloud may log the last lines of a call only with the next call.
 */
function checkUntilCounted(target: Target, time: Date, value: number) {
  return eventually(async () => {
    const checked = await check(target, time);
    return checked.counted.includes(value) ? checked : undefined;
  });
}

/** Runs the check now, from when it watches, and just after the deadline of the next night, which is missing. */
export async function missNextNight(target: Target) {
  const { counted } = await checkUntilCounted(target, new Date(), 0);
  const deployed = await deployedConfiguration(target);
  const date = dateAfter(dateIn(deployed.timeZone, new Date()), 1);
  const deadline = timesOfNight(deployed, date)?.deadline.getTime() ?? Number.NaN;
  const { lines } = await checkUntilCounted(target, new Date(deadline + 1000), 1);
  return { date, before: counted, lines };
}

/** No command invokes a function, so the test has a client of its own. */
async function check(target: Target, time: Date) {
  const Payload = JSON.stringify({ source: 'aws.events', time: time.toISOString() });
  const invoke = new InvokeCommand({ FunctionName: `${target.stack}-RecordNight`, Payload });
  const answer = await new LambdaClient(localPlace()).send(invoke);
  expect(answer.FunctionError).toBeUndefined();
  const lines = (await linesOf(target)).filter(({ step }) => step === 'RecordNight');
  return { lines, counted: lines.flatMap(({ NightIncomplete }) => NightIncomplete ?? []) };
}
