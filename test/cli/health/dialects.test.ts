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

const written = (as: FileDialect, more: Partial<FaultInput> = {}): FaultInput[] => [
  { path: 'file', body: writtenAs(as), ...more },
];
const differs = (id: string, settings: Partial<Settings>, faults: FaultInput[] = []): Dialect => ({
  ...{ settings, faults, different: [id] },
});
const differsBy = (id: string, ...faults: FaultInput[]) => differs(id, {}, faults);
const accepted = (settings: Partial<Settings>, faults: FaultInput[] = []): Dialect => ({
  ...{ settings, faults, different: [] },
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

const DIALECTS: Record<string, Dialect> = {
  'the CRM of the interface document': accepted({}),
  'fields as names alone': differs(
    'fields-shape',
    answering({ fields: (list) => list.map(({ fieldName }) => fieldName) }),
  ),
  'fields in an object by name': differs(
    'fields-shape',
    answering({ fields: (list) => Object.fromEntries(list.map(({ fieldName, ...field }) => [fieldName, field])) }),
  ),
  'fields with name instead of fieldName': differs(
    'fields-shape',
    answering({ fields: (list) => list.map(({ fieldName: name, ...field }) => ({ name, ...field })) }),
  ),
  'fields below items': accepted(answering({ fields: (items) => ({ items }) })),
  'no agent numbers at the hyphenated address': differsBy('fields-shape', {
    ...{ path: 'fields', entity: 'agent-numbers', answer: { status: 404 } },
  }),
  'fields of one entity that are refused': differsBy('fields-shape', {
    ...{ path: 'fields', entity: 'meetings', answer: { status: 403 } },
  }),
  'fields of one entity that end in 500': differsBy('fields-shape', {
    ...{ path: 'fields', entity: 'meetings', answer: { status: 500 } },
  }),
  'exports by another scope': differsBy(
    'export-scope',
    ...(['fields', 'create'] as const).map((path) => {
      const headers = { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="exports:read"' };
      return { path, answer: { status: 403, headers } };
    }),
  ),
  'an id that is called jobId': differs('export-id-field', answering({ create: ({ id: jobId }) => ({ jobId }) })),
  'an id inside of export': differs('export-id-field', answering({ create: (body) => ({ export: body }) })),
  'numbers as ids': differs('export-id-field', answering({ create: () => ({ id: '100001' }) })),
  'an id that is called uuid': accepted(answering({ create: ({ id: uuid }) => ({ uuid }) })),
  'an id as a bare string': accepted(answering({ create: ({ id }) => id })),
  'other status words': differs(
    'status-words',
    answering({ status: (record) => ({ ...record, status: OTHER_WORDS[record.status] }) }),
  ),
  'a record below data': accepted(answering({ status: (data) => ({ data }) })),
  'a record below data, next to a status of the answer': accepted({ jobChecks: 1 }, [
    {
      ...{ path: 'status', done: true },
      answer: { status: 200, body: { status: 'success', data: { status: 'PROCESSED' } } },
    },
  ]),
  'a record below export': differs('status-record', answering({ status: (record) => ({ export: record }) })),
  'a record with another id': differs(
    'status-record',
    answering({ status: (record) => ({ ...record, id: randomUUID() }) }),
  ),
  'a link as downloadUrl': differs('file-host', answering({ download: ({ url: downloadUrl }) => ({ downloadUrl }) })),
  'a link without a host': differs(
    'file-host',
    answering({ download: ({ url }) => ({ url: url.slice(new URL(url).origin.length) }) }),
  ),
  'a link of another host': differs('file-host', linkedAt('files.crm.example')),
  'a file after a redirect to another host': differsBy('file-host', {
    ...{ path: 'file', answer: { status: 302, headers: { Location: 'https://files.crm.example/1' } } },
  }),
  'a file after a redirect without https': differsBy('file-host', {
    ...{ path: 'file', answer: { status: 302, headers: { Location: 'http://files.crm.example/1' } } },
  }),
  'a file in a zip': accepted({}, written({ packed: 'zip' }, { contentType: 'application/zip' })),
  'JSON lines': differsBy('file-format', ...written({ format: 'json-lines' })),
  'a web page instead of the file': differsBy('file-format', {
    ...{ path: 'file', body: '<!doctype html><title>Sign in</title>', contentType: 'text/html' },
  }),
  'a CSV file for Excel': accepted(
    {},
    written({ header: 'labels', separator: ';', separatorLine: true, byteOrderMark: true }),
  ),
  'windows-1255': accepted({}, written({ header: 'labels', encoding: 'windows-1255' })),
  'labels that are not listed': differs(
    'header-texts',
    answering({ fields: (list) => list.map(({ fieldName }) => ({ fieldName })) }),
    written({ header: 'labels' }),
  ),
  'a file without a header': differsBy('header-texts', ...written({ header: 'none' })),
  'small letters, 202, Retry-After and errors of HTML': accepted({
    rewrite: async (answer, kind) => {
      const init = { status: answer.status, headers: { 'Retry-After': '1', 'X-RateLimit-Limit': '60' } };
      if (!answer.ok) return new Response('<!doctype html><h1>Error</h1>', init);
      if (kind === 'create') return Response.json(await answer.json(), { ...init, status: 202 });
      if (kind !== 'status') return answer;
      const record: Record<string, unknown> = JSON.parse(await answer.text());
      return Response.json({ ...record, status: String(record.status).toLowerCase() }, { ...init, status: 202 });
    },
  }),
  'a workbook': accepted(
    {},
    written({ format: 'xlsx' }, { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' }),
  ),
  'a link that works once': accepted(linkedAt('localhost'), [
    { path: 'file', calls: { from: 2 }, answer: { status: 403 } },
  ]),
  'headers in capitals': accepted({}, written({ header: 'capitals' })),
};

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

test.each(Object.entries(DIALECTS))('%s: reports exactly the points that fail a run', async (_, dialect) => {
  const { observed, ended, sandbox, accessToken, points } = await probed(dialect);

  const different = points.filter(({ verdict }) => verdict === 'different');
  expect(
    different.map(({ id }) => id),
    JSON.stringify({ points, ended }, undefined, 1),
  ).toEqual(dialect.different);
  if (dialect.different.length === 0) expect(ended).toBeUndefined();
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
