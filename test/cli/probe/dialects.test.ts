import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { meet, type Seen } from '../../../cli/probe/meeting.ts';
import { pointsOf } from '../../../cli/probe/points.ts';
import { startSandbox } from '../../../sandbox/sandbox.ts';
import type { FaultInput } from '../../../sandbox/world/fault-schema.ts';
import type { Settings } from '../../../sandbox/world/settings.ts';
import { deployment } from '../../support/builders.ts';

/** CRMs that the interface document allows, and the points that a probe has to report as otherwise. */

interface Dialect {
  settings?: Partial<Settings>;
  faults?: FaultInput[];
  otherwise: string[];
  /** Whether a run fails by it. */
  fails: boolean;
}

/** In every cell of a record, every error and every link of the sandbox. */
const CANARY = 'c4n4ry';

const written = (as: NonNullable<FaultInput['written']>, more: Partial<FaultInput> = {}): FaultInput[] => [
  { path: 'file', written: as, ...more },
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

const DIALECTS: Record<string, Dialect> = {
  'the CRM of the interface document': asAssumed({}),
  'fields as names alone': one('fields-shape', true, { fieldsShape: 'names' }),
  'fields in an object by name': one('fields-shape', true, { fieldsShape: 'byName' }),
  'fields with name instead of fieldName': one('fields-shape', true, { fieldsShape: 'name' }),
  'fields below items': one('fields-shape', false, { fieldsShape: 'items' }),
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
  'exports by another scope': one('export-scope', true, { exportScope: 'exports:read' }),
  'an id that is called jobId': one('export-id-field', true, { createAnswer: 'jobId' }),
  'an id inside of export': one('export-id-field', true, { createAnswer: 'nested' }),
  'numbers as ids': one('export-id-field', true, { exportIds: 'numbers' }),
  'an id that is called uuid': one('export-id-field', false, { createAnswer: 'uuid' }),
  'an id as a bare string': one('export-id-field', false, { createAnswer: 'string' }),
  'other status words': one('status-words', true, { statusWords: 'others' }),
  'a record below data': one('status-record', false, { recordShape: 'wrapped' }),
  'a record below data, beside a status of the answer': {
    settings: { jobChecks: 1 },
    faults: [
      {
        ...{ path: 'status', done: true },
        answer: { status: 200, body: { status: 'success', data: { status: 'PROCESSED' } } },
      },
    ],
    ...{ otherwise: ['status-record'], fails: false },
  },
  'a record below export': one('status-record', true, { recordShape: 'inExport' }),
  'a record with another id': one('status-record', true, { recordShape: 'otherId' }),
  'a link as downloadUrl': one('file-host', true, { linkAnswer: 'downloadUrl' }),
  'a link without a host': one('file-host', true, { linkAnswer: 'relative' }),
  'a link of another host': one('file-host', true, { linkHost: 'files.crm.example' }),
  'a file behind a redirect to another host': file('file-host', true, [
    { path: 'file', redirect: 'https://files.crm.example/1' },
  ]),
  'a file behind a redirect without https': file('file-host', true, [
    { path: 'file', redirect: 'http://files.crm.example/1' },
  ]),
  'a link for one minute': one('link-lifetime', false, { linkLife: 'amazon', urlSeconds: 60 }),
  'a file in a zip': file('file-format', false, written({ packed: 'zip' }, { contentType: 'application/zip' })),
  'JSON lines': file('file-format', true, written({ format: 'json-lines' })),
  'a web page in place of the file': file('file-format', true, [
    { path: 'file', body: '<!doctype html><title>Sign in</title>', contentType: 'text/html' },
  ]),
  'a CSV file for Excel': file(
    ...(['csv-dialect', false] as const),
    written({ header: 'labels', separator: ';', separatorLine: true, byteOrderMark: true }),
  ),
  'windows-1255': file('csv-dialect', false, written({ header: 'labels', encoding: 'windows-1255' })),
  'labels that are not listed': file('header-texts', true, written({ header: 'labels' }), { fieldsShape: 'plain' }),
  'a file without a header': file('header-texts', true, written({ header: 'none' })),
  'small letters, 202, Retry-After and errors of HTML': asAssumed({
    ...{ statusWords: 'lower', goodStatus: { create: 202, status: 202 }, errorBody: 'html', fieldsShape: 'renamed' },
    headers: { 'Retry-After': '1', 'X-RateLimit-Limit': '60' },
  }),
  'a workbook': asAssumed(
    {},
    written({ format: 'xlsx' }, { contentType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' }),
  ),
  'a link that is good once': asAssumed({ linkHost: 'localhost', linkUses: 1 }),
  'headers in capitals': asAssumed({}, written({ header: 'capitals' })),
};

/** Meets a CRM of that dialect, without waiting. */
async function met({ settings, faults = [] }: Dialect) {
  const sandbox = await startSandbox({ rows: 5, canary: CANARY, ...settings });
  onTestFinished(() => sandbox.close());
  for (const fault of faults) sandbox.faults.add(fault);
  const { accessToken, scopes } = sandbox.issueTokens();
  const scope = scopes.join(' ');
  const seen: Seen = { scope, calls: [], lists: [], statuses: [] };
  let slept = 0;
  const ended = await meet(
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
    seen,
  ).catch((error: unknown) => String(error));
  return { seen, ended, sandbox, accessToken, points: pointsOf(seen) };
}

test.each(Object.entries(DIALECTS))('%s: what is otherwise is reported, and nothing else', async (_, dialect) => {
  const { seen, ended, sandbox, accessToken, points } = await met(dialect);

  const otherwise = points.filter(({ verdict }) => verdict === 'otherwise');
  expect(
    otherwise.map(({ id }) => id),
    JSON.stringify({ points, ended }, undefined, 1),
  ).toEqual(dialect.otherwise);
  expect(points.some(({ fails }) => fails)).toBe(dialect.fails);
  expect(sandbox.ledger.count({ kind: 'create' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.count({ kind: 'file' })).toBeLessThanOrEqual(1);
  expect(sandbox.ledger.violations()).toEqual([]);
  const kept = JSON.stringify({ points, ended, calls: seen.calls, statuses: seen.statuses, link: seen.link });
  for (const secret of [CANARY, accessToken]) expect(kept).not.toContain(secret);
});

test('every point is as assumed of one CRM at least, and of one otherwise or not seen', async () => {
  const { points } = await met({ otherwise: [], fails: false, settings: { linkLife: 'amazon', urlSeconds: 600 } });

  expect(points.length).toBeLessThanOrEqual(15);
  expect(points.filter(({ verdict }) => verdict !== 'as assumed')).toEqual([]);
});

test('the document of the open points names each point that is observed, and no other', async () => {
  const rows = (await readFile('docs/interface/open-points.md', 'utf8')).split('\n').map((line) => line.split(' | '));
  const named = rows.flatMap(([point, , , cell]) => {
    const id = /^`([a-z-]+)` \|$/.exec(cell ?? '')?.[1];
    return id ? [[id, point?.slice(2)]] : [];
  });

  const seen: Seen = { scope: '', calls: [], lists: [], statuses: [] };
  expect(Object.fromEntries(named)).toEqual(Object.fromEntries(pointsOf(seen).map(({ id, point }) => [id, point])));
});
