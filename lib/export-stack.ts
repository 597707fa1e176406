import { CfnOutput, CfnWaitConditionHandle, Stack, type StackProps } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { Configuration } from '../core/config/configuration.ts';
import { deployedOf, digestOf, metadataOf } from '../core/config/deployed.ts';
import type { Deployment } from '../core/config/deployment.ts';
import { offsetsFrom } from '../core/config/timing.ts';
import { tableEntities } from '../core/table/stored-table.ts';
import { NightDashboard } from './monitoring/dashboard.ts';
import { Monitoring } from './monitoring/monitoring.ts';
import { NightlySchedules } from './nightly-schedules.ts';
import { EncryptionKey } from './resources/encryption-key.ts';
import { ExportBucket } from './resources/export-bucket.ts';
import { TableCatalog } from './resources/table-catalog.ts';
import { TokenStore } from './resources/token-store.ts';
import { CustomerUpdates } from './workflow/customer-updates.ts';
import { exportSteps } from './workflow/export-steps.ts';
import { ExportWorkflow } from './workflow/export-workflow.ts';

interface ExportStackProps extends StackProps {
  configuration: Configuration;
  softwareVersion: string;
}

/** The whole product: storage, machines, schedules and alarms. */
export class ExportStack extends Stack {
  /** Public for companies that name administrators of the key. */
  readonly encryption: EncryptionKey;

  constructor(scope: Construct, id: string, { configuration: checked, softwareVersion, ...props }: ExportStackProps) {
    super(scope, id, { description: 'Exports CRM records to S3 every night', ...props });
    // Rules and functions use the same zone data, from this synthesis.
    const deployment = { ...checked.deployment, zoneOffsets: offsetsFrom(checked.deployment.timeZone) };
    const configuration = { ...checked, deployment };
    const key = new EncryptionKey(this, 'Encryption');
    this.encryption = key;
    const exports = new ExportBucket(this, 'Exports', { deployment, key });
    const tokens = new TokenStore(this, 'Tokens', { key });
    const hashKey = tableHashKey(this, deployment, key);
    const shared = { configuration, key, exports, tokens, hashKey, softwareVersion };
    const steps = exportSteps(this, shared);
    const { machine } = new ExportWorkflow(this, 'ExportRun', { steps, deployment, key });
    const updates = deployment.customerUpdates ? new CustomerUpdates(this, 'CustomerUpdates', shared) : undefined;
    const { deadLetterQueue } = new NightlySchedules(this, 'Nightly', { deployment, machine, key, ...steps });
    const watched = { machines: { export: machine, updates: updates?.machine }, deadLetterQueue };
    const monitoring = new Monitoring(this, 'Monitoring', { configuration, key, exports, ...watched });
    const dashboard = deployment.dashboard
      ? new NightDashboard(this, 'Dashboard', { configuration, monitoring, ...watched })
      : undefined;
    new TableCatalog(this, 'TableCatalog', { deployment, bucket: exports.bucket });
    addToTemplate(this, deployment);

    const outputs: Record<string, string> = {
      StateMachineArn: machine.stateMachineArn,
      ...(updates && { UpdatesStateMachineArn: updates.machine.stateMachineArn }),
      BucketName: exports.bucket.bucketName,
      ClientSecretId: tokens.clientSecretId,
      TokensSecretId: tokens.tokensSecretId,
      LedgerTableName: tokens.ledger.tableName,
      UndeliveredStartsUrl: deadLetterQueue.queueUrl,
      AlarmTopicArn: monitoring.topic.topicArn,
      ...(dashboard && { DashboardName: dashboard.name }),
      SoftwareVersion: softwareVersion,
      TimeZone: deployment.timeZone,
      ...(hashKey !== undefined && { TableHashKeyId: hashKey }),
      KeptOnDestroy: [
        `buckets ${exports.bucket.bucketName} and ${exports.accessLogs.bucketName} (its access logs)`,
        `secrets ${[tokens.clientSecretId, tokens.tokensSecretId, hashKey ?? []].flat().join(' and ')}`,
        `key ${key.key.keyId}, without which they cannot be read`,
      ].join(', '),
    };
    // The operator's command finds and checks a deployment by these outputs.
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}

/**
 * The key of hashed columns, if there are any: a secret that CloudFormation creates once, because with another key the
 * hashes would differ from those in older tables.
 * @returns the id of the secret
 */
function tableHashKey(stack: Stack, deployment: Deployment, key: EncryptionKey): string | undefined {
  if (!tableEntities(deployment).some((entity) => deployment.entities[entity].tables?.hash)) return undefined;
  const what = 'the key of the hashed columns of tables. A person who has it can find out what was hashed.';
  const generateSecretString = { passwordLength: 64, excludePunctuation: true };
  return key.secret(new Construct(stack, 'Tables'), 'HashKey', what, { generateSecretString });
}

/**
 * Puts the configuration into the template, where the operator's command reads it (`docs/adr/0009`). CloudFormation
 * does not update `Metadata` alone, so every change also replaces a resource that has no effect.
 */
function addToTemplate(stack: Stack, deployment: Deployment): void {
  const deployed = deployedOf(deployment);
  stack.templateOptions.metadata = metadataOf(deployed);
  new CfnWaitConditionHandle(stack, `Configuration${digestOf(deployed)}`);
}
