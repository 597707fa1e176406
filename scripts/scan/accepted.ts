/** A finding of a scanner about a resource of the templates. */
export interface Finding {
  /** The scanner's rule, such as CKV_AWS_117 or W3005. */
  check: string;
  /** The type and logical id, such as `AWS::Lambda::Function.CreateExportFunction1D2CC0EA`. */
  resource: string;
  text: string;
}

/** A finding that is accepted for a reason. */
export interface Accepted {
  check: string;
  /** Prefixes of resources: a type, or a type and the beginning of logical ids. */
  resources: string[];
  reason: string;
  link: string;
}

/** Findings of cfn-lint and checkov that stay. `npm run scan` fails if one of them is not found any more. */
export const ACCEPTED: Accepted[] = [
  {
    check: 'CKV_AWS_18',
    resources: ['AWS::S3::Bucket.ExportsAccessLogs'],
    reason: 'It is the bucket of the access logs: logging it to itself would never end.',
    link: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/ServerLogs.html',
  },
  {
    check: 'CKV_AWS_111',
    resources: [
      'AWS::IAM::Policy.ApplyChunkRoleDefaultPolicy',
      'AWS::IAM::Policy.CheckStatusRoleDefaultPolicy',
      'AWS::IAM::Policy.CreateExportRoleDefaultPolicy',
      'AWS::IAM::Policy.DownloadFileRoleDefaultPolicy',
    ],
    reason:
      'Lambda makes network interfaces with these rights, on all resources. They are denied to the code of ' +
      'the function.',
    link: 'https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html',
  },
  {
    check: 'CKV_AWS_115',
    resources: ['AWS::Lambda::Function'],
    reason:
      "AWS keeps 100 of the account's pool free of reservations: in a new account the deployment would " +
      'fail. `updates.concurrency` limits chunks. Throttled calls are repeated and raise an alarm.',
    link: 'https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html',
  },
  {
    check: 'CKV_AWS_116',
    resources: ['AWS::Lambda::Function'],
    reason:
      'Such a queue is for asynchronous invocations. Step Functions invokes synchronously and gets each ' +
      'error. EventBridge invokes two functions asynchronously: RecordNight, which repeats its work every ' +
      'hour, and MailFailedRuns, whose errors raise an alarm. The queue of the rules has what EventBridge ' +
      'cannot deliver.',
    link: 'https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html#invocation-dlq',
  },
  {
    check: 'CKV_AWS_117',
    resources: ['AWS::Lambda::Function'],
    reason:
      'Without `network`, the functions call public services only. In a VPC they would need a NAT gateway, ' +
      'and a hostile link could reach internal addresses.',
    link: 'https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html',
  },
  {
    check: 'CKV_AWS_173',
    resources: ['AWS::Lambda::Function'],
    reason:
      'The variables hold ids of resources and nothing secret, which a test checks. A key of ours would be ' +
      'one more right for every function.',
    link: 'https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars-encryption.html',
  },
  {
    check: 'W2001',
    resources: ['Template.Parameters/NetworkSubnets'],
    reason: 'The rule `NetworkSubnetsInVpc` uses it by `Fn::ValueOf`, which cfn-lint does not see.',
    link: 'https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-rules.html',
  },
  {
    check: 'W3005',
    resources: ['AWS::Lambda::Function', 'AWS::CloudWatch::Alarm', 'AWS::StepFunctions::StateMachine'],
    reason:
      'CDK names the role or the topic beside its policy, which the resource needs. Naming it twice does ' + 'nothing.',
    link: 'https://github.com/aws-cloudformation/cfn-lint',
  },
];

/** Findings that are not accepted, and accepted ones that are not found; a line each. */
export function compare(findings: Finding[], accepted: Accepted[]): string[] {
  // Errors of cfn-lint cannot be accepted.
  const accepts = (entry: Accepted, prefix: string, { check, resource }: Finding) =>
    !/^E\d/.test(check) && entry.check === check && resource.startsWith(prefix);
  const isAccepted = (finding: Finding) =>
    accepted.some((entry) => entry.resources.some((prefix) => accepts(entry, prefix, finding)));
  const unused = accepted.flatMap((entry) =>
    entry.resources
      .filter((prefix) => !findings.some((finding) => accepts(entry, prefix, finding)))
      .map((prefix) => `scripts/scan/accepted.ts: nothing is found for ${entry.check} ${prefix} any more`),
  );
  const open = findings.filter((finding) => !isAccepted(finding));
  return [...open.map(({ check, resource, text }) => `${check} ${resource}: ${text}`), ...unused];
}
