import { CfnResource, type Stack } from 'aws-cdk-lib';
import { ConfigurationError } from '../core/config/configuration.ts';

/** The property in which a resource has its policy. */
const POLICY_OF: Readonly<Record<string, string>> = {
  'AWS::IAM::Policy': 'PolicyDocument',
  'AWS::KMS::Key': 'KeyPolicy',
  'AWS::S3::BucketPolicy': 'PolicyDocument',
  'AWS::SNS::TopicPolicy': 'PolicyDocument',
  'AWS::SQS::QueuePolicy': 'PolicyDocument',
};

/**
 * Gives the first statement of each policy another Sid, so that the deployment writes every policy whole. CloudFormation writes what
 * differs from the template before, and does not look whether somebody changed the policy in the account (`docs/adr/0008`).
 * @param asked from `-c rewrite=policies`; `undefined`: nothing is changed
 * @throws ConfigurationError where it is anything else
 */
export function rewritePolicies(stack: Stack, asked: unknown, now: Date): void {
  if (asked === undefined) return;
  if (asked !== 'policies') {
    throw new ConfigurationError(`-c rewrite=${String(asked)}: only policies can be rewritten: -c rewrite=policies`);
  }
  const sid = `Rewritten${now.toISOString().slice(0, 19).replace(/\D/g, '')}`;
  for (const construct of stack.node.findAll()) {
    const property = construct instanceof CfnResource && POLICY_OF[construct.cfnResourceType];
    if (property) construct.addPropertyOverride(`${property}.Statement.0.Sid`, sid);
  }
}
