import type { Template } from '../../../scripts/template.ts';
import { type Names, REGION } from './arns.ts';
import type { Request } from './calls.ts';

/** Calls that AWS's own services make with our roles, which no code of ours could note: read from the template. */
export function platformCalls(template: Template, names: Names): Request[] {
  return Object.entries(template.Resources).flatMap(([id, { Type, Properties = {} }]) => {
    const value = (part: unknown) => names.value(part);
    if (Type === 'AWS::StepFunctions::StateMachine') {
      return machineCalls(
        String(value(Properties.RoleArn)),
        names.arn(id),
        String(value(Properties.DefinitionString)),
        names,
      );
    }
    if (Type === 'AWS::Events::Rule') {
      const targets = value(Properties.Targets) as { Arn: string; RoleArn?: string }[];
      return targets.flatMap(({ Arn, RoleArn }) => (RoleArn ? [request(RoleArn, 'states:StartExecution', Arn)] : []));
    }
    // What a function writes and how long it took, Lambda delivers with the function's role.
    if (Type === 'AWS::Lambda::Function') {
      const role = String(value(Properties.Role));
      const group = names.arn(Properties.LoggingConfig.LogGroup.Ref).replace(/\*$/, 'log-stream:2026/11/21/1');
      return [
        request(role, 'logs:CreateLogStream', group),
        request(role, 'logs:PutLogEvents', group),
        ...(Properties.TracingConfig ? tracing(role) : []),
        ...(Properties.DeadLetterConfig
          ? undelivered(role, String(value(Properties.DeadLetterConfig.TargetArn)), names)
          : []),
      ];
    }
    return [];
  });
}

/** Lambda sends an event on which a function failed to its queue, with the role of the function. */
function undelivered(role: string, queue: string, names: Names): Request[] {
  const key = names.arn(names.id('AWS::KMS::Key'));
  const via = { 'kms:viaservice': `sqs.${REGION}.amazonaws.com` };
  return [
    request(role, 'sqs:SendMessage', queue),
    ...['kms:Decrypt', 'kms:GenerateDataKey'].map((action) => request(role, action, key, via)),
  ];
}

const request = (role: string, action: string, resource: string, context: Record<string, string> = {}): Request => {
  return { role, action, resource, context };
};

const tracing = (role: string) =>
  ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'].map((action) => request(role, action, '*'));

/** It invokes what its tasks name, starts, watches and ends the children of its map, and reads the index of them. */
function machineCalls(role: string, machine: string, definition: string, names: Names): Request[] {
  const functions = [...definition.matchAll(/"FunctionName":"([^"]+)"/g)].map(([, arn = '']) => arn);
  const invoked = functions.map((arn) => request(role, 'lambda:InvokeFunction', arn));
  const label = /"Label":"([^"]+)"/.exec(definition)?.[1];
  if (!label) return invoked;
  const children = `${machine.replace(':stateMachine:', ':execution:')}`;
  const via = { 'kms:viaservice': `s3.${REGION}.amazonaws.com` };
  const bucket = names.arn(names.id('AWS::S3::Bucket', 'ExportsBucket'));
  return [
    ...invoked,
    request(role, 'states:StartExecution', machine),
    request(role, 'states:DescribeExecution', `${children}:child`),
    request(role, 'states:StopExecution', `${children}:child`),
    request(role, 'states:RedriveExecution', `${children}/${label}:child`),
    request(role, 's3:GetObject', `${bucket}/updates/batch/chunks.jsonl`, { 's3:tlsversion': '1.3' }),
    request(role, 'kms:Decrypt', names.arn(names.id('AWS::KMS::Key')), via),
  ];
}
