import { Duration, Stack } from 'aws-cdk-lib';
import { EventField, Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { SfnStateMachine } from 'aws-cdk-lib/aws-events-targets';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Deployment } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { entityPlan } from '../core/config/entity-plan.ts';
import type { EncryptionKey } from './resources/encryption-key.ts';

interface NightlySchedulesProps {
  deployment: Deployment;
  machine: IStateMachine;
  key: EncryptionKey;
}

/** One rule per entity. A start that cannot be delivered within two hours goes to the queue: later it would be a day's export. */
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
    ENTITIES.forEach((entity, index) => {
      this.rule(entity, scheduleOf(deployment, entity, index), entityPlan(deployment, entity).enabled, machine);
    });
  }

  private rule(entity: Entity, schedule: Schedule, enabled: boolean, machine: IStateMachine): void {
    const target = new SfnStateMachine(machine, {
      input: RuleTargetInput.fromObject({ entity, scheduledFor: EventField.time }),
      role: this.role,
      deadLetterQueue: this.deadLetterQueue,
      maxEventAge: Duration.hours(2),
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

/** The entity's own schedule, or its place in the night: some minutes after the one before. Rules know UTC only. */
function scheduleOf(deployment: Deployment, entity: Entity, index: number): Schedule {
  const { schedule } = entityPlan(deployment, entity);
  if (schedule) return Schedule.expression(schedule);
  const [hour = 0, minute = 0] = deployment.nightly.startUtc.split(':').map(Number);
  const at = (hour * 60 + minute + index * deployment.nightly.spreadMinutes) % (24 * 60);
  return Schedule.cron({ hour: String(Math.floor(at / 60)), minute: String(at % 60) });
}
