import { createRequire } from 'node:module';
import { type CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { AWS_LIMITS, LEASE_LIMITS, limitsOf } from '../../core/aws/aws-limits.ts';
import { awsErrorText } from './aws-error.ts';
import { CommandError, ENVIRONMENT, usageError } from './exit.ts';
import { asciiText } from './text.ts';

/** The deployment that a command works on, in an AWS account or in a local cloud. */
export interface TargetOptions {
  deployment: string;
  profile?: string | undefined;
  region?: string | undefined;
  endpointUrl?: string | undefined;
  /** Time limit of one AWS call in seconds, for commands that call many deployments. */
  callTimeout?: number | undefined;
}

/** The outputs of the stack, which name every resource of a deployment. */
const outputsSchema = z.object({
  StateMachineArn: z.string(),
  BucketName: z.string(),
  ClientSecretId: z.string(),
  TokensSecretId: z.string(),
  LedgerTableName: z.string(),
  /** Only with `customerUpdates` in the configuration. */
  UpdatesStateMachineArn: z.optional(z.string()),
  AlarmTopicArn: z.string(),
  /** Only with a dashboard in the configuration. */
  DashboardName: z.optional(z.string()),
  SoftwareVersion: z.string(),
  UndeliveredStartsUrl: z.string(),
  /** The time zone for the dates of runs; an output, so that commands without other settings need no template. */
  TimeZone: z.string(),
});

/** A connected deployment: its resources, and the clients to call AWS. */
export interface Target extends z.infer<typeof outputsSchema>, Clients {
  /** `crm-export-NAME`, the prefix of the names of its rules and log groups. */
  stack: string;
  stackStatus: string;
  stackCreatedAt: Date | undefined;
}

/**
 * Finds a deployment by its stack.
 * @throws CommandError (exit code 3) if the stack does not exist or is of another release, or AWS cannot be reached
 */
export async function connect(options: TargetOptions): Promise<Target> {
  const clients = lazyClients(clientSettings(options));
  const stack = `crm-export-${options.deployment}`;
  return Object.assign(clients, await stackOutputs(clients.cloudformation, stack), { stack });
}

/**
 * A local cloud never gets real credentials: it accepts any, and takes a 12-digit key as its account.
 * @throws CommandError (exit code 2) if the endpoint is not an address, or is local while a profile is given
 */
export function clientSettings(options: Omit<TargetOptions, 'deployment'>) {
  const { profile, region, endpointUrl = process.env.AWS_ENDPOINT_URL, callTimeout } = options;
  const limits = callTimeout === undefined ? AWS_LIMITS : limitsOf(callTimeout);
  const selected = { ...(profile && { profile }), ...(region && { region }) };
  if (!endpointUrl) return { ...limits, ...selected };
  if (!URL.canParse(endpointUrl)) throw usageError('The endpoint must be an address such as http://127.0.0.1:4566.');
  const local = /^(127\.|localhost$|\[::1\]$)/.test(new URL(endpointUrl).hostname);
  if (local && profile) {
    const advice = 'leave out --profile, or --endpoint-url and AWS_ENDPOINT_URL';
    throw usageError(`The command sends no real credentials to a local cloud (${endpointUrl}): ${advice}.`);
  }
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  // A profile may have its own region.
  const usual = process.env.AWS_REGION ?? (profile ? undefined : 'us-east-1');
  return {
    ...limits,
    endpoint: endpointUrl,
    ...(usual && { region: usual }),
    ...selected,
    ...(local && { credentials, useFipsEndpoint: false, useDualstackEndpoint: false }),
  };
}

async function stackOutputs(client: CloudFormationClient, StackName: string) {
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName })).catch(async (error: unknown) => {
    throw new CommandError(await unreachable(client, StackName, error), ENVIRONMENT, { cause: error });
  });
  const { Outputs = [], StackStatus = 'UNKNOWN', CreationTime } = Stacks?.[0] ?? {};
  const outputs = Object.fromEntries(Outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  const parsed = outputsSchema.safeParse(outputs);
  if (parsed.success) return { ...parsed.data, stackStatus: StackStatus, stackCreatedAt: CreationTime };
  const why = isSettled(StackStatus)
    ? `The stack ${StackName} lacks outputs that the commands need, because another release deployed it. Deploy this release.`
    : `The stack ${StackName} is only partly deployed (${StackStatus}): deploy it again.`;
  throw new CommandError(why, ENVIRONMENT);
}

async function unreachable(client: CloudFormationClient, stackName: string, error: unknown): Promise<string> {
  const { name, message } = error instanceof Error ? error : { name: 'unknown error', message: '' };
  if (/does not exist/.test(message)) {
    const place = await client.config.region();
    return `There is no stack ${stackName} in this account and region (${place}): check --deployment, --profile and --region, or deploy it first.`;
  }
  const other = `AWS could not describe the stack ${stackName} (${name}: ${asciiText(message.split('\n')[0] ?? '')}): try again, and look at the stack in the console of CloudFormation.`;
  return awsErrorText(error) ?? other;
}

/** Whether the stack is in a stable state: no deployment is in progress, and none failed half-way. */
export function isSettled(stackStatus: string): boolean {
  return /^(CREATE|UPDATE|UPDATE_ROLLBACK|IMPORT|IMPORT_ROLLBACK)_COMPLETE$/.test(stackStatus);
}

const require = createRequire(import.meta.url);
/** `require`, because a getter cannot wait for an import. */
const sdk = <Module>(name: string): Module => require(`@aws-sdk/client-${name}`);

const CLASSES = {
  sfn: () => sdk<typeof import('@aws-sdk/client-sfn')>('sfn').SFNClient,
  s3: () => sdk<typeof import('@aws-sdk/client-s3')>('s3').S3Client,
  secrets: () => sdk<typeof import('@aws-sdk/client-secrets-manager')>('secrets-manager').SecretsManagerClient,
  dynamo: () => sdk<typeof import('@aws-sdk/client-dynamodb')>('dynamodb').DynamoDBClient,
  logs: () => sdk<typeof import('@aws-sdk/client-cloudwatch-logs')>('cloudwatch-logs').CloudWatchLogsClient,
  events: () => sdk<typeof import('@aws-sdk/client-eventbridge')>('eventbridge').EventBridgeClient,
  sns: () => sdk<typeof import('@aws-sdk/client-sns')>('sns').SNSClient,
  cloudformation: () => sdk<typeof import('@aws-sdk/client-cloudformation')>('cloudformation').CloudFormationClient,
  cloudwatch: () => sdk<typeof import('@aws-sdk/client-cloudwatch')>('cloudwatch').CloudWatchClient,
  sqs: () => sdk<typeof import('@aws-sdk/client-sqs')>('sqs').SQSClient,
  ec2: () => sdk<typeof import('@aws-sdk/client-ec2')>('ec2').EC2Client,
};

export type Clients = { [Name in keyof typeof CLASSES]: InstanceType<ReturnType<(typeof CLASSES)[Name]>> };

/** Loads and creates each client at its first use: a command needs two or three, and loading all takes too long. */
export function lazyClients(settings: ReturnType<typeof clientSettings>): Clients {
  // The bucket name goes into the path: before `localhost` it would form a host name that does not resolve.
  const s3 = { forcePathStyle: 'credentials' in settings };
  const own: Record<string, object> = { s3, secrets: LEASE_LIMITS, dynamo: LEASE_LIMITS };
  const { profile = process.env.AWS_PROFILE } = settings;
  const made = {} as Clients;
  for (const [name, load] of Object.entries(CLASSES)) {
    let client: unknown;
    const get = () => {
      const Client = load() as new (all: object) => AnyClient;
      client ??= explaining(new Client({ ...settings, ...own[name] }), name, profile);
      return client;
    };
    Object.defineProperty(made, name, { get, enumerable: true });
  }
  return made;
}

type AnyClient = Pick<CloudFormationClient, 'middlewareStack'>;

/** Names of services and rights in policies, where they differ from those of the SDK. */
const IN_POLICIES: Record<string, string> = {
  ...{ sfn: 'states', secrets: 'secretsmanager', dynamo: 'dynamodb' },
  ListObjectsV2: 'ListBucket',
  ListObjectVersions: 'ListBucketVersions',
  HeadObject: 'GetObject',
  CreateMultipartUpload: 'PutObject',
  UploadPart: 'PutObject',
};

/** Adds to each error what its message may lack: the right that the call needs, and the profile of the credentials. */
function explaining(client: AnyClient, service: string, profile: string | undefined): AnyClient {
  const named = (name: string) => IN_POLICIES[name] ?? name;
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) =>
        next(args).catch((error: Error & { $metadata?: { httpStatusCode?: number } }) => {
          const ofVersion = service === 's3' && 'VersionId' in args.input && args.input.VersionId ? 'Version' : '';
          const right = `${named(service)}:${named(commandName.replace(/Command$/, ''))}${ofVersion}`;
          // The answer to a HEAD has no body, so the SDK finds no name for the error.
          const isUnnamed = error.name === 'Unknown' && error.$metadata?.httpStatusCode === 403;
          throw Object.assign(error, { right, profile, ...(isUnnamed && { name: 'AccessDenied' }) });
        }),
    { step: 'initialize' },
  );
  return client;
}
