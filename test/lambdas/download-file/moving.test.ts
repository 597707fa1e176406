import { describe, expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { downloadFile } from '../../../lambdas/download-file/download-file.ts';
import { runState } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';
import { asked, cutInThirdPart, downloadSuite, goingOn, linkTo } from '../../support/downloads.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeCrm } from '../../support/fake-crm.ts';
import { type Behaviour, EXPIRED } from '../../support/origin/origin.ts';
import type { OriginScript } from '../../support/origin/types.ts';
import { TROUBLE } from '../../support/strict-store/strict-store.ts';
import type { FaultScript } from '../../support/strict-store/types.ts';
import { LIMITS, PART } from '../../support/transfer-limits.ts';

/** The state that passes between invocations while a file moves. */

const KEY = 'runs/entity=leads/run=night-1/leads.csv';
const SIZE = 8 * PART;
const DEADLINE = at('2026-11-20T02:00:00Z');

const servers = await downloadSuite();

/** The store fails at the third part as given, and at the other named operations. */
const atThirdPart =
  (fault: ReturnType<FaultScript>, others: FaultScript = () => undefined): FaultScript =>
  (request) =>
    request.operation === 'UploadPart' && request.partNumber === 3 ? fault : others(request);

/** The engine gives up at the second failure. It notices a stall soon only where the file stalls. */
const BRIEF = { attempts: 2 };

const always = (behaviour: Behaviour) => Array<Behaviour>(50).fill(behaviour);

describe('an invocation whose time is up', () => {
  test.each<[string, Behaviour]>([
    ['in ranges', {}],
    ['in one piece', { etag: null }],
    ['in one piece of unknown length', { framing: 'chunked', ignoreRange: true, etag: null }],
  ])('hands on the upload of a file that arrives %s, in less than 1 KB of state', async (how, behaviour) => {
    const file = servers.origin.file({ size: SIZE, script: () => behaviour });

    const first = await downloadFile(runState(), servers.depsFor(file, { secondsLeft: servers.timeForParts(2) }));
    const before = file.requests.length;
    const second = await downloadFile(goingOn(first.moving), servers.depsFor(file));

    expect(first).toMatchObject({
      outcome: 'CONTINUE',
      waitSeconds: 1,
      moving: { upload: { key: KEY }, invocations: 1, links: 1, restarts: 0 },
    });
    expect(JSON.stringify(first.moving).length).toBeLessThan(1024);
    expect(second).toMatchObject({ outcome: 'STORED', file: { bytes: SIZE }, moving: null });
    expect(servers.store.object(KEY)?.body.equals(file.bytes())).toBe(true);
    expect(servers.store.uploads()).toEqual([]);
    const again = file.requests.slice(before).map(({ offset }) => offset >= 2 * PART);
    // Only range requests start where the last invocation stopped.
    expect(again).toEqual([how === 'in ranges']);
  });

  test('keeps unknown fields that another release wrote into the state', async () => {
    const file = servers.origin.file({ size: SIZE });
    const first = await downloadFile(runState(), servers.depsFor(file, { secondsLeft: servers.timeForParts(2) }));
    const upload = first.moving?.upload;
    if (!first.moving || !upload) throw new Error('no upload was handed on');
    const foreign = { ...first.moving, colour: 'blue', upload: { ...upload, shape: 'round' } };

    const deps = servers.depsFor(file, { secondsLeft: servers.timeForParts(4) });
    const second = await downloadFile(goingOn(foreign), deps);
    const third = await downloadFile(goingOn(second.moving), servers.depsFor(file));

    expect(second).toMatchObject({
      outcome: 'CONTINUE',
      moving: { colour: 'blue', upload: { ...upload, shape: 'round' }, invocations: 2, links: 2 },
    });
    expect(third.outcome).toBe('STORED');
    expect(servers.store.object(KEY)?.body.equals(file.bytes())).toBe(true);
  });
});

test('restarts if the upload no longer exists', async () => {
  const file = servers.origin.file({ size: SIZE });
  const first = await downloadFile(runState(), servers.depsFor(file, { secondsLeft: servers.timeForParts(2) }));
  servers.store.reset();

  const second = await downloadFile(goingOn(first.moving), servers.depsFor(file));
  const third = await downloadFile(goingOn(second.moving), servers.depsFor(file));

  expect(second).toMatchObject({ outcome: 'CONTINUE', moving: { upload: null, restarts: 1 } });
  expect(third).toMatchObject({ outcome: 'STORED', file: { bytes: SIZE, restarts: 1 } });
});

test.each([
  ['recorded before its first byte', { recordFromBytes: SIZE }],
  ['of ordinary size', {}],
])(
  'stores a file %s whose servers each have their own ETag, in one piece from the third restart',
  async (_, limits) => {
    const file = servers.origin.file({ size: SIZE, script: ({ number }) => ({ etag: `"server-${number}"` }) });

    let state = runState();
    for (let calls = 0; calls < 20 && state.outcome !== 'STORED'; calls += 1) {
      state = { ...state, ...(await downloadFile(goingOn(state.moving), servers.depsFor(file, { limits }))) };
    }

    expect(state).toMatchObject({ outcome: 'STORED', file: { bytes: SIZE, restarts: 3 } });
    expect(servers.store.object(KEY)?.body.equals(file.bytes())).toBe(true);
    expect(servers.store.uploads()).toEqual([]);
  },
);

describe('trouble that may pass', () => {
  test.each<[string, string, { script?: OriginScript; faults?: FaultScript; idleMs?: number }]>([
    ['of the bucket', 'StorageUnavailable', { faults: atThirdPart(TROUBLE.slowDown) }],
    ['of a file that breaks off', 'DownloadIncomplete', { script: cutInThirdPart(...always({ endAfter: 5 })) }],
    ['of a file that stalls', 'DownloadStalled', { script: cutInThirdPart(...always({ stallAfter: 5 })), idleMs: 300 }],
  ])('%s keeps the upload and waits; at the deadline it ends the run and leaves no upload', async (_, name, world) => {
    const { faults = () => undefined, script, idleMs = LIMITS.idleMs } = world;
    const limits = { ...BRIEF, ...(idleMs && { idleMs }) };
    const file = servers.origin.file({ size: SIZE, ...(script && { script }) });
    servers.store.settings.faults = faults;

    const waiting = await downloadFile(runState(), servers.depsFor(file, { limits }));

    expect(waiting).toMatchObject({ outcome: 'CONTINUE', waits: 1, waitSeconds: 10, moving: { invocations: 0 } });
    expect(servers.store.uploads()).toMatchObject([{ id: waiting.moving?.upload?.uploadId, parts: 2 }]);

    const late = servers.depsFor(file, { limits, now: DEADLINE });
    const error = await downloadFile(goingOn(waiting.moving), late).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name });
    expect([servers.store.keys(), servers.store.uploads()]).toEqual([[], []]);
  });

  test.each(['ExportNotReady', 'ExportNotFound'] as const)(
    'keeps the parts if a second link is refused: %s',
    async (name) => {
      const file = servers.origin.file({ size: SIZE, script: cutInThirdPart(EXPIRED) });
      const crm = fakeCrm(linkTo(file), asked(new RunError(name, 'It was refused.')), linkTo(file));

      const first = await downloadFile(runState(), servers.depsFor(file, { crm }));
      const second = await downloadFile(goingOn(first.moving), servers.depsFor(file, { crm }));

      expect(first).toMatchObject({ outcome: 'NOT_READY', moving: { upload: { key: KEY }, links: 1 } });
      expect(second).toMatchObject({ outcome: 'STORED', file: { bytes: SIZE } });
      expect(file.requests.at(-1)?.offset).toBeGreaterThanOrEqual(2 * PART);
      expect(servers.store.object(KEY)?.body.equals(file.bytes())).toBe(true);
    },
  );
});

describe('a final error', () => {
  test.each<[string, string, FaultScript]>([
    ['a part is refused', 'StorageDenied', atThirdPart(TROUBLE.accessDenied)],
    ['the key was taken meanwhile', 'StorageConflict', () => undefined],
  ])('aborts the upload if %s', async (_, name, faults) => {
    const file = servers.origin.file({ size: SIZE });
    const first = await downloadFile(runState(), servers.depsFor(file, { secondsLeft: servers.timeForParts(2) }));
    if (name === 'StorageConflict') {
      await downloadFile(runState(), servers.depsFor(servers.origin.file({ size: 10 })));
    }
    servers.store.settings.faults = faults;

    const error = await downloadFile(goingOn(first.moving), servers.depsFor(file)).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name });
    expect(servers.store.uploads()).toEqual([]);
  });

  test.each([
    ['refuses', TROUBLE.accessDenied, 'StorageDenied'],
    ['does not answer', TROUBLE.slowDown, 'StorageUnavailable'],
  ] as const)('keeps its own name if the bucket %s when the upload is aborted', async (_, fault, told) => {
    const file = servers.origin.file({ size: SIZE });
    const cause: FaultScript = ({ operation }) => (operation === 'AbortMultipartUpload' ? fault : undefined);
    servers.store.settings.faults = atThirdPart(TROUBLE.kmsDisabled, cause);
    const deps = servers.depsFor(file);

    const error = await failureOf(downloadFile(runState(), deps), 'StorageDenied');

    expect(error.message).toContain('KMS.DisabledException');
    expect(deps.log.lines).toMatchObject([{ level: 'error', fields: { key: KEY, error: told } }]);
  });
});
