import { crc32, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { RunError, type RunErrorName } from '../../../core/errors.ts';
import { NOTHING_MOVED } from '../../../core/step/states.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { CANARY, runState } from '../../support/builders.ts';
import { at, NOW } from '../../support/deps.ts';
import { asked, type CrmAnswer, downloadSuite, oneConnection } from '../../support/downloads.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { type Behaviour, EXPIRED, HTML_PAGE } from '../../support/origin/origin.ts';
import { expectTexts } from '../../support/screen.ts';
import { PART } from '../../support/transfer-limits.ts';
import { zipOf } from '../../support/zip.ts';

const KEY = 'runs/entity=leads/run=night-1/leads.csv';
/** The first entry of a spreadsheet. */
const ARCHIVE = zipOf('[Content_Types].xml');
const DEADLINE = at('2026-11-20T02:00:00Z');
const always = (behaviour: Behaviour) => () => behaviour;
const refused = asked(
  new RunError('ExportNotReady', 'POST /leads/exports/{id}/download was answered 409.', { status: 409 }),
);

const servers = await downloadSuite();

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
  ['a compressed file', { body: gzipSync('id,name\n1,a\n') }, 'leads.csv.gz', 'application/octet-stream'],
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

const SINCE = '2026-11-20T01:10:00.000Z';
const trouble = (name: RunErrorName) => asked(new RunError(name, 'It is trouble.'));

test.each<[what: string, time: string, answer: CrmAnswer, outcome: string, known: boolean]>([
  ['is still unknown after less than half an hour', '01:39:59.999', unknown, 'NOT_READY', false],
  ['exists, but has no file yet', '01:50:00.000', refused, 'NOT_READY', true],
  ['cannot be asked for: CrmUnavailable', '01:50:00.000', trouble('CrmUnavailable'), 'CONTINUE', true],
  ['is not asked for: TokenRefreshInProgress', '01:50:00.000', trouble('TokenRefreshInProgress'), 'CONTINUE', false],
  ['is not asked for: TokenStoreUnavailable', '01:50:00.000', trouble('TokenStoreUnavailable'), 'CONTINUE', false],
])('after an unknown export %s, the run waits (at %s)', async (_, time, answer, outcome, known) => {
  const moving = { unknownSince: known ? null : SINCE };

  expect(await askedAgain(SINCE, `2026-11-20T${time}Z`, answer)).toMatchObject({ outcome, moving });
});

test('waits if the CRM does not know the export, and records since when', async () => {
  const moving = { unknownSince: SINCE };

  expect(await askedAgain(null, SINCE, unknown)).toMatchObject({ outcome: 'NOT_READY', waits: 1, moving });
});

test.each([
  ['half an hour later', SINCE, '2026-11-20T01:40:00.000Z'],
  ['at the deadline', '2026-11-20T01:50:00.000Z', '2026-11-20T02:00:00.000Z'],
])('ends in ExportNotFound if the export is still unknown %s', async (_, since, now) => {
  const error = await failureOf(askedAgain(since, now, unknown), 'ExportNotFound');

  await expectTexts('export-not-found', [['a file of an unknown export', error.message.replace(since, 'SINCE')]]);
});

test.each<[answer: Behaviour, name: RunErrorName]>([
  [EXPIRED, 'DownloadLinkExpired'],
  [{ status: 416 }, 'DownloadLinkExpired'],
  [{ status: 302 }, 'DownloadIncomplete'],
])('waits while every GET is answered %o, and ends in %s at the deadline', async (answer, name) => {
  const file = servers.origin.file({ size: 100, script: always(answer) });

  const early = await downloadFile(runState(), servers.depsFor(file));
  expect(early).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 10, moving: { upload: null, invocations: 0 } });

  const late = servers.depsFor(file, { now: DEADLINE });
  const error = await failureOf(downloadFile(runState(), late), name);
  expect(error.message).toContain(`was answered ${answer.status}`);
});

test('requests again if a web page arrives, then ends in FileRejected and stores nothing', async () => {
  const file = servers.origin.file({ size: 100, script: always(HTML_PAGE) });

  const error = await failureOf(downloadFile(runState(), servers.depsFor(file)), 'FileRejected');

  await expectTexts('file-is-a-page', [['a web page instead of the file', error.message]]);
  expect(file.requests.length).toBe(5);
  expect([servers.store.keys(), servers.store.uploads()]).toEqual([[], []]);
});

test('rejects a file with an undeclared end unless the configuration allows it', async () => {
  const file = servers.origin.file({ size: 100, script: always({ framing: 'close', ignoreRange: true }) });
  const allowing = servers.depsFor(file, { deployment: oneConnection({ allowUndeclaredEnd: true }) });

  const error = await failureOf(downloadFile(runState(), servers.depsFor(file)), 'FileRejected');
  const answer = await downloadFile(runState(), allowing);

  await expectTexts('file-without-length', [['a file whose length is not declared', error.message]]);
  expect(answer).toMatchObject({ outcome: 'STORED', file: { bytes: 100, undeclaredEnd: true } });
});
