import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type BatchManifest, noCounts } from '../../../core/batch/batch-manifest.ts';
import type { ResultLine } from '../../../core/batch/result-line.ts';

/** What becomes of a line: the parts of its result that differ from an applied one. */
type LineOutcome = (line: number) => Partial<ResultLine>;

interface Options {
  lineOutcome?: LineOutcome;
  /** `false`: a stack of a configuration without updates. */
  updates?: boolean;
  /** Looks at the execution before it is over. */
  looks?: number;
  /** The machine ends without a summary, in this error. */
  crash?: { error: string; cause: string };
  /** An execution that is started goes on, and its start is never answered. */
  loseStarts?: boolean;
  /** When a machine that is over ended, in seconds; else some days ago. */
  endedAt?: number;
  /** Told of each object that is put. */
  onPut?: (key: string) => void;
}

const ARN = 'arn:aws:states:us-east-1:000000000000:stateMachine:crm-export-local-CustomerUpdates';
const STARTED = 1_795_000_000;
const APPLIED = { outcome: 'APPLIED', error: null, status: 200, attempts: 1, at: '2026-11-20T02:00:01.000Z' } as const;

interface Execution {
  name: string;
  batch: string;
  input: string;
  looks: number;
}

/**
 * A deployment on loopback, for the length of a test: its stack, its bucket, and a machine that hands out outcomes by the
 * number of the line, half of them at the first look.
 */
export async function updateCloud(options: Options = {}) {
  const {
    lineOutcome = () => ({}),
    updates = true,
    looks = 2,
    crash,
    loseStarts = false,
    endedAt = STARTED + 10,
    onPut,
  } = options;
  const objects = new Map<string, Buffer>();
  /** By batch. */
  const executions = new Map<string, Execution>();
  const calls: string[] = [];

  const ended = ({ looks: left }: Execution) => left <= 0;
  const described = (execution: Execution) => {
    const over = ended(execution);
    const incomplete =
      !objects.has(`updates/${execution.batch}/result.jsonl`) || /"(REJ|FAIL|UNK|NOT)/.test(text(execution));
    const failure = crash ?? { error: 'UpdatesIncomplete', cause: 'Some lines were not applied.' };
    const status = over ? (incomplete ? 'FAILED' : 'SUCCEEDED') : 'RUNNING';
    const common = { executionArn: arnOf(execution.name), name: execution.name, startDate: STARTED, status };
    return {
      ...common,
      input: execution.input,
      ...(over && { stopDate: endedAt }),
      ...(status === 'FAILED' && failure),
    };
  };
  const text = ({ batch }: Execution) => String(objects.get(`updates/${batch}/result.jsonl`) ?? '');

  /** A look: half of the results, then all. */
  const advance = (execution: Execution) => {
    if (ended(execution)) return;
    execution.looks -= 1;
    const folder = `updates/${execution.batch}`;
    const results = resultsOf(objects.get(`${folder}/input.jsonl`)?.toString() ?? '', lineOutcome);
    const half = Math.ceil(results.length / 2);
    const part = (number: number, lines: ResultLine[]) => {
      objects.set(`${folder}/results/chunk-0001.00000${number}.begun.json`, Buffer.from('{}'));
      objects.set(`${folder}/results/chunk-0001.00000${number}.jsonl`, linesText(lines));
    };
    if (!crash || execution.looks > 0) part(1, results.slice(0, half));
    if (!ended(execution) || crash) return;
    part(2, results.slice(half));
    objects.set(`${folder}/result.jsonl`, linesText(results));
    objects.set(`${folder}/_manifest.json`, Buffer.from(JSON.stringify(manifestOf(execution.batch, results))));
  };

  const machine: Record<string, (input: Record<string, string>) => object> = {
    StartExecution: ({ name = '', input = '' }) => {
      const file = String(JSON.parse(input).file);
      const batch = file.split('/')[1] ?? '';
      const standing = [...executions.values()].find((execution) => execution.name === name);
      if (standing && (ended(standing) || standing.input !== input)) {
        return { __type: 'ExecutionAlreadyExists', message: 'exists' };
      }
      if (standing) return { executionArn: arnOf(name), startDate: STARTED };
      executions.set(batch, { name, batch, input, looks });
      objects.set(`updates/${batch}/_started.json`, Buffer.from(JSON.stringify({ execution: name })));
      return { executionArn: arnOf(name), startDate: STARTED };
    },
    DescribeExecution: ({ executionArn = '' }) => {
      const execution = [...executions.values()].find(({ name }) => arnOf(name) === executionArn);
      if (!execution) return { __type: 'ExecutionDoesNotExist', message: 'none' };
      advance(execution);
      return described(execution);
    },
    ListExecutions: () => ({
      executions: [...executions.values()]
        .toReversed()
        .map((execution) => ({ ...described(execution), input: undefined, stateMachineArn: ARN })),
    }),
  };

  const ask = (operation: string, body: Buffer): Reply | 'lost' => {
    calls.push(operation);
    const answer = machine[operation]?.(JSON.parse(body.toString())) ?? {};
    if (operation === 'StartExecution' && loseStarts) return 'lost';
    return { status: '__type' in answer ? 400 : 200, type: 'application/x-amz-json-1.0', body: JSON.stringify(answer) };
  };
  const put = (key: string, request: IncomingMessage, body: Buffer): Reply => {
    calls.push(`PUT ${key.replace(/update-\d{8}T\d{6}-[0-9a-f]{6}/, 'BATCH')}`);
    if (objects.has(key) && request.headers['if-none-match'] === '*') return xmlError(412, 'PreconditionFailed');
    objects.set(key, unchunked(request, body));
    onPut?.(key);
    return { status: 200, body: '' };
  };

  const endpoint = await serve(async (request) => {
    const url = new URL(request.url ?? '', 'http://cloud');
    const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1];
    const body = await buffer(request);
    if (operation) return ask(operation, body);
    if (url.pathname === '/') return { status: 200, type: 'text/xml', body: stackXml(updates) };
    const key = decodeURIComponent(url.pathname).replace(/^\/bucket\/?/, '');
    if (request.method === 'PUT') return put(key, request, body);
    if (key === '') return { status: 200, body: listXml([...objects.keys()], url.searchParams.get('prefix') ?? '') };
    const object = objects.get(key);
    return object ? { status: 200, body: object } : xmlError(404, 'NoSuchKey');
  });
  return { endpoint, objects, calls, executions };
}

const arnOf = (name: string) => `${ARN.replace(':stateMachine:', ':execution:')}:${name}`;

function resultsOf(input: string, lineOutcome: LineOutcome): ResultLine[] {
  return input.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    return [{ line: index + 1, id: String(JSON.parse(line).id), ...APPLIED, ...lineOutcome(index + 1) }];
  });
}

function linesText(results: ResultLine[]): Buffer {
  return Buffer.from(results.map((result) => `${JSON.stringify(result)}\n`).join(''));
}

function manifestOf(batch: string, results: ResultLine[]): BatchManifest {
  const counts = noCounts();
  for (const { outcome } of results) counts[outcome] += 1;
  const folder = `updates/${batch}`;
  return {
    ...{ schemaVersion: 1, batch, execution: batch, chunks: 1, counts, stoppedBy: null, maxRate: 20 },
    input: {
      key: `${folder}/input.jsonl`,
      bytes: 1,
      crc32: 'AAAAAA==',
      lines: results.length,
      records: results.length,
    },
    result: { key: `${folder}/result.jsonl`, bytes: 1, crc32: 'AAAAAA==' },
    ...{ stopAfterFailures: null, startedAt: '2026-11-20T02:00:00.000Z', finishedAt: '2026-11-20T02:00:10.000Z' },
    ...{ keptUntil: '2026-12-20', softwareVersion: '1', warnings: [] },
  };
}

interface Reply {
  status: number;
  type?: string;
  body: string | Uint8Array;
}

async function serve(reply: (request: IncomingMessage) => Promise<Reply | 'lost'>): Promise<string> {
  const server = createServer(async (request, response) => {
    const answer = await reply(request);
    if (answer === 'lost') return response.destroy();
    const { status, type = 'application/xml', body } = answer;
    return response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The body without the frames of `aws-chunked`. */
function unchunked({ headers }: IncomingMessage, body: Buffer): Buffer {
  if (!String(headers['content-encoding']).includes('aws-chunked')) return body;
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    if (!size) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

function xmlError(status: number, code: string): Reply {
  return { status, body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>` };
}

function listXml(keys: string[], prefix: string): string {
  const found = keys.filter((key) => key.startsWith(prefix)).sort();
  const contents = found.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents}</ListBucketResult>`;
}

function stackXml(updates: boolean): string {
  const names = ['StateMachineArn', 'ClientSecretId', 'TokensSecretId', 'LedgerTableName'];
  const values = new Map([...names.map((name) => [name, 'x'] as const), ['BucketName', 'bucket']]);
  if (updates) values.set('UpdatesStateMachineArn', ARN);
  const outputs = [...values].map(
    ([name, value]) => `<member><OutputKey>${name}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>CREATE_COMPLETE</StackStatus>
    <Outputs>${outputs.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}
