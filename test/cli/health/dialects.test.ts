import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeCalls, type Observations } from '../../../cli/health/probe-calls.ts';
import { pointsOf } from '../../../cli/health/probe-points.ts';
import type { CallKind, FaultInput } from '../../../sandbox/faults.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { Settings } from '../../../sandbox/sandbox-settings.ts';
import { deployment } from '../../support/builders.ts';
import { type Dialect as FileDialect, writtenAs } from '../../support/dialect.ts';

/** CRMs that the interface document allows, and the differences that a probe has to report. */

interface Dialect {
  settings?: Partial<Settings>;
  faults?: FaultInput[];
  otherwise: string[];
  /** Whether a run fails because of it. */
  fails: boolean;
}

/** A marker in every cell of a record, every error and every link of the sandbox. */
const CANARY = 'c4n4ry';

const written = (as: FileDialect, more: Partial<FaultInput> = {}): FaultInput[] => [
  { path: 'file', body: writtenAs(as), ...more },
];
const one = (id: string, fails: boolean, settings: Partial<Settings>): Dialect => ({
  ...{ settings, otherwise: [id], fails },
});
const file = (id: string, fails: boolean, faults: FaultInput[], settings: Partial<Settings> = {}): Dialect => ({
  ...{ settings, faults, otherwise: [id], fails },
});
const asAssumed = (settings: Partial<Settings>, faults: FaultInput[] = []): Dialect => ({
  ...{ settings, faults, otherwise: [], fails: false },
});

/** The successful answers of each call, in the form of another CRM. */
interface Shapes {
  fields: (list: { fieldName: string }[]) => unknown;
  create: (created: { id: string }) => unknown;
  status: (record: { id: string; status: string }) => unknown;
  download: (link: { url: string }) => unknown;
}

function answering(shapes: Partial<Shapes>): Partial<Settings> {
  const byKind: Partial<Record<CallKind, (body: never) => unknown>> = shapes;
  const rewrite: Settings['rewrite'] = async (answer, kind) => {
    const shape = byKind[kind];
    return answer.ok && shape
      ? Response.json(shape((await answer.json()) as never), { status: answer.status })
      : answer;
  };
  return { rewrite };
}

const OTHER_WORDS: Record<string, string> = { INITIATED: 'NEW', PROCESSING: 'RUNNING', PROCESSED: 'COMPLETED' };

const linkedAt = (host: string) => answering({ download: ({ url }) => ({ url: url.replace('127.0.0.1', host) }) });

/** Gives the address a lifetime in its query, as S3 does. */
function linkedFor(seconds: number) {
  const date = () => new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return answering({
    download: ({ url }) => ({ url: `${url}&X-Amz-Date=${date()}&X-Amz-Expires=${seconds}&X-Amz-Signature=x` }),
  });
}

const DIALECTS: Record<string, Dialect> = {
  'the CRM of the interface document': asAssumed({}),
  'fields as names alone': one(
    'fields-shape',
    true,
    answering({ fields: (list) => list.map(({ fieldName }) => fieldName) }),
  ),
  'fields in an object by name': one(
    'fields-shape',
    true,
    answering({ fields: (list) => Object.fromEntries(list.map(({ fieldName, ...field }) => [fieldName, field])) }),
  ),
  'fields with name instead of fieldName': one(
    'fields-shape',
    true,
    answering({ fields: (list) => list.map(({ fieldName: name, ...field }) => ({ name, ...field })) }),
  ),
  'fields below items': one('fields-shape', false, answering({ fields: (items) => ({ items }) })),
  'no agent numbers at the hyphenated address': {
    faults: [{ path: 'fields', entity: 'agent-numbers', answer: { status: 404 } }],
    ...{ otherwise: ['agent-numbers-address'], fails: true },
  },
  'fields of one entity that are refused': {
    faults: [{ path: 'fields', entity: 'meetings', answer: { status: 403 } }],
    ...{ otherwise: ['fields-shape'], fails: true },
  },
  'fields of one entity that end in 500': {
    faults: [{ path: 'fields', entity: 'meetings', answer: { status: 500 } }],
    ...{ otherwise: ['fields-shape'], fails: true },
  },
  'exports by another scope': {
    faults: (['fields', 'create'] as const).map((path) => ({
      path,
      answer: {
        status: 403,
        headers: { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="exports:read"' },
      },
    })),
    ...{ otherwise: ['export-scope'], fails: true },
  },
  'an id that is called jobId': one('export-id-field', true, answering({ create: ({ id: jobId }) => ({ jobId }) })),
  'an id inside of export': one('export-id-field', true, answering({ create: (body) => ({ export: body }) })),
  'numbers as ids': file('export-id-field', true, [{ path: 'create', id: '100001' }]),
  'an id that is called uuid': one('export-id-field', false, answering({ create: ({ id: uuid }) => ({ uuid }) })),
  'an id as a bare string': one('export-id-field', false, answering({ create: ({ id }) => id })),
  'other status words': one(
    'status-words',
    true,
    answering({ status: (record) => ({ ...record, status: OTHER_WORDS[record.status] }) }),
  ),
  'a record below data': one('status-record', false, answering({ status: (data) => ({ data }) })),
  'a record below data, next to a status of the answer': {
    settings: { jobChecks: 1 },
    faults: [
      {
        ...{ path: 'status', done: true },
        answer: { status: 200, body: { status: 'success', data: { status: 'PROCESSED' } } },
      },
    ],
    ...{ otherwise: ['status-record'], fails: false },
  },
  'a record below export': one('status-record', true, answering({ status: (record) => ({ export: record }) })),
  'a record with another id': one(
    'status-record',
    true,
    answering({ status: (record) => ({ ...record, id: randomUUID() }) }),
  ),
  'a link as downloadUrl': one('file-host', true, answering({ download: ({ url: downloadUrl }) => ({ downloadUrl }) })),
  'a link without a host': one(
    'file-host',
    true,
    answering({ download: ({ url }) => ({ url: url.slice(new URL(url).origin.length) }) }),
  ),
  'a link of another host': one('file-host', true, linkedAt('files.crm.example')),
  'a file after a redirect to another host': file('file-host', true, [
    { path: 'file', redirect: 'https://files.crm.example/1' },
  ]),
  'a file after a redirect without https': file('file-host', true, [
    { path: 'file', redirect: 'http://files.crm.example/1' },
  ]),
  'a link for one minute': one('link-lifetime', false, linkedFor(60)),
  'a file in a zip': file('file-format', false, written({ packed: 'zip' }, { contentType: 'application/zip' })),
  'JSON lines': file('file-format', true, written({ format: 'json-lines' })),
  'a web page instead of the file': file('file-format', true, [
    { path: 'file', body: '<!doctype html><title>Sign in</title>', contentType: 'text/html' },
  ]),
  'a CSV file for Excel': file(
    ...(['csv-dialect', false] as const),
    written({ header: 'labels', separator: ';', separatorLine: true, byteOrderMark: true }),
  ),
  'windows-1255': file('csv-dialect', false, written({ header: 'labels', encoding: 'windows-1255' })),
  'labels that are not listed': file(
    'header-texts',
    true,
    written({ header: 'labels' }),
    answering({
      fields: (list) => list.map(({ fieldName }) => ({ fieldName })),
    }),
  ),
  'a file without a header': file('header-texts', true, written({ header: 'none' })),
  'small letters, 202, Retry-After and errors of HTML': asAssumed({
    rewrite: async (answer, kind) => {
      const init = { status: answer.status, headers: { 'Retry-After': '1', 'X-RateLimit-Limit': '60' } };
      if (!answer.ok) return new Response('<!doctype html><h1>Error</h1>', init);
      if (kind === 'create') return Response.json(await answer.json(), { ...init, status: 202 });
      if (kind !== 'status') return answer;
      const record: Record<string, unknown> = JSON.parse(await answer.text());
      return Response.json({ ...record, status: String(record.status).toLowerCase() }, { ...init, status: 202 });
    },
  }),
  'a workbook': asAssumed(
    {},
    written({ format: 'xlsx' }, { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' }),
  ),
  'a link that works once': asAssumed(linkedAt('localhost'), [
    { path: 'file', calls: { from: 2 }, answer: { status: 403 } },
  ]),
  'headers in capitals': asAssumed({}, written({ header: 'capitals' })),
};

/** Probes a CRM of that dialect, without waiting. */
async function met({ settings, faults = [] }: Dialect) {
  const sandbox = await startSandbox({ rows: 5, canary: CANARY, ...settings });
  onTestFinished(() => sandbox.close());
  for (const fault of faults) sandbox.faults.add(fault);
  const { accessToken, scopes } = sandbox.issueTokens();
  const scope = scopes.join(' ');
  const observed: Observations = { calls: [], notes: {} };
  let slept = 0;
  const ended = await makeCalls(
    {
      deployment: deployment({ crm: { baseUrl: sandbox.baseUrl } }),
      token: { accessToken, scope },
      elapsed: () => performance.now() + slept,
      sleep: async (ms) => {
        slept += ms;
        sandbox.clock.advance(ms / 1000);
      },
      signal: new AbortController().signal,
      onCall: () => undefined,
    },
    observed,
  ).catch((error: unknown) => String(error));
  return { observed, ended, sandbox, accessToken, points: pointsOf(observed.notes) };
}

test.each(Object.entries(DIALECTS))('%s: reports exactly the points that differ', async (_, dialect) => {
  const { observed, ended, sandbox, accessToken, points } = await met(dialect);

  const otherwise = points.filter(({ verdict }) => verdict === 'otherwise');
  expect(
    otherwise.map(({ id }) => id),
    JSON.stringify({ points, ended }, undefined, 1),
  ).toEqual(dialect.otherwise);
  expect(points.some(({ fails }) => fails)).toBe(dialect.fails);
  expect(sandbox.ledger.count({ kind: 'create' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.count({ kind: 'file' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.violations()).toEqual([]);
  const kept = JSON.stringify({ points, ended, calls: observed.calls });
  for (const secret of [CANARY, accessToken]) expect(kept).not.toContain(secret);
});

test('every point is as assumed at a CRM that follows the interface document', async () => {
  const { points } = await met({ otherwise: [], fails: false, settings: linkedFor(600) });

  expect(points.length).toBeLessThanOrEqual(15);
  expect(points.filter(({ verdict }) => verdict !== 'as assumed')).toEqual([]);
});

test('docs/interface/open-points.md names each observed point, and no other', async () => {
  const rows = (await readFile('docs/interface/open-points.md', 'utf8')).split('\n').map((line) => line.split(' | '));
  const named = rows.flatMap(([point, , , cell]) => {
    const id = /^`([a-z-]+)` \|$/.exec(cell ?? '')?.[1];
    return id ? [[id, point?.slice(2)]] : [];
  });

  const points = pointsOf({});
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(points.map(({ id, point }) => [id, point])));
});
