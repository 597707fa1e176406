import { crc32 } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { RunError, type RunErrorName } from '../../../core/errors.ts';
import { NOTHING_MOVED } from '../../../core/step/states.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { CANARY, runState } from '../../support/builders.ts';
import { at, NOW } from '../../support/deps.ts';
import { asked, oneConnection, startDownloads } from '../../support/downloads.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { type Behaviour, EXPIRED, HTML_PAGE } from '../../support/origin/origin.ts';
import { PART } from '../../support/transfers.ts';
import { zipOf } from '../../support/zip.ts';

const KEY = 'runs/entity=leads/run=night-1/leads.csv';
/** The first entry of a spreadsheet. */
const ARCHIVE = zipOf('[Content_Types].xml');
const DEADLINE = at('2026-11-20T02:00:00Z');
const always = (behaviour: Behaviour) => () => behaviour;
const refused = asked(
  new RunError('ExportNotReady', 'POST /leads/exports/{id}/download was answered 409.', { status: 409 }),
);

let servers: Awaited<ReturnType<typeof startDownloads>>;
beforeAll(async () => {
  servers = await startDownloads();
});
afterEach(() => servers.store.reset());
afterAll(() => servers.stop());

const SIZES: [string, number][] = [
  ['an empty file', 0],
  ['a file that fits into one call', 1000],
  ['a file in parts', 5 * PART + 17],
];

test.each(SIZES)('STORED reports %s: key, size, checksum, type and time', async (_, size) => {
  const file = servers.origin.file({ size });

  const answer = await downloadFile(runState(), servers.depsFor(file));

  expect(answer).toEqual({
    outcome: 'STORED',
    file: {
      key: KEY,
      bytes: size,
      crc32: crc32Text(crc32(file.bytes())),
      contentType: 'text/csv',
      storedAt: NOW,
      restarts: 0,
      undeclaredEnd: false,
    },
    moving: null,
  });
  expect(servers.store.object(KEY)?.body.equals(file.bytes())).toBe(true);
  expect(servers.store.object(KEY)?.headers['content-type']).toBe('text/csv');
  expect(servers.store.uploads()).toEqual([]);
});

test('never puts the download address into an answer or the log', async () => {
  const file = servers.origin.file({ size: 5 * PART });
  const deps = servers.depsFor(file, { secondsLeft: servers.timeForParts(2) });

  const answer = await downloadFile(runState(), deps);
  const stored = await downloadFile(runState({ moving: answer.moving ?? null }), { ...deps, secondsLeft: () => 900 });

  expect(file.requests[0]?.path).toContain(CANARY);
  expect([answer.outcome, stored.outcome]).toEqual(['CONTINUE', 'STORED']);
  const said = JSON.stringify([answer, stored, deps.log.lines]);
  for (const secret of [CANARY, 'signature', servers.origin.address]) expect(said).not.toContain(secret);
  expect(deps.log.lines).toMatchObject([{ message: 'stored', fields: { key: KEY } }]);
});

test.each<[string, Behaviour, string, string]>([
  ['a renamed CSV', { headers: { 'Content-Disposition': 'attachment; filename="x.xlsx"' } }, 'leads.csv', 'text/csv'],
  ['a spreadsheet', { body: ARCHIVE }, 'leads.xlsx', 'application/octet-stream'],
  ['a compressed file', { gzip: true }, 'leads.csv.gz', 'text/csv'],
  ['a CSV file without a type', { headers: { 'Content-Type': '' } }, 'leads.csv', 'application/octet-stream'],
])('stores %s under the extension of its content', async (_, behaviour, name, type) => {
  const file = servers.origin.file({ size: 100, script: always(behaviour) });

  const answer = await downloadFile(runState(), servers.depsFor(file));

  expect(answer.file).toMatchObject({ key: `runs/entity=leads/run=night-1/${name}`, contentType: type });
});

test('answers NOT_READY and waits if the CRM does not give out the file yet', async () => {
  const deps = servers.depsFor(servers.origin.file({ size: 1 }), { crm: fakeCrm(refused) });

  const answer = await downloadFile(runState({ waits: 1 }), deps);

  expect(answer).toMatchObject({ outcome: 'NOT_READY', waits: 2, waitSeconds: 15, moving: { upload: null } });
});

test('ends in ExportNotReady if the CRM gives out no file by the deadline', async () => {
  const late = servers.depsFor(servers.origin.file({ size: 1 }), { crm: fakeCrm(refused), now: DEADLINE });

  await failureOf(downloadFile(runState(), late), 'ExportNotReady');
});

const unknown = asked(new RunError('ExportNotFound', 'POST /leads/exports/{id}/download was answered 404.'));

/** The result of a run at a time, after the CRM has not known its export since `since`. */
async function askedAgain(since: string | null, now: string, ...answers: Parameters<typeof fakeCrm>) {
  const deps = servers.depsFor(servers.origin.file({ size: 1 }), { crm: fakeCrm(...answers), now: at(now) });
  return downloadFile(runState({ moving: { ...NOTHING_MOVED, unknownSince: since } }), deps);
}

test('waits if the CRM does not know the export, and records since when', async () => {
  const answer = await askedAgain(null, '2026-11-20T01:10:00.000Z', unknown);

  expect(answer).toMatchObject({
    outcome: 'NOT_READY',
    waits: 1,
    moving: { unknownSince: '2026-11-20T01:10:00.000Z' },
  });
});

test('waits half an hour for an unknown export, then ends in ExportNotFound', async () => {
  const since = '2026-11-20T01:10:00.000Z';

  const answer = await askedAgain(since, '2026-11-20T01:39:59.999Z', unknown);
  const error = await failureOf(askedAgain(since, '2026-11-20T01:40:00.000Z', unknown), 'ExportNotFound');

  expect(answer).toMatchObject({ outcome: 'NOT_READY', moving: { unknownSince: since } });
  expect(error.message).toBe(
    `Since ${since}, the CRM has answered that it does not know the export: POST /leads/exports/{id}/download was answered 404.`,
  );
});

test.each<[RunErrorName, boolean]>([
  ['CrmUnavailable', true],
  ['RateLimited', true],
  ['TokenRefreshInProgress', false],
  ['TokenStoreUnavailable', false],
  ['StorageUnavailable', false],
])('%s between two "unknown" answers restarts the half hour: %s', async (name, breaks) => {
  const since = '2026-11-20T01:10:00.000Z';
  const trouble = asked(new RunError(name, 'It is trouble.'));

  expect(await askedAgain(since, '2026-11-20T01:50:00.000Z', trouble)).toMatchObject({
    outcome: 'CONTINUE',
    moving: { unknownSince: breaks ? null : since },
  });
});

test('restarts the half hour when an answer shows that the export exists', async () => {
  const since = '2026-11-20T01:10:00.000Z';

  const answer = await askedAgain(since, '2026-11-20T01:50:00.000Z', refused);

  expect(answer).toMatchObject({ outcome: 'NOT_READY', moving: { unknownSince: null } });
});

test('ends in ExportNotFound if the export is unknown at the deadline', async () => {
  await failureOf(askedAgain('2026-11-20T01:50:00.000Z', '2026-11-20T02:00:00.000Z', unknown), 'ExportNotFound');
});

test('waits while links are refused, and ends in DownloadLinkExpired at the deadline', async () => {
  const file = servers.origin.file({ size: 100, script: always(EXPIRED) });

  const answer = await downloadFile(runState(), servers.depsFor(file));
  expect(answer).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 10, moving: { upload: null, invocations: 0 } });

  const late = servers.depsFor(file, { now: DEADLINE });
  const error = await failureOf(downloadFile(runState(), late), 'DownloadLinkExpired');
  expect(error.message).toContain('was answered 403');
});

test('requests again if a web page arrives, then ends in FileRejected and stores nothing', async () => {
  const file = servers.origin.file({ size: 100, script: always(HTML_PAGE) });

  const error = await failureOf(downloadFile(runState(), servers.depsFor(file)), 'FileRejected');

  expect(error.message).toBe(
    'The received file is not the export: it looks like a web page (declared as text/html). files.formats accepts: csv, xlsx.',
  );
  expect(file.requests.length).toBe(5);
  expect([servers.store.keys(), servers.store.uploads()]).toEqual([[], []]);
});

test('rejects a file with an undeclared end unless the configuration allows it', async () => {
  const file = servers.origin.file({ size: 100, script: always({ framing: 'close', ignoreRange: true }) });
  const allowing = servers.depsFor(file, { deployment: oneConnection({ allowUndeclaredEnd: true }) });

  const error = await failureOf(downloadFile(runState(), servers.depsFor(file)), 'FileRejected');
  const answer = await downloadFile(runState(), allowing);

  expect(error.message).toContain('without a length');
  expect(answer).toMatchObject({ outcome: 'STORED', file: { bytes: 100, undeclaredEnd: true } });
});
