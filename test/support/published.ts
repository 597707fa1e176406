import { crc32 } from 'node:zlib';
import { datePointerKey, latestPointerKey, type Pointer } from '../../core/export/pointer.ts';
import type { FakeBucket } from './fake-bucket.ts';
import { type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from './manifests.ts';

interface Publication {
  date: string;
  rows: number | null;
  manifest?: ManifestChanges;
  pointer?: Partial<Pointer>;
}

/** Stores manifest and pointer of leads of another date, published with the plan of `run()`. */
export function putPublished(bucket: FakeBucket, { date, rows, manifest = {}, pointer = {} }: Publication): void {
  const execution = `of-${date}`;
  const whole = manifestOf({
    date,
    execution,
    plan: 'a'.repeat(64),
    softwareVersion: '0.1.0',
    exportId: exportIdOf(date),
    ...manifest,
    file: { bytes: 1, rows, ...manifest.file },
  });
  bucket.put(manifestKeyOf(execution), JSON.stringify(whole));
  bucket.put(datePointerKey('leads', date), JSON.stringify({ ...pointerTo(whole), ...pointer }));
}

/** Publishes a hundred rows on each of the three nights before 2026-11-20. */
export function putHundreds(bucket: FakeBucket): void {
  for (const date of ['2026-11-19', '2026-11-18', '2026-11-17']) putPublished(bucket, { date, rows: 100 });
  bucket.put(latestPointerKey('leads'), bucket.text(datePointerKey('leads', '2026-11-19')) ?? '');
}

/** A different export id for each date or run, as from a CRM that creates an export for each request. */
export const exportIdOf = (of: string) => `00000000-0000-4000-8000-${crc32(of).toString(16).padStart(12, '0')}`;
