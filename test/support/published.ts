import { datePointerKey, type Pointer } from '../../core/export/pointer.ts';
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

/** A different export id for each date, as from a CRM that creates an export for each request. */
export const exportIdOf = (date: string) => `00000000-0000-4000-8000-0000${date.replaceAll('-', '')}`;
