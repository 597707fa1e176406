import { crc32 } from 'node:zlib';
import type { Manifest } from '../../core/export/manifest.ts';
import { csvRecords as recordsOf, UnreadableCsv } from '../../core/files/csv-records.ts';
import { crc32Text } from '../../transfer/index.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { corruptText } from './download-file.ts';
import { failed } from './find.ts';
import { bytesFrom, type StoredFile, storedFile } from './object.ts';

type Place = Pick<Target, 's3' | 'BucketName'>;

/** @throws CommandError (exit code 1) where the manifest says that its file is no CSV file */
export function refuseOtherThanCsv({ entity, date, file }: Pick<Manifest, 'entity' | 'date' | 'file'>): void {
  // Manifests of earlier releases do not name the format.
  if ((file.format ?? 'csv') === 'csv') return;
  throw failed(`The ${entity} of ${date} are ${file.format}, not CSV: download gets the file as it is.`);
}

/**
 * The records of a whole CSV file, its header first, one at a time; gzip is unpacked. What the manifest does not know of the
 * dialect is taken for UTF-8 and commas. Size and CRC-32 are proven by the last record.
 * @throws CommandError (exit code 1) where it is no CSV file, is malformed, or is not what its manifest says; the signal's reason
 */
export async function* csvRecords(place: Place, manifest: Manifest, signal?: AbortSignal): AsyncGenerator<string[]> {
  refuseOtherThanCsv(manifest);
  const stored = await storedFile(place, manifest, signal);
  let headed = false;
  try {
    for await (const record of recordsOf(proven(place, manifest, stored, signal), manifest.file)) {
      if (!headed) refuseOtherWidth(manifest, record);
      headed = true;
      yield record;
    }
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error;
    throw failed(`The file ${manifest.file.key} ${error.message}: download gets the file as it is.`, error);
  }
}

/** What splits the header otherwise splits every row otherwise. @throws CommandError (exit code 1) */
function refuseOtherWidth({ file: { key, header } }: Manifest, { length }: string[]): void {
  if (header === null || header.length === length) return;
  throw failed(
    `The file ${key} begins with ${manyText(length, 'column')}, not the ${header.length} of its manifest: download gets it.`,
  );
}

async function* proven(place: Place, manifest: Manifest, stored: StoredFile, signal?: AbortSignal) {
  let crc = 0;
  for await (const chunk of bytesFrom(place, stored, 0, signal)) {
    crc = crc32(chunk, crc);
    yield chunk;
  }
  if (crc32Text(crc) !== manifest.file.crc32) throw failed(corruptText(manifest, crc));
}
