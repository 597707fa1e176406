import {
  ListRulesCommand,
  ListTargetsByRuleCommand,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ListExecutionsCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManifests } from '../../cli/data/stored-manifests.ts';
import { followRun } from '../../cli/runs/follow.ts';
import type { Run } from '../../cli/runs/run.ts';
import { deployedConfiguration } from '../../cli/support/deployed-configuration.ts';
import { ENTITIES } from '../../core/config/entities.ts';
import { completeKey } from '../../core/night/night-record.ts';
import { timesOfNight } from '../../core/night/night-schedule.ts';
import { SINCE_KEY } from '../../core/night/watched-since.ts';
import { dateAfter, dateIn } from '../../core/schedule/local-time.ts';
import { eventually } from '../support/project.ts';
import { bucketTools } from './support/bucket-tools.ts';
import { type Deployed, deployForTests } from './support/deployed.ts';
import { linesOf } from './support/everything.ts';
import { localPlace } from './support/vpc.ts';

/** Tests nights with a working CRM: publications, the check of a night, and repeated, late or automatic starts. */

const OF_MEETINGS = 'rate(7 hours)';
let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('nights', {
    timeZone: 'Asia/Jerusalem',
    entities: { meetings: { schedule: OF_MEETINGS } },
  });
});

afterAll(() => system?.close());

describe('a night without trouble', () => {
  it('publishes all seven entities, each readable through pointer, manifest and file', async () => {
    // Two at a time: each run at once would start functions of its own. `start.slow.test.ts` runs all seven at once.
    const reports: Run[] = [];
    const queue = [...ENTITIES.entries()];
    const inTurn = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) reports[next[0]] = await system.run(next[1]);
    };
    await Promise.all([inTurn(), inTurn()]);

    for (const report of reports) {
      const manifest = await system.manifestOf(report);
      expect(manifest.file).toMatchObject({ rows: 240, header: manifest.run.request.columns });
      expect(manifest.warnings).toEqual([]);
    }
    expect(system.sandbox.ledger.violations()).toEqual([]);

    // Meetings start every few hours here, so they belong to no night.
    const { date } = (await system.manifestOf(reports[0] as Run)).run;
    const night = await createManifests(system.target).night(date);
    const runs = Object.values(night?.entities ?? {}).map(({ file }) => file?.run);
    const ofNight = reports.filter((_, index) => ENTITIES[index] !== 'meetings');
    expect(night?.complete).toBe(true);
    expect(runs).toEqual(ofNight.map(({ run }) => run));
    const told = await bucketTools(system.target).keys('published/nights/complete/');
    expect(told).toContain(completeKey({ date, revision: night?.revision ?? 0 }));
  });

  it('is followed by a night without files, which the check reports after its deadline', async () => {
    const deployed = await deployedConfiguration(system.target);
    const date = dateAfter(dateIn(deployed.timeZone, new Date()), 1);
    const deadline = timesOfNight(deployed, date)?.deadline.getTime() ?? Number.NaN;

    await checkUntilCounted(new Date(), 0);
    const lines = await checkUntilCounted(new Date(deadline + 1000), 1);

    const missing = ENTITIES.filter((entity) => entity !== 'meetings');
    expect(lines).toContainEqual(expect.objectContaining({ level: 'WARN', date, missing }));
    expect(await bucketTools(system.target).keys('nights/')).toEqual([SINCE_KEY]);
  });
});

/** Invokes the check of the nights at a time, until its log has this count: the local cloud may log a call with the next one. */
function checkUntilCounted(time: Date, count: number) {
  const Payload = JSON.stringify({ source: 'aws.events', time: time.toISOString() });
  const invoke = new InvokeCommand({ FunctionName: `${system.target.stack}-RecordNight`, Payload });
  return eventually(async () => {
    const { FunctionError } = await new LambdaClient(localPlace()).send(invoke);
    expect(FunctionError).toBeUndefined();
    const lines = (await linesOf(system.target)).filter(({ step }) => step === 'RecordNight');
    return lines.some(({ NightIncomplete }) => NightIncomplete === count) && lines;
  });
}

it('the run that the rule of an entity starts is published', async () => {
  const { events, sfn, StateMachineArn: stateMachineArn, stack } = system.target;
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: stack }));
  const { Name: Rule } = Rules.find(({ ScheduleExpression }) => ScheduleExpression === OF_MEETINGS) ?? {};
  const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule }));
  // The schedule is EventBridge's. Another rule with the same target starts the run at once.
  const EventPattern = JSON.stringify({ source: ['clock'] });
  await events.send(new PutRuleCommand({ Name: 'clock', EventPattern }));
  await events.send(new PutTargetsCommand({ Rule: 'clock', Targets }));

  await events.send(new PutEventsCommand({ Entries: [{ Source: 'clock', DetailType: 'Scheduled', Detail: '{}' }] }));

  const byRule = async () => {
    const { executions = [] } = await sfn.send(new ListExecutionsCommand({ stateMachineArn }));
    return executions.find(({ name }) => isRuleName(name ?? ''))?.executionArn;
  };
  const executionArn = await eventually(byRule, { everyMs: 200 });
  const manifest = await system.manifestOf(await followRun(sfn, executionArn, { everyMs: 200 }));
  expect(manifest.run.entity).toBe('meetings');
});

/** A rule names its execution by the id of the event. */
function isRuleName(name: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}/.test(name);
}
