import { once } from 'node:events';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { type DownloadFileDeps, downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { RunError } from '../../../lambdas/shared/errors.ts';
import { crc32Text } from '../../../lambdas/shared/files/measured.ts';
import type { RemoteFile } from '../../../lambdas/shared/files/open-file.ts';
import { asStep } from '../../../lambdas/shared/step.ts';
import { CANARY, deployment, EXPORT_ID, run, runState } from '../../support/builders.ts';
import { at, lambdaContext, NOW, testDeps } from '../../support/deps.ts';
import { failureOf } from '../../support/failures.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { fakeCrm } from '../../support/fake-crm.ts';

const URL = `https://files.test/x?signature=${CANARY}`;
const KEY = 'runs/entity=leads/run=night-1/leads.csv';
const CONTENT = Buffer.from('id,name\n1,"ש"\n');
const asked = (answer: unknown = { url: URL }): [string, unknown] => ['post /leads/exports/{id}/download', answer];
const refused = asked(new RunError('CrmRejectedRequest', 'POST /leads/exports/{id}/download was answered 409.'));

/** A file as the service gives it out. */
function remote(overrides: Partial<RemoteFile> = {}, content: Uint8Array = CONTENT): RemoteFile {
  return {
    body: (async function* () {
      yield content.subarray(0, 5);
      yield content.subarray(5);
    })(),
    length: content.length,
    contentType: 'text/csv; charset=utf-8',
    disposition: '',
    contentEncoding: '',
    close: () => {},
    ...overrides,
  };
}

function depsWith(overrides: Partial<DownloadFileDeps> = {}) {
  const opened: { address: string; local: boolean; signal: AbortSignal }[] = [];
  const openFile: DownloadFileDeps['openFile'] = async (address, options) => {
    opened.push({ address, ...options });
    return remote();
  };
  const { log: _, ...common } = overrides;
  return { ...testDeps(), bucket: fakeBucket(), crm: fakeCrm(asked()), openFile, ...common, opened };
}

test('STORED says what was stored: key, size, checksum, type and time', async () => {
  const bucket = fakeBucket();

  const answer = await downloadFile(runState(), depsWith({ bucket }));

  expect(answer).toEqual({
    outcome: 'STORED',
    file: {
      key: KEY,
      bytes: CONTENT.length,
      crc32: crc32Text(crc32(CONTENT)),
      contentType: 'text/csv',
      storedAt: NOW,
    },
  });
  expect(bucket.text(KEY)).toBe(CONTENT.toString());
});

test('the address is asked for and used, and appears in no answer and no line of the log', async () => {
  const deps = depsWith();

  const answer = await downloadFile(runState(), deps);

  expect(deps.opened).toMatchObject([{ address: URL, local: true }]);
  expect(JSON.stringify([answer, deps.log.lines])).not.toContain(CANARY);
  expect(deps.log.lines).toMatchObject([{ message: 'stored', fields: { exportId: EXPORT_ID, key: KEY } }]);
});

test('a file that is refused at its first byte is hung up on: it may be huge', async () => {
  let closed = 0;
  const close = () => {
    closed += 1;
  };

  await failureOf(
    downloadFile(runState(), depsWith({ openFile: async () => remote({ contentType: 'text/html', close }) })),
    'FileRejected',
  );

  expect(closed).toBe(1);
});

test('a transfer is given the time that is left, less what it takes to break off and answer', async () => {
  const deps = depsWith({ secondsLeft: () => 15.5 });

  await downloadFile(runState(), deps);

  const signal = deps.opened[0]?.signal;
  if (!signal?.aborted) await once(signal ?? new EventTarget(), 'abort');
  expect(signal?.aborted).toBe(true);
});

test('a deployed stack opens files as not local', async () => {
  const deps = depsWith({
    deployment: deployment({ local: false, crm: { baseUrl: 'https://a.test', authUrl: 'https://a.test' } }),
  });

  await downloadFile(runState(), deps);

  expect(deps.opened[0]?.local).toBe(false);
});

test.each([
  ['a spreadsheet by its name', { disposition: 'attachment; filename="x.xlsx"' }, 'leads.xlsx'],
  ['a compressed file', { contentEncoding: 'gzip' }, 'leads.csv.gz'],
  ['an unknown format', { contentType: '' }, 'leads.bin'],
])('%s gets its own extension, and no other part of its name', async (_, overrides, name) => {
  const answer = await downloadFile(runState(), depsWith({ openFile: async () => remote(overrides) }));

  expect(answer.file?.key).toBe(`runs/entity=leads/run=night-1/${name}`);
});

test('an export that is not given out yet is NOT_READY and waits', async () => {
  const answer = await downloadFile(runState({ waits: 1 }), depsWith({ crm: fakeCrm(refused) }));

  expect(answer).toEqual({ outcome: 'NOT_READY', waits: 2, waitSeconds: 15 });
});

test('an export that is not given out by the deadline ends as ExportNotReady', async () => {
  const late = depsWith({ crm: fakeCrm(refused), now: at('2026-11-20T02:00:00Z') });

  const error = await failureOf(downloadFile(runState(), late), 'ExportNotReady');

  expect(error.message).toContain(EXPORT_ID);
});

test('an export that is gone ends as ExportNotFound', async () => {
  const crm = fakeCrm(asked(new RunError('ExportNotFound', 'gone')));

  await failureOf(downloadFile(runState(), depsWith({ crm })), 'ExportNotFound');
});

test('a link that has expired is asked for anew by the next invocation', async () => {
  const links = [new RunError('DownloadLinkExpired', 'The GET of the file was answered 403.'), remote()];
  const deps = depsWith({
    crm: fakeCrm(asked(), asked()),
    openFile: async () => {
      const next = links.shift();
      if (!next || next instanceof RunError) throw next;
      return next;
    },
  });
  const handler = asStep('DownloadFile', downloadFile, () => deps);

  const first = await handler(runState(), lambdaContext());
  const second = await handler(first, lambdaContext());

  expect([first.outcome, second.outcome]).toEqual(['CONTINUE', 'STORED']);
});

test('a file that breaks off leaves nothing in the bucket and is begun anew', async () => {
  const bucket = fakeBucket();
  const cut = depsWith({ bucket, openFile: async () => remote({ length: CONTENT.length + 1 }) });

  await failureOf(downloadFile(runState(), cut), 'DownloadIncomplete');
  expect(bucket.keys()).toEqual([]);

  expect(await downloadFile(runState(), depsWith({ bucket }))).toMatchObject({ outcome: 'STORED' });
});

test('a web page in the place of the file is refused, and nothing is stored', async () => {
  const bucket = fakeBucket();

  await failureOf(
    downloadFile(runState(), depsWith({ bucket, openFile: async () => remote({ contentType: 'text/html' }) })),
    'FileRejected',
  );

  expect(bucket.keys()).toEqual([]);
});

test('a repeated step finds its file stored already and answers the same', async () => {
  const bucket = fakeBucket();

  const answers = [
    await downloadFile(runState(), depsWith({ bucket })),
    await downloadFile(runState(), depsWith({ bucket })),
  ];

  expect(answers[1]).toEqual(answers[0]);
});

test.each([
  ['another content', Buffer.from('id,name\n1,"ת"\n')],
  ['more of it', Buffer.concat([CONTENT, Buffer.from('2,x\n')])],
  ['nothing', Buffer.alloc(0)],
])('a file of this run that has %s is a conflict, and is not written over', async (_, standing) => {
  const bucket = fakeBucket({ objects: { [KEY]: standing } });

  await failureOf(downloadFile(runState(), depsWith({ bucket })), 'StorageConflict');

  expect(bucket.text(KEY)).toBe(standing.toString());
});

test('a bucket that refuses ends as it says', async () => {
  const bucket = fakeBucket({ before: failing('uploadOnce', KEY, new RunError('StorageDenied', 'No.')) });

  await failureOf(downloadFile(runState(), depsWith({ bucket })), 'StorageDenied');
});

test.each([20.017, 20.054, 884.123, 15.5, 3, -2])(
  'with %d seconds left the transfer gets a signal: time is in milliseconds and fractions of them crash AbortSignal',
  async (seconds) => {
    const deps = depsWith({ secondsLeft: () => seconds });

    await downloadFile(runState(), deps);

    expect(deps.opened[0]?.signal.aborted).toBe(false);
  },
);

test('agent numbers are asked for and stored with their hyphen', async () => {
  const crm = fakeCrm(['post /agent-numbers/exports/{id}/download', { url: URL }]);
  const state = runState({ run: run({ entity: 'agent-numbers', prefix: 'runs/entity=agent-numbers/run=n/' }) });

  const answer = await downloadFile(state, depsWith({ crm }));

  expect(answer.file?.key).toBe('runs/entity=agent-numbers/run=n/agent-numbers.csv');
});
