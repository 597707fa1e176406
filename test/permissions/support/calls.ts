import { globSync, readFileSync } from 'node:fs';
import type { Template } from '../../../scripts/template.ts';
import type { RecordedCall } from '../../e2e/support/record-calls.ts';
import { type Names, REGION } from './arns.ts';

/** A call as IAM sees it. `context`: condition keys in lower case. */
export interface Request {
  role: string;
  action: string;
  resource: string;
  context: Record<string, string>;
}

const SECURE = { 's3:tlsversion': '1.3' };

export function readCalls(directory: string): RecordedCall[] {
  const lines = globSync(`${directory}/*/calls.jsonl`).flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  return [...new Set(lines)].filter((line) => line !== '').map((line) => JSON.parse(line) as RecordedCall);
}

/**
 * The requests of a function's calls, and the further requests that AWS derives from them: of KMS, and for absent
 * objects.
 */
export function requestsOf(call: RecordedCall, template: Template, names: Names): Request[] {
  const role = roleOf(call.function, template, names);
  const actions = call.target === '' ? s3Actions(call, names) : [apiAction(call, template, names)];
  return actions.flatMap(({ action, resource, via = [], context = {} }) => {
    const key = names.arn(names.id('AWS::KMS::Key'));
    const service = `${action.split(':')[0]}.${REGION}.amazonaws.com`;
    const said: Request['context'] = { 'kms:viaservice': service };
    if (action.startsWith('secretsmanager:')) said['kms:encryptioncontext:secretarn'] = resource;
    const asked = via.map((kms) => ({ role, action: kms, resource: key, context: said }));
    return [{ role, action, resource, context: { ...SECURE, ...encryptionOf(call), ...context } }, ...asked];
  });
}

interface Made {
  action: string;
  resource: string;
  /** The KMS requests that the service makes for the caller. */
  via?: string[];
  /** Additional condition keys of the request, in lower case. */
  context?: Record<string, string>;
}

const OPEN = 'kms:Decrypt';
const MAKE = 'kms:GenerateDataKey';

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html */
function s3Actions({ method, path, query, prefix, tagged, status }: RecordedCall, names: Names): Made[] {
  const bucket = names.arn(names.id('AWS::S3::Bucket', 'ExportsBucket'));
  if (!path.startsWith('/{BUCKET_NAME}')) throw new Error(`${method} ${path} is for another bucket`);
  const key = decodeURIComponent(path.replace('/{BUCKET_NAME}', '')).replace(/^\//, '');
  const listing = (prefix: string): Made => {
    return { action: 's3:ListBucket', resource: bucket, context: { 's3:prefix': prefix } };
  };
  if (!key && method === 'GET' && query.includes('list-type')) return [listing(prefix)];
  if (!key) throw new Error(`${method} of the bucket with ${query} is not known`);
  if (method === 'PUT' && query.includes('tagging'))
    return [{ action: 's3:PutObjectTagging', resource: `${bucket}/${key}` }];
  const upload = query.includes('uploadId') || query.includes('uploads');
  const action = S3_ACTIONS[`${method}${upload ? ' of an upload' : ''}`];
  if (!action) throw new Error(`${method} ${path} is not known`);
  // An absent object would look forbidden without the right to list; its key counts as the prefix (docs/adr/0008).
  const absent = action === 's3:GetObject' && status === 404 ? [listing(key)] : [];
  const withTag = tagged ? [{ action: 's3:PutObjectTagging', resource: `${bucket}/${key}` }] : [];
  return [{ action, resource: `${bucket}/${key}`, via: keyUse(action, upload) }, ...withTag, ...absent];
}

const S3_ACTIONS: Record<string, string> = {
  GET: 's3:GetObject',
  HEAD: 's3:GetObject',
  PUT: 's3:PutObject',
  DELETE: 's3:DeleteObject',
  'GET of an upload': 's3:ListMultipartUploadParts',
  'PUT of an upload': 's3:PutObject',
  'POST of an upload': 's3:PutObject',
  'DELETE of an upload': 's3:AbortMultipartUpload',
};

/**
 * A part is encrypted under the data key of its upload, which must be decrypted; a whole object under a new data key.
 */
function keyUse(action: string, upload: boolean): string[] {
  if (action === 's3:GetObject') return [OPEN];
  if (action === 's3:PutObject') return upload ? [OPEN, MAKE] : [MAKE];
  return [];
}

/** The environment variables of a function, by which it names a resource, lead to the resource in the template. */
function apiAction(call: RecordedCall, template: Template, names: Names): Made {
  const [service = '', operation = ''] = call.target.split('.');
  const resource = namedResource(call, template, names);
  if (service === 'secretsmanager') {
    const via = operation === 'GetSecretValue' ? [OPEN] : [OPEN, MAKE];
    return { action: `secretsmanager:${operation}`, resource, via };
  }
  // DynamoDB made the key of the table with the table, and opens it for whoever uses the table.
  if (service.startsWith('DynamoDB_')) return { action: `dynamodb:${operation}`, resource, via: [OPEN] };
  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
  if (service === 'AmazonSQS') {
    const action = operation.replace('Batch', '');
    return { action: `sqs:${action}`, resource, via: action === 'ReceiveMessage' ? [OPEN] : [] };
  }
  // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#sns-what-permissions-for-sse
  if (service === 'SNS') return { action: `sns:${operation}`, resource, via: [OPEN, MAKE] };
  throw new Error(`${call.target} is not known`);
}

function namedResource({ function: step, names: said }: RecordedCall, template: Template, names: Names): string {
  const variable = /^\{(\w+)\}$/.exec(said[0] ?? '')?.[1];
  const { Variables } = template.Resources[functionId(step, names)]?.Properties.Environment ?? {};
  if (said.length !== 1 || variable === undefined || Variables[variable] === undefined)
    throw new Error(`${step} names ${said} , which is no resource of its environment`);
  const value = String(names.value(Variables[variable]));
  return value.startsWith('arn:') ? value : names.arn(names.id('AWS::DynamoDB::GlobalTable'));
}

function encryptionOf({ encryption }: RecordedCall): Record<string, string> {
  return Object.fromEntries(Object.entries(encryption).map(([name, value]) => [`s3:${name}`, value]));
}

const functionId = (step: string, names: Names) => names.id('AWS::Lambda::Function', `${step}Function`);

function roleOf(step: string, template: Template, names: Names): string {
  return String(names.value(template.Resources[functionId(step, names)]?.Properties.Role));
}

/**
 * Calls that services of AWS make with our roles. They are derived from the template, because no function can record
 * them.
 */
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

/**
 * The machine invokes the functions of its tasks, starts, watches and ends the children of its map, and reads the index
 * of chunks.
 */
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
