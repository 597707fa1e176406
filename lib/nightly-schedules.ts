import { Annotations, Duration, Stack } from 'aws-cdk-lib';
import { EventField, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { SfnStateMachine } from 'aws-cdk-lib/aws-events-targets';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { longestGapDays } from '../core/schedule/longest-gap.ts';
import { START_TRIED_HOURS } from '../core/schedule/timing.ts';
import type { EncryptionKey } from './resources/encryption-key.ts';

interface NightlySchedulesProps {
  deployment: Deployment;
  machine: IStateMachine;
  key: EncryptionKey;
}

/** One rule per entity, in UTC, for rules know nothing else. A start that cannot be delivered in time goes to the queue. */
export class NightlySchedules extends Construct {
  readonly deadLetterQueue: Queue;
  private readonly role: Role;

  constructor(scope: Construct, id: string, { deployment, machine, key }: NightlySchedulesProps) {
    super(scope, id);
    this.deadLetterQueue = new Queue(this, 'UndeliveredStarts', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key.key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    this.role = new Role(this, 'StartRole', { assumedBy: new ServicePrincipal('events.amazonaws.com') });
    for (const entity of ENTITIES) {
      const timing = timingOf(deployment, entity);
      const { enabled } = deployment.entities[entity];
      this.rule(entity, Schedule.expression(timing.expression), enabled, machine);
      if (enabled) this.warnOf(entity, deployment.retentionDays, longestGapDays(timing, new Date()));
    }
  }

  private warnOf(entity: Entity, retentionDays: number, gapDays: number): void {
    if (retentionDays > gapDays) return;
    const days = (count: number) => (count === 1 ? '1 day' : `${count} days`);
    const text = `Guards of ${entity} have no history: exports are kept for ${days(retentionDays)} (retentionDays), and from one start to the next it may be ${days(gapDays)}. Keep them for longer.`;
    Annotations.of(this).addWarningV2(`crm-export:history-${entity}`, text);
  }

  private rule(entity: Entity, schedule: Schedule, enabled: boolean, machine: IStateMachine): void {
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
      schedule,
      enabled,
      targets: [target],
    });
  }
}
