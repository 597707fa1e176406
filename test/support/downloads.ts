import { afterAll, afterEach } from 'vitest';
import type { DownloadProgress, RunState } from '../../core/step/states.ts';
import type { DownloadFileDeps } from '../../lambdas/download-file/download-file.ts';
import type { Limits } from '../../transfer/base/limits.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import { CANARY, deployment, runState } from './builders.ts';
import { testDeps } from './deps.ts';
import { fakeCrm } from './fake-crm.ts';
import { type Behaviour, inOrder, type OriginFile } from './origin/origin.ts';
import { LIMITS, PART } from './transfer-limits.ts';
import { startTransfers } from './transfers.ts';

export type CrmAnswer = [call: string, answer: unknown];

/** The CRM's answer to the request for the address of the file. */
export const asked = (answer: unknown): CrmAnswer => ['post /leads/exports/{id}/download', answer];

/** The CRM's answer with the address of a file, which contains a secret. */
export const linkTo = (file: OriginFile): CrmAnswer => asked({ url: `${file.url}&canary=${CANARY}` });

type Changes = Partial<Omit<DownloadFileDeps, 'log' | 'store'>> & { limits?: Partial<Limits> };

/** The first answer has one part, the second ends in the middle of the third part, and the given ones follow. */
export const cutInThirdPart = (...then: (Behaviour | undefined)[]) =>
  inOrder(undefined, { endAfter: 1.5 * PART }, ...then);

/**
 * An origin, a store, and the dependencies of the step that moves files between them, for one test file. The CRM answers
 * from a list. Each test begins with an empty store.
 */
export async function downloadSuite() {
  const { origin, store, storeOptions, stop } = await startTransfers();
  afterEach(() => store.reset());
  afterAll(stop);
  return {
    origin,
    store,
    /** One connection, so that parts arrive in order. The CRM gives a link for every request. */
    depsFor: (file: OriginFile, { limits, ...changes }: Changes = {}) => ({
      crm: fakeCrm(...Array.from({ length: 20 }, () => linkTo(file))),
      store: storeOptions(),
      transfer: ((options) =>
        transfer({ ...options, limits: { ...LIMITS, largestPartBytes: PART, ...limits } })) as typeof transfer,
      abortUpload: ((options, upload) => abortUpload({ ...options, limits: LIMITS }, upload)) as typeof abortUpload,
      ...testDeps({ deployment: oneConnection(), ...changes }),
      ...changes,
    }),
    /** Plenty of time until so many parts are stored, then too little for another part. */
    timeForParts: (parts: number) => () => ((store.uploads()[0]?.parts ?? 0) < parts ? 900 : 10),
  };
}

export function oneConnection(files: object = {}) {
  return deployment({
    files: { ...deployment().files, connections: { most: 1 }, ...files },
  });
}

/** The state of the next invocation. States pass on JSON, not objects. */
export function goingOn(moving: DownloadProgress | null | undefined): RunState {
  return runState({ moving: JSON.parse(JSON.stringify(moving ?? null)) as DownloadProgress | null });
}
