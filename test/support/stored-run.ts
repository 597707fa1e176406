import { crc32 } from 'node:zlib';
import type { Manifest } from '../../core/export/manifest.ts';
import type { RunState, StoredFile } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { publishFile } from '../../lambdas/publish-file/publish-file.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { runState, storedFile } from './builders.ts';
import { testDeps } from './deps.ts';
import { type FakeBucket, fakeBucket } from './fake-bucket.ts';

export const FILE_KEY = 'runs/entity=leads/run=night-1/leads.csv';
export const BY_DATE = 'published/entity=leads/date=2026-11-20.json';
export const LATEST = 'published/entity=leads/latest.json';
export const MANIFEST_KEY = 'runs/entity=leads/run=night-1/_manifest.json';
export const SMALL_CSV = 'id,name\n1,"line\nbreak"\n2,ש\n';

type Options = Parameters<typeof fakeBucket>[0] & Partial<Pick<StoredFile, 'restarts' | 'undeclaredEnd'>>;

export function storedRun(
  text: string | Uint8Array = SMALL_CSV,
  { restarts = 0, undeclaredEnd = false, ...options }: Options = {},
) {
  const bytes = Buffer.from(text);
  const bucket = fakeBucket({ objects: { [FILE_KEY]: bytes }, ...options });
  const file = storedFile({ bytes: bytes.length, crc32: crc32Text(crc32(bytes)), restarts, undeclaredEnd });
  return { bucket, state: runState({ file }) };
}

/** Publishes a stored run. The clock is at 01:10 and time is plenty. */
export const publish = (bucket: FakeBucket, state: RunState, overrides: Partial<Invocation> = {}) =>
  publishFile(state, { ...testDeps(overrides), bucket });

export const manifestIn = (bucket: FakeBucket, key = MANIFEST_KEY): Manifest => JSON.parse(bucket.text(key) ?? 'null');
