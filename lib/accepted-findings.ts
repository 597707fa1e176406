import { type Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { ALL_FUNCTIONS } from '../core/step/steps.ts';

/** A finding of a check at synthesis that is accepted for a reason. */
export interface AcceptedFinding {
  /** The name of the rule. If the rule has several findings, the finding follows in brackets. */
  id: string;
  /** Construct paths in the stack for which it is accepted. Some exist only with customer updates. */
  paths: string[];
  reason: string;
  link: string;
}

const POLICY = 'Role/DefaultPolicy/Resource';
const PARTS = { 'Fn::Split': [':', { Ref: 'CustomerUpdatesMachine2781D615' }] };
/** Executions of CustomerUpdates, in the notation of the check, with the name of the machine cut from its ARN. */
const EXECUTIONS = `arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:${JSON.stringify({ 'Fn::Select': [6, PARTS] })}`;

/** Every finding of cdk-nag's AwsSolutions in this stack; `test/lib/accepted-findings.test.ts` keeps the list exact. */
export const ACCEPTED_FINDINGS: AcceptedFinding[] = [
  {
    id: 'AwsSolutions-IAM5[Resource::*]',
    paths: [...ALL_FUNCTIONS, 'ExportRun/Machine', 'CustomerUpdates/Machine'].map((of) => `${of}/${POLICY}`),
    reason:
      'Tracing, and the log delivery of machines (https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html): their ' +
      'actions have no resource-level permissions. With `network`, Lambda makes its interfaces by rights on all resources, ' +
      'and a policy denies these rights to the code of the function (docs/adr/0041).',
    link: 'https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsx-ray.html',
  },
  ...['', '/ApplyChunks'].map((label) => ({
    id: `AwsSolutions-IAM5[Resource::${EXECUTIONS}${label}:*]`,
    paths: ['CustomerUpdates/Machine/DistributedMapPolicy/Resource'],
    reason: 'A distributed map describes, stops and redrives its own children, whose names are made when they start.',
    link: 'https://docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html',
  })),
  {
    id: 'AwsSolutions-SMG4',
    paths: ['Tokens/OAuthClient', 'Tokens/OAuthTokens'],
    reason:
      'The grant is rotated at every refresh, by the functions themselves (docs/adr/0013); the client is issued by the CRM, ' +
      'which has no way to rotate it. A schedule of Secrets Manager would be a second writer.',
    link: 'https://datatracker.ietf.org/doc/html/rfc9700#section-4.14.2',
  },
  {
    id: 'AwsSolutions-SMG4',
    paths: ['Tables/HashKey'],
    reason:
      'Hashes of one value under two keys differ: tables of different nights could no longer be joined. The person who ' +
      'replaces the key decides that (docs/tables.md).',
    link: 'https://www.rfc-editor.org/rfc/rfc2104',
  },
];

/** Acknowledges each finding of the list at its constructs. The same finding elsewhere still ends the synthesis. */
export function acceptFindings(stack: Stack): void {
  for (const { id, paths, reason, link } of ACCEPTED_FINDINGS) {
    for (const path of paths) {
      const at = path.split('/').reduce<IConstruct | undefined>((node, id) => node?.node.tryFindChild(id), stack);
      if (at) Validations.of(at).acknowledge({ id, reason: `${reason} ${link}` });
    }
  }
}
