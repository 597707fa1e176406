import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  Grant,
  type IGrantable,
  PolicyStatement,
  type PolicyStatementProps,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { alarmArns } from './alarm-arns.ts';

/** Services that use the key for a role of ours, on the role's behalf. */
type Via = 's3' | 'secretsmanager' | 'dynamodb';

/** What a service does with the key for its caller: it opens data keys, and makes new ones for what it writes. */
type KeyAction = 'kms:Decrypt' | 'kms:GenerateDataKey';

/**
 * The one key of a deployment: bucket, secrets, ledger, topic, queue and log groups (`docs/adr/0017`). Kept when the stack
 * is destroyed, and when the deployment that makes it fails: CloudFormation may have encrypted something with it by then,
 * and without it nobody could read that.
 *
 * Roles get their rights in their own policies, through one service each. In the key's policy stand the account and the
 * three services of AWS that come by themselves; without their statements mails, undelivered starts and log lines would
 * be lost without a word.
 */
export class EncryptionKey extends Construct {
  readonly key: Key;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const stack = Stack.of(this);
    this.key = new Key(this, 'Key', {
      description: `Everything that ${stack.stackName} keeps: files, secrets, ledger, messages, logs`,
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    this.letAlarmsPublish(stack);
    this.letRulesSend();
    this.letLogsEncrypt(stack);
  }

  /**
   * The role may use the key, but only by way of the service, and never by calling KMS itself.
   * @param further conditions that all have to hold as well: names of keys, with the values that each may have
   */
  allow(grantee: IGrantable, via: Via, actions: KeyAction[], further: Record<string, string[]> = {}): void {
    const { region, urlSuffix } = Stack.of(this);
    Grant.addToPrincipal({
      grantee,
      actions,
      resourceArns: [this.key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `${via}.${region}.${urlSuffix}`, ...further } },
    });
  }

  /** https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services */
  private letAlarmsPublish(stack: Stack): void {
    this.letService('AlarmsPublish', 'cloudwatch.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey*'], {
      StringEquals: { 'aws:SourceAccount': stack.account },
      ArnLike: { 'aws:SourceArn': alarmArns(stack) },
    });
  }

  /**
   * Without a condition: what EventBridge asks of KMS carries neither account nor rule, and a statement that demands them
   * would refuse it (same page, "aws:SourceAccount ... not supported in EventBridge-to-encrypted-topic policies"). The
   * queue's own policy names the rules.
   */
  private letRulesSend(): void {
    this.letService('RulesSend', 'events.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  /** https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html */
  private letLogsEncrypt(stack: Stack): void {
    const groups = [`/aws/lambda/${stack.stackName}-*`, `/aws/vendedlogs/states/${stack.stackName}-*`].map(
      (resourceName) =>
        stack.formatArn({
          service: 'logs',
          resource: 'log-group',
          resourceName,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
    );
    const actions = ['kms:Encrypt*', 'kms:Decrypt*', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'];
    this.letService('LogsEncrypt', `logs.${stack.region}.${stack.urlSuffix}`, actions, {
      ArnLike: { 'kms:EncryptionContext:aws:logs:arn': groups },
    });
  }

  private letService(
    sid: string,
    service: string,
    actions: string[],
    conditions?: PolicyStatementProps['conditions'],
  ): void {
    const principals = [new ServicePrincipal(service)];
    // In a key's policy, * is this key.
    const statement = new PolicyStatement({
      sid,
      principals,
      actions,
      resources: ['*'],
      ...(conditions && { conditions }),
    });
    this.key.addToResourcePolicy(statement);
  }
}
