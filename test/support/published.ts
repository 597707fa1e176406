import { datePointerKey, type Pointer } from '../../core/export/pointer.ts';
import type { FakeBucket } from './fake-bucket.ts';
import { type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from './manifests.ts';

interface Publication {
  date: string;
  rows: number | null;
  manifest?: ManifestChanges;
  pointer?: Partial<Pointer>;
}

/** Leads of another date, published by the plan of `run()`: manifest and pointer of the date. */
export function putPublished(bucket: FakeBucket, { date, rows, manifest = {}, pointer = {} }: Publication): void {
  const execution = `of-${date}`;
  const whole = manifestOf({
    date,
    execution,
    plan: 'a'.repeat(64),
    softwareVersion: '0.1.0',
    ...manifest,
    file: { bytes: 1, rows, ...manifest.file },
    export: { id: exportIdOf(date), storedAt: `${date}T01:00:00.000Z`, checks: 1, ...manifest.export },
  });
  bucket.put(manifestKeyOf(execution), JSON.stringify(whole));
  bucket.put(datePointerKey('leads', date), JSON.stringify({ ...pointerTo(whole), ...pointer }));
}

/** Another one for each date, as of a CRM that makes a new export for each request. */
export const exportIdOf = (date: string) => `00000000-0000-4000-8000-0000${date.replaceAll('-', '')}`;
