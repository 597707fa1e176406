import { crc32 } from 'node:zlib';
import type { Deployment } from '../../core/config/deployment.ts';
import { type Manifest, manifestSchema } from '../../core/export/manifest.ts';
import { expectedOf } from '../../core/file/expected-file.ts';
import { isReleasable } from '../../core/gate/gate.ts';
import { failedChecks } from '../../core/gate/report.ts';
import { parseJson } from '../../core/json.ts';
import type { Run } from '../../core/step/states.ts';
import { nameFile } from '../../lambdas/download-file/download-file.ts';
import { publishFile } from '../../lambdas/publish-file/publish-file.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { INSPECTED_BYTES } from '../../transfer/base/limits.ts';
import { deployment, newState, run, runState, storedFile } from './builders.ts';
import { testDeps } from './deps.ts';
import { type FakeBucket, fakeBucket } from './fake-bucket.ts';
import { exportIdOf } from './published.ts';

/** A night of leads with a stored file: the input of PublishFile. */
export interface Night {
  /** The date of the run, YYYY-MM-DD. */
  date: string;
  bytes: string | Uint8Array;
  execution?: string;
  run?: Partial<Run>;
  /** Whether DownloadFile reads its beginning and names it. */
  named?: boolean;
}

export interface EndOfNight {
  /** `PUBLISHED`, `UNPUBLISHED`, or the name of the error. */
  ended: string;
  /** The cause of the error; '' without an error. */
  cause: string;
  stoppedBy: string[];
  /** Whether a person can release the file: some quarantined files only. */
  releasable: boolean;
  warnings: string[];
  manifest: Manifest | null;
  /** All texts about the file that others can read: manifest, log lines, cause, answer. */
  told: string;
}

type Settings = Parameters<typeof deployment>[0];

/** Nights of one entity in one bucket. Each passes through the real step, the earliest first. */
export function nightsOf(leads: object = {}, more: Settings = {}) {
  const bucket = fakeBucket();
  return { bucket, ...nightsIn(bucket, leads, more) };
}

/** Nights of one entity in a bucket that already contains other nights. */
export function nightsIn(bucket: FakeBucket, leads: object, more: Settings = {}) {
  const settings = deployment({ ...more, entities: { leads } });
  return {
    night: (night: Night) => runNight(bucket, night, settings),
    release: (execution: string, newNormal = false) => release(bucket, execution, newNormal, settings),
  };
}

async function runNight(bucket: FakeBucket, night: Night, settings: Deployment): Promise<EndOfNight> {
  const { date, execution = `of-${date}` } = night;
  const prefix = `runs/entity=leads/run=${execution}/`;
  const bytes = Buffer.from(night.bytes);
  const given = run({
    date,
    prefix,
    exportId: exportIdOf(execution),
    createdAt: `${date}T01:00:05.000Z`,
    ...night.run,
  });
  const named = night.named ? nameOf(bytes, given, settings) : { key: `${prefix}leads.csv` };
  if ('refuse' in named) return refusedByName(named.refuse);
  const { key } = named;
  bucket.put(key, bytes);
  const file = storedFile({ key, bytes: bytes.length, crc32: crc32Text(crc32(bytes)) });
  const state = runState({ execution, startedAt: `${date}T01:00:00.000Z`, file, run: given });
  return endOf(bucket, `${prefix}_manifest.json`, state, settings);
}

/** Names the file when the engine requests the name, after the first bytes. */
function nameOf(bytes: Buffer, given: Run, settings: Deployment) {
  const head = { length: bytes.length, contentType: 'text/csv' };
  return nameFile(head, bytes.subarray(0, INSPECTED_BYTES), `${given.prefix}leads`, expectedOf(given, settings));
}

function refusedByName(cause: string): EndOfNight {
  const nothing = { stoppedBy: [], releasable: false, warnings: [], manifest: null };
  return { ended: 'FileRejected', cause, told: cause, ...nothing };
}

/** Collects answers and errors of the step over as many invocations as it needs. */
async function endOf(
  bucket: FakeBucket,
  manifestKey: string,
  state: ReturnType<typeof runState>,
  settings: Deployment,
): Promise<EndOfNight> {
  const deps = testDeps({ deployment: settings });
  const told: unknown[] = [];
  let ended = 'CONTINUE';
  let cause = '';
  while (ended === 'CONTINUE') {
    try {
      const answer = await publishFile(state, { ...deps, bucket });
      told.push(answer);
      ended = answer.outcome;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      ended = error.name;
      cause = error.message;
    }
  }
  const text = bucket.text(manifestKey);
  const manifest = parseJson(manifestSchema, text) ?? null;
  const { guards = null, state: verdict = null } = manifest ?? {};
  const stopped = ended === 'FileQuarantined' && guards !== null && verdict === 'quarantined';
  return {
    ended,
    cause,
    stoppedBy: stopped ? failedChecks(guards).map(({ guard }) => guard) : [],
    releasable: stopped && isReleasable(guards),
    warnings: manifest?.warnings ?? [],
    manifest,
    told: JSON.stringify([text, told, cause, deps.log.lines, deps.log.measured]),
  };
}

function release(bucket: FakeBucket, execution: string, newNormal: boolean, settings: Deployment): Promise<EndOfNight> {
  const input = { entity: 'leads', release: execution, reason: 'It is known to be right.', by: 'dana@desk', newNormal };
  const state = newState(input, { execution: `release-${execution}`, startedAt: '2026-11-20T07:00:00.000Z' });
  return endOf(bucket, `runs/entity=leads/run=${execution}/_manifest.json`, state, settings);
}
