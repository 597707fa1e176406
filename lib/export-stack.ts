import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { StepName } from '../lambdas/shared/steps.ts';
import type { Configuration } from './config.ts';
import { CustomerUpdates } from './customer-updates.ts';
import { ExportBucket } from './export-bucket.ts';
import { ExportWorkflow } from './export-workflow.ts';
import { NightlySchedules } from './nightly-schedules.ts';
import { STREAMING } from './node-options.ts';
import { StepFunction } from './step-function.ts';
import { TokenStore } from './token-store.ts';

interface ExportStackProps extends StackProps {
  configuration: Configuration;
  softwareVersion: string;
}

/** The whole product: functions, machine, rules, bucket and secrets of one deployment. */
export class ExportStack extends Stack {
  constructor(scope: Construct, id: string, { configuration, softwareVersion, ...props }: ExportStackProps) {
    super(scope, id, { description: 'Exports seven kinds of CRM records to S3 every night', ...props });
    const { deployment } = configuration;
    const exports = new ExportBucket(this, 'Exports', deployment);
    const tokens = new TokenStore(this, 'Tokens');
    const oauth = {
      DEPLOYMENT: configuration.name,
      CLIENT_SECRET_ID: tokens.clientSecretId,
      TOKENS_SECRET_ID: tokens.tokensSecretId,
      LEDGER_TABLE: tokens.ledger.tableName,
    };
    const bucket = { BUCKET_NAME: exports.bucket.bucketName };

    // A call of the service may take 30 seconds, its repetition with a fresh token the same, the refresh in between 50, or
    // a minute of waiting for another's. Of such calls CreateExport makes two; killed in the middle of the second, it would
    // leave an export behind.
    const short = { memorySize: 256, timeout: Duration.seconds(300) };
    // 15 minutes are all that Lambda gives; what 512 MB mean for large files stands in docs/adr/0007.
    const long = { memorySize: 512, timeout: Duration.minutes(15) };
    const step = (name: StepName, size: typeof short, environment: Record<string, string>) =>
      new StepFunction(this, name, { configuration, ...size, environment });

    const steps = {
      CreateExport: step('CreateExport', short, { ...oauth, SOFTWARE_VERSION: softwareVersion }),
      CheckStatus: step('CheckStatus', short, oauth),
      DownloadFile: step('DownloadFile', long, { ...oauth, ...bucket, ...STREAMING }),
      PublishFile: step('PublishFile', long, { ...bucket, ...STREAMING }),
    };
    for (const { role } of [steps.CreateExport, steps.CheckStatus, steps.DownloadFile]) tokens.allowTokens(role);
    exports.allowStoring(steps.DownloadFile.role);
    exports.allowPublishing(steps.PublishFile.role);

    const { machine } = new ExportWorkflow(this, 'ExportRun', { functions: aliasesOf(steps), deployment });
    const environment = { ...oauth, ...bucket, SOFTWARE_VERSION: softwareVersion };
    if (deployment.customerUpdates) new CustomerUpdates(this, { configuration, exports, tokens, environment });
    const schedules = new NightlySchedules(this, 'Nightly', { deployment, machine });
    this.outputs({
      StateMachineArn: machine.stateMachineArn,
      BucketName: exports.bucket.bucketName,
      ClientSecretId: tokens.clientSecretId,
      TokensSecretId: tokens.tokensSecretId,
      LedgerTableName: tokens.ledger.tableName,
      UndeliveredStartsUrl: schedules.deadLetterQueue.queueUrl,
      KeptOnDestroy: `bucket ${exports.bucket.bucketName}, secrets ${tokens.clientSecretId} and ${tokens.tokensSecretId}`,
    });
  }

  /** What the operator's command finds a deployment by. */
  private outputs(values: Record<string, string>): void {
    for (const [key, value] of Object.entries(values)) new CfnOutput(this, key, { value });
  }
}

function aliasesOf(steps: Record<StepName, StepFunction>) {
  return {
    CreateExport: steps.CreateExport.alias,
    CheckStatus: steps.CheckStatus.alias,
    DownloadFile: steps.DownloadFile.alias,
    PublishFile: steps.PublishFile.alias,
  };
}
