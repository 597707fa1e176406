import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnSecret, type CfnSecretProps } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/** Services that use the key for one of our roles: they decrypt data keys, and generate new ones to write. */
type Via = 's3' | 'secretsmanager' | 'dynamodb' | 'sqs' | 'sns';
type KeyAction = 'kms:Decrypt' | 'kms:GenerateDataKey';

/**
 * The only key of a deployment: bucket, secrets, ledger, topic, queue and log groups (`docs/adr/0017`). It is kept
 * when the stack is destroyed or its first deployment fails, because data may already be encrypted with it.
 *
 * Roles get their permissions in their own policies, each through one service. The key policy names the account and
 * three AWS services: without these statements, mails, undelivered starts and log lines would be lost silently.
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
    const groups = [`/aws/lambda/${stack.stackName}-*`, `/aws/vendedlogs/states/${stack.stackName}-*`];
    // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
    this.letService('AlarmsPublish', 'cloudwatch.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey*'], {
      StringEquals: { 'aws:SourceAccount': stack.account },
      ArnLike: { 'aws:SourceArn': alarmArns(stack) },
    });
    // EventBridge's requests to KMS carry neither account nor rule (same page, "aws:SourceAccount ... not supported in
    // EventBridge-to-encrypted-topic policies"). The queue's own policy names the rules.
    this.letService('RulesSend', 'events.amazonaws.com', ['kms:Decrypt', 'kms:GenerateDataKey']);
    // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html
    const logs = ['kms:Encrypt*', 'kms:Decrypt*', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'];
    this.letService('LogsEncrypt', `logs.${stack.region}.${stack.urlSuffix}`, logs, {
      ArnLike: { 'kms:EncryptionContext:aws:logs:arn': groups.map((name) => arnOf(stack, 'logs', 'log-group', name)) },
    });
  }

  /**
   * Allows the role to use the key, but only through the service, never by calling KMS directly.
   * @param further more conditions that must all hold: condition keys with their allowed values
   */
  allow(grantee: iam.IGrantable, via: Via, actions: KeyAction[], further: Record<string, string[]> = {}): void {
    const { region, urlSuffix } = Stack.of(this);
    iam.Grant.addToPrincipal({
      grantee,
      actions,
      resourceArns: [this.key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `${via}.${region}.${urlSuffix}`, ...further } },
    });
  }

  /**
   * Allows the role to read a secret. Each request of Secrets Manager to the key names the secret
   * (https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html, "encryption context").
   */
  allowSecret(grantee: iam.IGrantable, secretId: string): void {
    iam.Grant.addToPrincipal({ grantee, actions: ['secretsmanager:GetSecretValue'], resourceArns: [secretId] });
    this.allow(grantee, 'secretsmanager', ['kms:Decrypt'], { 'kms:EncryptionContext:SecretARN': [secretId] });
  }

  /**
   * A secret under this key, kept when the stack is destroyed. CloudFormation builds its name from the id and a random
   * text: only the description shows the deployment.
   * @returns its ARN
   */
  secret(scope: Construct, id: string, description: string, value: Partial<CfnSecretProps> = {}): string {
    const described = `${Stack.of(this).stackName}: ${description}`;
    const secret = new CfnSecret(scope, id, { description: described, kmsKeyId: this.key.keyArn, ...value });
    secret.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
    return secret.ref;
  }

  private letService(sid: string, service: string, actions: string[], conditions: iam.Conditions = {}): void {
    const principals = [new iam.ServicePrincipal(service)];
    // In a key policy, `*` means this key.
    this.key.addToResourcePolicy(new iam.PolicyStatement({ sid, principals, actions, resources: ['*'], conditions }));
  }
}

/** A pattern for the alarms of a stack, whose names begin with the name of the stack. */
export function alarmArns(stack: Stack): string {
  return arnOf(stack, 'cloudwatch', 'alarm', `${stack.stackName}-*`);
}

function arnOf(stack: Stack, service: string, resource: string, resourceName: string): string {
  return stack.formatArn({ service, resource, resourceName, arnFormat: ArnFormat.COLON_RESOURCE_NAME });
}
