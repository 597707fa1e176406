import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { connect } from '../../../cli/support/target.ts';
import type { Entity } from '../../../core/config/entities.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import { STEPS } from '../../../core/step/steps.ts';
import { crc32Text } from '../../../transfer/index.ts';
import { stackReply } from './aws-server.ts';

/** A deployment on loopback that only answers: its stack, its bucket, its executions and its rules. */

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:crm-export-test-ExportRun';
export const arnOf = (name: string) => `${MACHINE.replace(':stateMachine:', ':execution:')}:${name}`;

export interface Execution {
  name: string;
  status: string;
  input: object;
  /** ISO 8601. */
  start: string;
  stop?: string;
  error?: string;
  cause?: string;
  output?: string;
  /** States entered: name, ISO time, what they were given. */
  entered?: [name: string, at: string, state: object][];
}

interface Options {
  executions?: Execution[];
  /** Entities whose rule is switched off. */
  paused?: Entity[];
  /** The schedules of rules that are on, by entity. */
  rules?: Partial<Record<Entity, string>>;
  /** May take over the answer to a GET of an object. */
  trouble?: (key: string, response: ServerResponse, body: Buffer, range: number) => boolean;
  /** Operations that AWS refuses. */
  denied?: string[];
  /** What S3 answers to everything. */
  bucket?: { status: number; code: string };
  /** Of the deployment; a stack of an earlier release does not name it. */
  timeZone?: string;
  /** Entities that have tables. */
  tables?: Entity[];
  /** Output of the stack: what the tables are written under. */
  tableSettings?: string;
  /** What becomes of an execution that is started; without it nothing is known of it. */
  onStart?: (input: { entity: Entity } & Record<string, unknown>) => Omit<Execution, 'name' | 'input'>;
}

interface Publication {
  entity?: Entity;
  date?: string;
  execution?: string;
  content?: string | Buffer;
  /** Changes of the manifest. */
  manifest?: Partial<Manifest>;
  /** Whether the pointers name it. */
  pointers?: ('date' | 'latest')[];
}

export async function readingCloud({
  executions = [],
  paused = [],
  rules = {},
  trouble = () => false,
  denied = [],
  bucket,
  timeZone,
  tables,
  tableSettings,
  onStart,
}: Options = {}) {
  const stack = stackReply({
    ...OUTPUTS,
    ...(timeZone && { TimeZone: timeZone }),
    ...(tables && { TableEntities: tables.join(' ') }),
    ...(tableSettings && { TableSettings: tableSettings }),
  }).body;
  const objects = new Map<string, Buffer>();
  /** Metadata of objects, by key. */
  const metadata = new Map<string, Record<string, string>>();
  const calls: string[] = [];
  /** Inputs of executions. */
  const started: object[] = [];
  const json: Record<string, (input: Record<string, string>) => object> = {
    ListExecutions: () => ({ executions: executions.map(({ input: _, ...run }) => described(run)) }),
    DescribeExecution: ({ executionArn }) => {
      const run = executions.find(({ name }) => arnOf(name) === executionArn);
      if (!run) return { __type: 'ExecutionDoesNotExist', message: 'none' };
      return { ...described(run), input: JSON.stringify(run.input), output: run.output };
    },
    GetExecutionHistory: ({ executionArn, reverseOrder }) => {
      const run = executions.find(({ name }) => arnOf(name) === executionArn);
      const events = historyOf(run?.entered ?? []);
      return { events: reverseOrder ? events.reverse() : events };
    },
    StartExecution: ({ name = '', input = '' }) => {
      const given = JSON.parse(input);
      started.push(given);
      if (onStart) executions.push({ name, input: given, ...onStart(given) });
      return { executionArn: arnOf(name), startDate: 0 };
    },
    ListRules: () => ({
      Rules: [
        ...paused.map((entity) => ({ Name: `crm-export-test-${entity}`, State: 'DISABLED' })),
        ...Object.entries(rules).map(([entity, ScheduleExpression]) => {
          return { Name: `crm-export-test-${entity}`, State: 'ENABLED', ScheduleExpression };
        }),
      ],
    }),
  };
  const ask = (response: ServerResponse, operation: string, body: Buffer) => {
    calls.push(operation);
    const refused = denied.includes(operation) && { __type: 'AccessDeniedException', message: 'no' };
    const answer = refused || (json[operation]?.(JSON.parse(body.toString())) ?? {});
    response.writeHead('__type' in answer ? 400 : 200, { 'content-type': 'application/x-amz-json-1.0' });
    return response.end(JSON.stringify(answer));
  };
  const endpoint = await listening(async (request, response) => {
    const body = await buffer(request);
    const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1];
    if (operation) return ask(response, operation, body);
    const url = new URL(request.url ?? '', 'http://cloud');
    if (request.method === 'POST') return response.writeHead(200, { 'content-type': 'text/xml' }).end(stack);
    if (bucket) return refuse(response, bucket.status, bucket.code, request.method);
    const key = decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, '');
    if (key === '') return response.end(listXml([...objects.keys()], url.searchParams.get('prefix') ?? ''));
    calls.push(`${request.method} ${key}${request.headers.range ? ` ${request.headers.range}` : ''}`);
    describeBy(metadata.get(key), response);
    return object(request, response, key, objects.get(key), trouble);
  });

  /** Puts a published run into the bucket: file, manifest, pointers. */
  const publish = (publication: Publication = {}): Manifest => {
    const { entity = 'leads', date = '2026-11-20', content = 'id,name\n1,a\n' } = publication;
    const { execution = `${entity}-night`, pointers = ['date', 'latest'] } = publication;
    const prefix = `runs/entity=${entity}/run=${execution}/`;
    const manifest = { ...manifestFor(entity, date, execution, Buffer.from(content)), ...publication.manifest };
    objects.set(`${prefix}${entity}.csv`, Buffer.from(content));
    objects.set(`${prefix}_manifest.json`, Buffer.from(JSON.stringify(manifest)));
    const { startedAt, keptUntil, kind } = manifest;
    const pointer = {
      schemaVersion: 1,
      entity,
      date,
      startedAt,
      execution,
      manifestKey: `${prefix}_manifest.json`,
      keptUntil,
      kind,
    };
    for (const which of pointers) {
      const name = which === 'latest' ? 'latest' : `date=${date}`;
      objects.set(`published/entity=${entity}/${name}.json`, Buffer.from(JSON.stringify(pointer)));
    }
    return manifest;
  };
  return {
    endpoint,
    objects,
    metadata,
    calls,
    started,
    publish,
    target: await connect({ deployment: 'test', endpointUrl: endpoint }),
  };
}

function manifestFor(entity: Entity, date: string, execution: string, content: Buffer): Manifest {
  const startedAt = `${date}T01:00:00.000Z`;
  return {
    ...{ schemaVersion: 1, entity, date, execution, startedAt, softwareVersion: '1.0.0', fingerprint: 'f' },
    file: {
      ...{ key: `runs/entity=${entity}/run=${execution}/${entity}.csv`, bytes: content.length },
      ...{ crc32: crc32Text(crc32(content)), contentType: 'text/csv' },
      ...{ format: 'csv', compression: null, dialect: null, rows: 1, header: ['id', 'name'], content: null },
    },
    export: {
      ...{ id: '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f', createdAt: startedAt, storedAt: `${date}T01:00:04.000Z` },
      ...{ checks: 2, unansweredCreates: 0, restarts: 0, adoptedFrom: null },
    },
    request: { columns: ['id', 'name'] },
    ...{ state: 'published', plan: null, kind: 'full', differs: [], guards: null, fields: null, drift: null },
    ...{ leftOut: null, releasedBefore: null, unchangedSince: null },
    keptUntil: '2099-01-01',
    warnings: [],
  };
}

const described = ({ name, status, start, stop, error, cause }: Omit<Execution, 'input'>) => ({
  ...{ executionArn: arnOf(name), name, status, error, cause, startDate: Date.parse(start) / 1000 },
  ...(stop && { stopDate: Date.parse(stop) / 1000 }),
});

/** The events that AWS writes of states: of the Choice behind each task too, and of leaving each state. */
function historyOf(entered: NonNullable<Execution['entered']>) {
  const states = entered.flatMap(([name, at, state], index) => {
    const next = entered[index + 1];
    const choice = next && STEP_NAMES.includes(name) ? [{ name: `After${name}`, at: next[1], state: next[2] }] : [];
    return [{ name, at, state }, ...choice];
  });
  const events = states.flatMap(({ name, at, state }, index) => {
    const next = states[index + 1];
    const left = { name, output: JSON.stringify(next?.state) };
    return [
      { type: `${typeOf(name)}StateEntered`, at, stateEnteredEventDetails: { name, input: JSON.stringify(state) } },
      ...(next ? [{ type: `${typeOf(name)}StateExited`, at: next.at, stateExitedEventDetails: left }] : []),
    ];
  });
  return events.map(({ at, ...event }, index) => ({ ...event, id: index + 1, timestamp: Date.parse(at) / 1000 }));
}

const STEP_NAMES = Object.keys(STEPS);

function typeOf(name: string): string {
  if (STEP_NAMES.includes(name)) return 'Task';
  if (name.startsWith('After')) return 'Choice';
  if (name.startsWith('Wait')) return 'Wait';
  return { BeginRun: 'Pass', ExportPublished: 'Succeed' }[name] ?? 'Fail';
}

function object(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  key: string,
  body: Buffer | undefined,
  trouble: NonNullable<Options['trouble']>,
): unknown {
  if (!body) return refuse(response, 404, 'NoSuchKey', method);
  const etag = `"${createHash('md5').update(body).digest('hex')}"`;
  if (headers['if-match'] && headers['if-match'] !== etag) return refuse(response, 412, 'PreconditionFailed', method);
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? [];
  const from = Number(first ?? 0);
  if (method === 'GET' && trouble(key, response, body, from)) return undefined;
  const part = body.subarray(from, last ? Number(last) + 1 : undefined);
  response.writeHead(headers.range ? 206 : 200, { etag, 'content-length': part.length });
  return response.end(method === 'HEAD' ? undefined : part);
}

function describeBy(metadata: Record<string, string> | undefined, response: ServerResponse): void {
  for (const [name, value] of Object.entries(metadata ?? {})) response.setHeader(`x-amz-meta-${name}`, value);
}

function refuse(response: ServerResponse, status: number, code: string, method: string | undefined): unknown {
  response.writeHead(status, { 'content-type': 'application/xml' });
  return response.end(method === 'HEAD' ? undefined : `<Error><Code>${code}</Code><Message>refused</Message></Error>`);
}

async function listening(handle: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>) {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function listXml(keys: string[], prefix: string): string {
  const found = keys.filter((key) => key.startsWith(prefix)).sort();
  const contents = found.map(
    (key) => `<Contents><Key>${key}</Key><LastModified>2026-11-20T01:01:00.000Z</LastModified></Contents>`,
  );
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`;
}

const OUTPUTS: Record<string, string> = {
  ...{ StateMachineArn: MACHINE, BucketName: 'bucket', ClientSecretId: 'client' },
  ...{ TokensSecretId: 'tokens', LedgerTableName: 'ledger' },
};
