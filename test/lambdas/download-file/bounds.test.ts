import { expect, test } from 'vitest';
import { asStep } from '../../../core/step/export-run.ts';
import { NOTHING_MOVED } from '../../../core/step/states.ts';
import { type DownloadFileDeps, downloadFile, progressLog } from '../../../lambdas/download-file/download-file.ts';
import { TransferError, type TransferReason } from '../../../transfer/base/transfer-errors.ts';
import type { TransferOptions } from '../../../transfer/base/types.ts';
import { EXPORT_ID, runState } from '../../support/builders.ts';
import { composed, lambdaContext, recordingLog, testDeps } from '../../support/deps.ts';
import { asked } from '../../support/downloads.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { NO_STORE } from '../../support/fake-transfer.ts';

/** The limits of a run that continues a file, and what passes between the step and the transfer engine. */

const key = 'runs/entity=leads/run=night-1/leads.csv';
const UPLOAD = { uploadId: 'u', key, contentType: 'text/csv', etag: '"1"', size: 10, partBytes: 5 };
const IN_ONE_PIECE = { ...UPLOAD, etag: null };
const moved = { ...NOTHING_MOVED, upload: UPLOAD };

type Transfer = DownloadFileDeps['transfer'];

const unfinished: Transfer = async () => null;
const changed: Transfer = async () => {
  throw new TransferError('changed', 'It is another file.');
};

function depsWith(transfer: Transfer) {
  const aborted: string[] = [];
  const abortUpload: DownloadFileDeps['abortUpload'] = async (_, { uploadId }) => {
    aborted.push(uploadId);
  };
  const crm = fakeCrm(asked({ url: 'https://files.test/x' }));
  return { ...testDeps(), crm, store: NO_STORE, transfer, abortUpload, aborted };
}

test.each<[string, object, Transfer, string]>([
  ['invocations', { invocations: 39 }, unfinished, 'in 40 invocations'],
  ['links', { links: 1000 }, async ({ address }) => unfinished(await optionsOf(address)), 'with 1000 links'],
  ['restarts', { restarts: 5 }, changed, 'in 6 tries. It is another file.'],
  ['invocations in one piece', { invocations: 39, upload: IN_ONE_PIECE }, unfinished, 'began with the first byte'],
])('ends in DownloadUnfinished and aborts the upload after too many %s', async (_, before, transfer, why) => {
  const deps = depsWith(transfer);

  const state = runState({ moving: { ...moved, ...before } });
  const error = await failureOf(downloadFile(state, deps), 'DownloadUnfinished');

  expect(error.message).toContain(why);
  expect(deps.aborted).toEqual(['u']);
});

test.each<[string, object, Transfer, object]>([
  ['invocation', { invocations: 38 }, unfinished, { invocations: 39 }],
  ['link', { links: 999 }, async ({ address }) => unfinished(await optionsOf(address)), { links: 1000 }],
])('continues at the last allowed %s', async (_, before, transfer, after) => {
  const deps = depsWith(transfer);

  const answer = await downloadFile(runState({ moving: { ...moved, ...before } }), deps);

  expect(answer).toMatchObject({ outcome: 'CONTINUE', waitSeconds: 1, moving: { upload: UPLOAD, ...after } });
  expect(deps.aborted).toEqual([]);
});

test('gives up the upload of a file that changed, and begins again at the last allowed restart', async () => {
  const deps = depsWith(changed);

  const answer = await downloadFile(runState({ moving: { ...moved, restarts: 4 } }), deps);

  expect(answer).toMatchObject({ outcome: 'CONTINUE', moving: { upload: null, restarts: 5, invocations: 1 } });
  expect(deps.aborted).toEqual(['u']);
});

test('does not change its input state, because Lambda may repeat the invocation with it', async () => {
  const state = runState({ moving: moved });
  const before = JSON.stringify(state);

  await downloadFile(state, depsWith(unfinished));

  expect(JSON.stringify(state)).toBe(before);
});

test('measures and logs the speed of a stored file over all invocations', async () => {
  const object = { key, contentType: 'text/csv', undeclaredEnd: false };
  const deps = depsWith(async () => ({ ...object, bytes: 7200 * 1024 ** 2, crc32: 0 }));
  const earlier = { ...moved, milliseconds: 3_600_000, cpuMilliseconds: 3_600_000 };

  await downloadFile(runState({ moving: earlier }), deps);

  expect(deps.log.measured).toMatchObject([{ values: { TransferRate: 2 * 1024 ** 2 } }]);
  const memoryMB = deps.deployment.files.memoryMB.download;
  expect(deps.log.lines).toMatchObject([{ fields: { mebibytesPerSecond: 2, boundBy: 'cpu', memoryMB } }]);
});

test('rethrows a bug and aborts the upload', async () => {
  const deps = depsWith(async () => {
    throw new TypeError('a bug');
  });

  await expect(downloadFile(runState({ moving: moved }), deps)).rejects.toThrow(TypeError);

  expect(deps.aborted).toEqual(['u']);
});

/** Tests with a real transfer have the other errors of the engine. */
test.each<[TransferReason, string]>([
  ['address-rejected', 'DownloadUrlRejected'],
  ['rate-limited', 'RateLimited'],
  ['source-unavailable', 'CrmUnavailable'],
  ['too-large', 'DownloadTooLarge'],
])('the error %s of the transfer engine becomes %s, with its message and its wait', async (reason, name) => {
  const deps = depsWith(async () => {
    throw new TransferError(reason, 'It was so.', { retryAfterSeconds: 40 });
  });
  const handler = asStep('DownloadFile', downloadFile, ...composed(deps));

  const { outcome, failure, trouble, waitSeconds } = await handler(runState(), lambdaContext());

  expect(trouble?.error ?? failure?.error).toBe(name);
  if (outcome === 'FAILED') expect(failure?.cause).toContain('It was so.');
  else expect(waitSeconds).toBe(40);
});

test('passes the settings of the configuration to the transfer engine', async () => {
  let given: TransferOptions | undefined;
  const deps = depsWith(async (options) => {
    given = options;
    return null;
  });
  const settings = { fileHosts: ['files.test', 'inside.test'], privateHosts: ['inside.test'] };
  const { crm, files } = deps.deployment;
  const chosen = { ...files, maxBytes: 1234, allowUndeclaredEnd: true, connections: { most: 7 } };

  await downloadFile(runState({ moving: moved }), {
    ...deps,
    deployment: { ...deps.deployment, local: false, crm: { ...crm, ...settings }, files: chosen },
  });

  expect(given).toMatchObject({
    policy: { hosts: settings.fileHosts, privateHosts: settings.privateHosts, local: false },
    resume: UPLOAD,
    inOnePiece: false,
    maxBytes: 1234,
    allowUndeclaredEnd: true,
    connections: 7,
  });
  expect(await given?.address()).toBe('https://files.test/x');
  expect(JSON.stringify(given)).not.toContain(EXPORT_ID);
});

async function optionsOf(address: TransferOptions['address']): Promise<TransferOptions> {
  await address();
  return {} as TransferOptions;
}

test.each<[what: string, seconds: number[], bytes: number[]]>([
  ['reports the bytes so far', [5], [1]],
  ['is written at most every five seconds', Array.from({ length: 200 }, (_, index) => index / 10), [51, 101, 151]],
  ['is not written for a transfer under five seconds', [0, 1, 4.9], []],
])('a progress line %s', (_, seconds, bytes) => {
  const log = recordingLog();
  let time = 0;
  const progress = progressLog({ log, now: () => new Date(time * 1000) });

  for (const [index, second] of seconds.entries()) {
    time = second;
    progress(index + 1, null);
  }

  expect(log.lines).toEqual(
    bytes.map((each) => ({ level: 'info', message: 'moved', fields: { bytes: each, totalBytes: null } })),
  );
});
