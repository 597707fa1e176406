import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { makeCalls, type Probe, pointsOf } from '../../../cli/health/probe-calls.ts';
import type { CallKind, FaultInput } from '../../../sandbox/faults.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { Settings } from '../../../sandbox/sandbox-settings.ts';
import { deployment } from '../../support/builders.ts';
import { type Dialect as FileDialect, writtenAs } from '../../support/dialect.ts';

/** CRMs that the interface document allows, and the differences that a probe has to report. */

interface Dialect {
  settings?: Partial<Settings>;
  faults?: FaultInput[];
  /** The points because of which a run fails. */
  different: string[];
}

/** A marker in every cell of a record, every error and every link of the sandbox. */
const CANARY = 'c4n4ry';

const written = (as: FileDialect, contentType?: string): FaultInput[] => [
  { path: 'file', body: writtenAs(as), ...(contentType && { contentType }) },
];
const dialect = (settings: Partial<Settings>, faults: FaultInput[], ...different: string[]): Dialect => {
  return { settings, faults, different };
};
const differs = (id: string, shapes: Partial<Shapes>, ...faults: FaultInput[]) =>
  dialect(answering(shapes), faults, id);
const differsBy = (id: string, ...faults: FaultInput[]) => dialect({}, faults, id);
const answers = (shapes: Partial<Shapes>) => dialect(answering(shapes), []);
const accepted = (...faults: FaultInput[]) => dialect({}, faults);
const refused = (entity: 'meetings' | 'agent-numbers', status: number) =>
  differsBy('fields-shape', { path: 'fields', entity, answer: { status } });
const redirected = (Location: string) =>
  differsBy('file-host', { path: 'file', answer: { status: 302, headers: { Location } } });

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

const linkedAt = (host: string): Partial<Shapes> => ({
  download: ({ url }) => ({ url: url.replace('127.0.0.1', host) }),
});
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

const DIALECTS: Record<string, Dialect> = {
  'the CRM of the interface document': accepted(),
  'fields as names alone': differs('fields-shape', { fields: (list) => list.map(({ fieldName }) => fieldName) }),
  'fields with name instead of fieldName': differs('fields-shape', {
    fields: (list) => list.map(({ fieldName: name, ...field }) => ({ name, ...field })),
  }),
  'fields below items': answers({ fields: (items) => ({ items }) }),
  'no agent numbers at the hyphenated address': refused('agent-numbers', 404),
  'fields of one entity that end in 500': refused('meetings', 500),
  'exports by another scope': differsBy(
    'export-scope',
    ...(['fields', 'create'] as const).map((path) => {
      const headers = { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="exports:read"' };
      return { path, answer: { status: 403, headers } };
    }),
  ),
  'an id that is called jobId': differs('export-id-field', { create: ({ id: jobId }) => ({ jobId }) }),
  'numbers as ids': differs('export-id-field', { create: () => ({ id: '100001' }) }),
  'an id that is called uuid': answers({ create: ({ id: uuid }) => ({ uuid }) }),
  'an id as a bare string': answers({ create: ({ id }) => id }),
  'other status words': differs('status-words', { status: (of) => ({ ...of, status: OTHER_WORDS[of.status] }) }),
  'a record below data': answers({ status: (data) => ({ data }) }),
  'a record below data, next to a status of the answer': dialect({ jobChecks: 1 }, [
    {
      ...{ path: 'status', done: true },
      answer: { status: 200, body: { status: 'success', data: { status: 'PROCESSED' } } },
    },
  ]),
  'a record below export': differs('status-record', { status: (record) => ({ export: record }) }),
  'a record with another id': differs('status-record', { status: (record) => ({ ...record, id: randomUUID() }) }),
  'a link as downloadUrl': differs('file-host', { download: ({ url: downloadUrl }) => ({ downloadUrl }) }),
  'a link without a host': differs('file-host', { download: ({ url }) => ({ url: url.replace(/^http:..[^/]+/, '') }) }),
  'a link of another host': differs('file-host', linkedAt('files.crm.example')),
  'a file after a redirect to another host': redirected('https://files.crm.example/1'),
  'a file after a redirect without https': redirected('http://files.crm.example/1'),
  'a file in a zip': accepted(...written({ packed: 'zip' }, 'application/zip')),
  'JSON lines': differsBy('file-format', ...written({ format: 'json-lines' })),
  'a web page instead of the file': differsBy('file-format', {
    ...{ path: 'file', body: '<!doctype html><title>Sign in</title>', contentType: 'text/html' },
  }),
  'a CSV file for Excel': accepted(
    ...written({ header: 'labels', separator: ';', separatorLine: true, byteOrderMark: true }),
  ),
  'windows-1255': accepted(...written({ header: 'labels', encoding: 'windows-1255' })),
  'labels that are not listed': differs(
    'header-texts',
    { fields: (list) => list.map(({ fieldName }) => ({ fieldName })) },
    ...written({ header: 'labels' }),
  ),
  'a file without a header': differsBy('header-texts', ...written({ header: 'none' })),
  'small letters, 202, Retry-After and errors of HTML': dialect({ rewrite: inSmallLetters }, []),
  'a workbook': accepted(...written({ format: 'xlsx' }, XLSX)),
  'a link that works once': dialect(answering(linkedAt('localhost')), [
    { path: 'file', calls: { from: 2 }, answer: { status: 403 } },
  ]),
  'headers in capitals': accepted(...written({ header: 'capitals' })),
};

async function inSmallLetters(answer: Response, kind: CallKind): Promise<Response> {
  const init = { status: answer.status, headers: { 'Retry-After': '1', 'X-RateLimit-Limit': '60' } };
  if (!answer.ok) return new Response('<!doctype html><h1>Error</h1>', init);
  if (kind === 'create') return Response.json(await answer.json(), { ...init, status: 202 });
  if (kind !== 'status') return answer;
  const record: Record<string, unknown> = JSON.parse(await answer.text());
  return Response.json({ ...record, status: String(record.status).toLowerCase() }, { ...init, status: 202 });
}

/** Probes a CRM of that dialect, without waiting. */
async function probed({ settings, faults = [] }: Dialect) {
  const sandbox = await startSandbox({ rows: 5, canary: CANARY, ...settings });
  onTestFinished(() => sandbox.close());
  for (const fault of faults) sandbox.faults.add(fault);
  const { accessToken, scopes } = sandbox.issueTokens();
  const scope = scopes.join(' ');
  const observed: Probe = {
    deployment: deployment({ crm: { baseUrl: sandbox.baseUrl } }),
    token: { accessToken, scope },
    sleep: async (ms) => {
      sandbox.clock.advance(ms / 1000);
    },
    signal: new AbortController().signal,
    onCall: () => undefined,
    calls: [],
    notes: {},
  };
  const ended = await makeCalls(observed).catch((error: unknown) => String(error));
  return { observed, ended, sandbox, accessToken, points: pointsOf(observed.notes) };
}

test.each(Object.entries(DIALECTS))('%s: reports exactly the points that fail a run', async (_, crm) => {
  const { observed, ended, sandbox, accessToken, points } = await probed(crm);

  const different = points.flatMap(({ id, verdict }) => (verdict === 'different' ? [id] : []));
  expect(different, JSON.stringify({ points, ended }, undefined, 1)).toEqual(crm.different);
  if (crm.different.length === 0) expect(ended).toBeUndefined();
  expect(sandbox.ledger.count({ kind: 'create' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.count({ kind: 'file' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.violations()).toEqual([]);
  const kept = JSON.stringify({ points, ended, calls: observed.calls });
  for (const secret of [CANARY, accessToken]) expect(kept).not.toContain(secret);
});

test('every point is as assumed at a CRM that follows the interface document', async () => {
  const { points } = await probed({ different: [] });

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
