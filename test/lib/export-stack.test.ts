import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { textTable } from '../../cli/support/text.ts';
import { deployedBy, deployedOf, digestOf } from '../../core/config/deployed.ts';
import { offsetsFrom } from '../../core/config/timing.ts';
import { exampleDeployment, fullDeployment, updatingDeployment } from '../../scripts/deployments.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { resolved } from '../../scripts/template.ts';
import { warningsOf } from './support/stack.ts';
import { allOf, oneOf } from './support/template.ts';

const SCREENS = join(import.meta.dirname, '../screens');
const json = synthesise();
const all = (type: string, from = json) => allOf(from, type);

function templateWith(values: Record<string, unknown>) {
  return synthesise(exampleDeployment(values));
}

/** A template with settings that do not affect each other. */
const { crm } = exampleDeployment();
const other = templateWith({
  crm: { ...crm, createTimeoutSeconds: 600 },
  files: { memoryMB: { download: 1024, publish: 3008 } },
  tableMemoryMB: 2048,
  entities: { leads: { schedule: 'rate(1 minute)', columns: ['id'], tables: {} }, meetings: { enabled: false } },
});

describe('the functions', () => {
  const functions = allOf(synthesise(fullDeployment()), 'AWS::Lambda::Function');

  test('equal the stored table', async () => {
    const columns = ['function', 'seconds', 'MB', 'MB of disk', 'environment'];
    const rows = functions.map(([, { Properties }]) => {
      const { FunctionName, Timeout, MemorySize, EphemeralStorage, Environment } = Properties;
      const variables = Object.entries(Environment.Variables).map(([name, value]) => `${name}=${resolved(value)}`);
      const sizes = [Timeout, MemorySize, EphemeralStorage?.Size ?? 512].map(String);
      return [FunctionName, ...sizes, variables.toSorted().join(' ')];
    });
    await expect(`${textTable(columns, rows.toSorted())}\n`).toMatchFileSnapshot(join(SCREENS, 'functions.txt'));
    for (const [, { Properties }] of functions)
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        TracingConfig: { Mode: 'Active' },
      });
  });

  test('CreateExport has 290 seconds more than an answer may take (60 and 600 seconds)', () => {
    const timeouts = [json, other].map(
      (each) => oneOf(each, 'AWS::Lambda::Function', 'CreateExport')[1].Properties.Timeout,
    );

    expect(timeouts).toEqual([350, 890]);
  });

  test('that stream have the configured memory, and leave room outside the heap', () => {
    const streaming = ['DownloadFile', 'PublishFile', 'WriteTable'].map((step) => {
      const [, { Properties }] = oneOf(other, 'AWS::Lambda::Function', step);
      return [Properties.MemorySize, Properties.Environment.Variables.NODE_OPTIONS];
    });

    expect(streaming).toEqual([
      [1024, '--max-old-space-size=832 --max-semi-space-size=1'],
      [3008, '--max-old-space-size=2816 --max-semi-space-size=1'],
      [2048, '--max-old-space-size=1856 --max-semi-space-size=1'],
    ]);
  });
});

describe('the rules', () => {
  test('equal the stored table, with the schedule of an entity, and a disabled one', async () => {
    const columns = ['rule', 'state', 'schedule', 'target', 'input', 'tried', 'undelivered'];
    const rows = all('AWS::Events::Rule', other).map(([id, { Properties }]) => {
      const { State, ScheduleExpression, EventPattern, Targets } = Properties;
      const [{ Arn, InputTransformer, RetryPolicy, DeadLetterConfig }] = Targets;
      const when = ScheduleExpression ?? EventPattern.detail.status.join(' ');
      const { MaximumEventAgeInSeconds: age, MaximumRetryAttempts: times } = RetryPolicy ?? {};
      const tried = age ? `${times} times in ${age} s` : '';
      const [target, queue] = [resolved(Arn), resolved(DeadLetterConfig.Arn)];
      return [id, State, when, target, InputTransformer?.InputTemplate ?? '', tried, queue];
    });
    await expect(`${textTable(columns, rows.toSorted())}\n`).toMatchFileSnapshot(join(SCREENS, 'rules.txt'));
  });

  test('one rule per entity fires at every UTC time that its local start can have', () => {
    const nightly = { at: '01:50', spreadMinutes: 7 };
    const local = templateWith({ timeZone: 'Asia/Jerusalem', nightly, entities: { meetings: { at: '04:00' } } });

    const rules = all('AWS::Events::Rule', local).filter(([id]) => /^Nightly(?!Check)/.test(id));
    expect(rules.map(([, { Properties }]) => Properties.ScheduleExpression)).toEqual([
      'cron(50 22,23 * * ? *)',
      'cron(57 22,23 * * ? *)',
      'cron(4 0,23 * * ? *)',
      'cron(11 0,23 * * ? *)',
      'cron(18 0,23 * * ? *)',
      'cron(0 1,2 * * ? *)',
      'cron(32 0,23 * * ? *)',
    ]);
  });
});

const OFF = { 'agent-numbers': { enabled: false }, workflows: { enabled: false } };
const WEEKLY = { schedule: 'cron(0 1 ? * SUN *)' };

test('synthesis warns of a short retention, of a night over local midnight, and of entities that never start', () => {
  const entities = {
    ...OFF,
    leads: WEEKLY,
    contacts: { schedule: 'cron(0 2 30 2 ? *)' },
    customers: { schedule: 'cron(0 2 * * ? 2020)' },
    employers: { schedule: 'cron(0 2 30 2 ? *)', enabled: false },
  };
  const night = { timeZone: 'Asia/Jerusalem', nightly: { at: '23:50', spreadMinutes: 7 } };

  expect(warningsOf(updatingDeployment({ retentionDays: 7, entities }))).toEqual(
    expect.arrayContaining(['history-leads', 'never-starts-contacts', 'never-starts-customers']),
  );
  expect(warningsOf(updatingDeployment(night))).toEqual(['night-spans-midnight']);
});

test('synthesis does not warn of eight days for a weekly start, of a leap day, or of a night after midnight', () => {
  const entities = { leads: WEEKLY, customers: { schedule: 'cron(0 2 29 2 ? *)' }, meetings: { enabled: false } };
  const nightly = { at: '00:10', spreadMinutes: 7 };
  const deployment = updatingDeployment({ retentionDays: 8, timeZone: 'Asia/Jerusalem', nightly, entities });

  expect(warningsOf(deployment)).toEqual(['history-customers']);
});

describe('the stack', () => {
  test('has its configuration in its metadata, in ASCII', () => {
    const { timeZone } = exampleDeployment();
    const told = { ...exampleDeployment(), zoneOffsets: offsetsFrom(timeZone) };
    expect(deployedBy(json.Metadata)).toEqual(deployedOf(told));
    expect(JSON.stringify(json.Metadata)).toMatch(/^[\x20-\x7e]+$/);
  });

  test('changes a resource with its configuration, because CloudFormation ignores changes of metadata alone', () => {
    for (const each of [json, other]) {
      const [[id]] = all('AWS::CloudFormation::WaitConditionHandle', each) as [[string, unknown]];
      expect(id).toBe(`Configuration${digestOf(deployedBy(each.Metadata))}`);
    }
  });

  test('is far below the limits of a template', () => {
    expect(Object.keys(json.Resources).length).toBeLessThan(250);
    expect(JSON.stringify(json).length).toBeLessThan(500_000);
  });
});
