import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { type AwsServer, type Reply, serve, stackReply, xmlError } from './aws-server.ts';

/** When the runs that failed were started. */
export const LAST_NIGHT = '2026-11-20T01:00:00.000Z';

/** A deployment of the account, as far as the commands for all of them look. */
export interface FakeDeployment {
  name: string;
  /** When the newest run of each entity started; what is not named was never published. */
  published?: Partial<Record<Entity, string>>;
  /** Errors of runs that failed, of `LAST_NIGHT`. */
  failed?: Partial<Record<Entity, string>>;
  paused?: Entity[];
  alarms?: string[];
  version?: string;
  /** The nightly start, as a rule has it; default: 01:00 UTC. */
  schedule?: string;
  timeZone?: string;
  /** Only half deployed; the bucket refuses; the machine never answers; deleted last week; an update that did not end. */
  trouble?: 'half' | 'denied' | 'silent' | 'deleted' | 'rolling back';
}

const STATUS: Record<string, string> = { deleted: 'DELETE_COMPLETE', 'rolling back': 'UPDATE_ROLLBACK_FAILED' };

const ACCOUNT = 'us-east-1:000000000000';
const arnOf = (name: string) => `arn:aws:states:${ACCOUNT}:stateMachine:crm-export-${name}-ExportRun`;
const topicOf = (name: string) => `arn:aws:sns:${ACCOUNT}:crm-export-${name}-topic`;
const PAGE = 20;

/** An account with many deployments on loopback, which speaks the protocols of AWS; `calls` are those that it was asked. */
export async function fleetCloud(deployments: FakeDeployment[], denied: string[] = []): Promise<AwsServer> {
  const calls: AwsServer['calls'] = [];
  const named = (name: string | undefined) => deployments.find((one) => one.name === name);
  const endpoint = await serve(async (request) => {
    const body = await textOf(request);
    const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1];
    if (operation) {
      const input = JSON.parse(body);
      calls.push({ operation, input, authorization: request.headers.authorization ?? '' });
      if (denied.includes(operation)) return json({ __type: 'AccessDeniedException', message: 'no' }, 400);
      return machineOrRules(operation, input, deployments) ?? new Promise<Reply>(() => undefined);
    }
    if (request.method === 'POST') return stacks(new URLSearchParams(body), deployments, named);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://cloud');
    const [, bucket = '', ...key] = decodeURIComponent(pathname).split('/');
    const one = named(bucket.replace(/^bucket-/, ''));
    if (!one || one.trouble === 'denied') return xmlError(403, 'AccessDenied', 'refused');
    return objectOf(one, key.join('/'), searchParams.get('prefix') ?? '');
  });
  return { endpoint, calls };
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const json = (output: object, status = 200): Reply => ({
  status,
  type: 'application/x-amz-json-1.0',
  body: JSON.stringify(output),
});

function stacks(query: URLSearchParams, all: FakeDeployment[], named: (name?: string) => FakeDeployment | undefined) {
  if (query.get('Action') === 'ListStacks') return stackList(all, Number(query.get('NextToken') ?? 0));
  const one = named(query.get('StackName')?.slice('crm-export-'.length));
  if (!one) return xmlError(400, 'ValidationError', `Stack with id ${query.get('StackName')} does not exist`);
  if (one.trouble === 'half') return stackReply({}, 'ROLLBACK_COMPLETE');
  return stackReply({
    ...{ StateMachineArn: arnOf(one.name), BucketName: `bucket-${one.name}`, ClientSecretId: 'client' },
    ...{ TokensSecretId: 'tokens', LedgerTableName: 'ledger', AlarmTopicArn: topicOf(one.name) },
    ...{ CrmBaseUrl: 'https://crm.invalid/api/v1', CrmAuthUrl: 'https://crm.invalid', CrmScopes: 'global:export' },
    ...{ CrmClientAuthentication: 'basic', ConfigurationDigests: 'local:00000000' },
    ...{ TimeZone: one.timeZone ?? 'UTC', ...(one.version && { SoftwareVersion: one.version }) },
  });
}

/** In pages, with a stack of another application and one that is deleted. */
function stackList(all: FakeDeployment[], from: number): Reply {
  const members = [{ name: 'other', trouble: undefined }, ...all].slice(from, from + PAGE).map(({ name, trouble }) => {
    const stack = name === 'other' ? 'CDKToolkit' : `crm-export-${name}`;
    const status = STATUS[trouble ?? ''] ?? 'UPDATE_COMPLETE';
    return `<member><StackName>${stack}</StackName><StackStatus>${status}</StackStatus><CreationTime>2026-11-01T00:00:00Z</CreationTime></member>`;
  });
  const next = from + PAGE <= all.length ? `<NextToken>${from + PAGE}</NextToken>` : '';
  const body = `<ListStacksResponse><ListStacksResult><StackSummaries>${members.join('')}</StackSummaries>${next}</ListStacksResult></ListStacksResponse>`;
  return { status: 200, type: 'text/xml', body };
}

/** `undefined`: it never answers. */
function machineOrRules(operation: string, input: Record<string, string>, all: FakeDeployment[]): Reply | undefined {
  const { stateMachineArn = '', executionArn = '', NamePrefix = '' } = input;
  if (operation === 'DescribeAlarms') {
    const raised = all.flatMap(({ name, alarms = [] }) => alarms.map((alarm) => alarmOf(name, alarm)));
    return json({ MetricAlarms: raised });
  }
  const one = all.find(
    ({ name }) =>
      stateMachineArn === arnOf(name) ||
      executionArn.startsWith(`${arnOf(name).replace(':stateMachine:', ':execution:')}:`) ||
      NamePrefix === `crm-export-${name}-`,
  );
  if (!one) return json({ __type: 'AccessDeniedException', message: 'no' }, 400);
  if (one.trouble === 'silent') return undefined;
  if (operation === 'ListRules') return json({ Rules: ENTITIES.map((entity) => ruleOf(one, entity)) });
  const runs = Object.entries(one.failed ?? {}).map(([entity, error]) => runOf(one.name, entity, error));
  if (operation === 'ListExecutions') return json({ executions: runs });
  const run = runs.find((each) => each.executionArn === executionArn);
  return run && json({ ...run, input: '{}' });
}

/** The alarms of deployments whose names begin alike are told apart by their topics. */
function alarmOf(name: string, alarm: string) {
  return { AlarmName: `crm-export-${name}-${alarm}`, AlarmActions: [topicOf(name)], StateValue: 'ALARM' };
}

function ruleOf({ name, paused = [], schedule = 'cron(0 1 * * ? *)' }: FakeDeployment, entity: Entity) {
  const State = paused.includes(entity) ? 'DISABLED' : 'ENABLED';
  return { Name: `crm-export-${name}-${entity}`, State, ScheduleExpression: schedule };
}

function runOf(name: string, entity: string, error: string) {
  const run = `${entity}-${LAST_NIGHT.replace(/[-:]|\.\d+/g, '')}-abcdef`;
  const executionArn = `${arnOf(name).replace(':stateMachine:', ':execution:')}:${run}`;
  const startDate = Date.parse(LAST_NIGHT) / 1000;
  const times = { startDate, stopDate: startDate + 60 };
  return { executionArn, name: run, status: 'FAILED', error, cause: 'It went wrong.', ...times };
}

function objectOf(one: FakeDeployment, key: string, prefix: string): Reply {
  const objects = new Map(Object.entries(one.published ?? {}).flatMap(([entity, at]) => objectsOf(entity, at)));
  if (key === '') {
    const found = [...objects.keys()].filter((each) => each.startsWith(prefix));
    const contents = found.map((each) => `<Contents><Key>${each}</Key></Contents>`).join('');
    return {
      status: 200,
      body: `<ListBucketResult><IsTruncated>false</IsTruncated>${contents}</ListBucketResult>`,
    };
  }
  const body = objects.get(key);
  return body === undefined ? xmlError(404, 'NoSuchKey', 'none') : { status: 200, body };
}

function objectsOf(entity: string, startedAt: string): [string, string][] {
  const date = startedAt.slice(0, 10);
  const execution = `${entity}-${date}`;
  const prefix = `runs/entity=${entity}/run=${execution}/`;
  const known = { schemaVersion: 1, entity, date, execution, startedAt, keptUntil: '2099-01-01', kind: 'full' };
  const pointer = JSON.stringify({ ...known, manifestKey: `${prefix}_manifest.json` });
  const manifest = JSON.stringify({
    ...known,
    file: {
      ...{ key: `${prefix}${entity}.csv`, bytes: 12, crc32: 'AAAAAA==', contentType: 'text/csv' },
      ...{ format: 'csv', compression: null, dialect: null, rows: 1, header: ['id'] },
    },
    export: {
      ...{ id: '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f', createdAt: startedAt, storedAt: startedAt },
      ...{ checks: 2, unansweredCreates: 0, restarts: 0, adoptedFrom: null },
    },
    ...{ request: { columns: ['id'] }, fingerprint: 'f', plan: null, state: 'published', differs: [] },
    ...{ guards: null, fields: null, drift: null, softwareVersion: '0.1.0', warnings: [] },
  });
  return [
    [`published/entity=${entity}/latest.json`, pointer],
    [`published/entity=${entity}/date=${date}.json`, pointer],
    [`${prefix}_manifest.json`, manifest],
  ];
}
