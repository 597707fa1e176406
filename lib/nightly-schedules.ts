import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import { EventField, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction, SfnStateMachine } from 'aws-cdk-lib/aws-events-targets';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { spansMidnight } from '../core/night/night-schedule.ts';
import { longestGapDays, nextStarts, START_TRIED_HOURS } from '../core/schedule/next-starts.ts';
import type { EncryptionKey } from './resources/encryption-key.ts';
import type { StepFunction } from './workflow/step-function.ts';

interface NightlySchedulesProps {
  deployment: Deployment;
  machine: IStateMachine;
  key: EncryptionKey;
  RecordNight: StepFunction;
}

/**
 * Checks run at half past, because nights begin at full hours. Hourly checks cost little, and report a night before
 * people ask for it.
 */
const CHECK = Schedule.expression('cron(30 * * * ? *)');

/**
 * Rules in UTC, the only zone of rules: one for each entity and one that checks the last nights. By default the first
 * entity starts at 01:00 (`START_UTC`), and each further one `nightly.spreadMinutes` after the previous one.
 */
export class NightlySchedules extends Construct {
  readonly deadLetterQueue: Queue;
  private readonly role: Role;

  constructor(scope: Construct, id: string, { deployment, machine, key, RecordNight }: NightlySchedulesProps) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'UndeliveredStarts', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key.key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    // EventBridge may use the role only for rules of this account, not as a deputy of other accounts.
    const conditions = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    this.role = new Role(this, 'StartRole', {
      assumedBy: new ServicePrincipal('events.amazonaws.com', { conditions }),
    });
    for (const entity of ENTITIES) this.rule(entity, deployment, machine);
    // Killed runs do not record their night, so this check does (docs/adr/0042).
    new Rule(this, 'Check', {
      description: 'Records what is published of the last nights',
      schedule: CHECK,
      targets: [new LambdaFunction(RecordNight.alias, { deadLetterQueue: this.deadLetterQueue })],
    });
    if (spansMidnight(deployment, new Date()))
      this.warn(
        'night-spans-midnight',
        `The night spans midnight in ${deployment.timeZone}: entities that start before and after it get different dates, so the record of a date has entities of two nights. Choose another start time (nightly.at).`,
      );
  }

  private rule(entity: Entity, deployment: Deployment, machine: IStateMachine): void {
    const timing = timingOf(deployment, entity);
    const { enabled } = deployment.entities[entity];
    const target = new SfnStateMachine(machine, {
      input: RuleTargetInput.fromObject({ entity, scheduledFor: EventField.time }),
      role: this.role,
      deadLetterQueue: this.deadLetterQueue,
      maxEventAge: Duration.hours(START_TRIED_HOURS),
      retryAttempts: 8,
    });
    new Rule(this, entity, {
      ruleName: `${Stack.of(this).stackName}-${entity}`,
      description: `Starts the nightly export of ${entity}`,
      schedule: Schedule.expression(timing.expression),
      enabled,
      targets: [target],
    });
    if (!enabled) return;
    const gap = longestGapDays(timing, new Date());
    const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
    if (deployment.retentionDays <= gap)
      this.warn(
        `history-${entity}`,
        `Checks of ${entity} have no earlier files to compare with: exports are kept for ${days(deployment.retentionDays)} (retentionDays), and two starts may be ${days(gap)} apart. Raise retentionDays.`,
      );
    // EventBridge accepts a schedule for 30 February, or for a year in the past.
    if (nextStarts(timing, new Date(), 1)?.length === 0)
      this.warn(
        `never-starts-${entity}`,
        `The schedule of ${entity}, ${timing.expression}, starts no run in the next eight years. Correct entities.${entity}.schedule, or set enabled to false.`,
      );
  }

  private warn(id: string, text: string): void {
    Annotations.of(this).addWarningV2(`crm-export:${id}`, text);
  }
}
