import type { Manifest } from '../../core/export/manifest.ts';
import { provenRecords, whyUnread } from '../../core/file/records.ts';
import type { ByteSource } from '../../core/files/byte-source.ts';
import { isReadFormat } from '../../core/files/read-formats.ts';
import type { ReadingLimits } from '../../core/zip/reading-limits.ts';
import { manyText } from '../support/text.ts';
import { corruptText } from './download-file.ts';
import { failed } from './find.ts';
import { bytesFrom, type ExportsBucket, type StoredFile, storedFile } from './object.ts';

/** A person is there to stop it. */
export const NO_LIMITS: ReadingLimits = {
  contentBytes: Number.POSITIVE_INFINITY,
  diskBytes: Number.POSITIVE_INFINITY,
  secondsLeft: () => Number.POSITIVE_INFINITY,
};

/** @throws CommandError (exit code 1) where the file is of a kind that nothing looks into */
export function refuseUnread({ entity, date, file }: Pick<Manifest, 'entity' | 'date' | 'file'>): void {
  if (isReadFormat(file.format)) return;
  throw failed(
    `The ${entity} of ${date} are a file of the kind ${file.format}, which nothing looks into: download gets it as it is.`,
  );
}

/** The names of a file's columns: by its header, or the requested ones where it is known to have none; `null` = not known. */
export function namesOf({ file, request }: Pick<Manifest, 'file' | 'request'>): string[] | null {
  return file.header ?? (file.content?.headed === false ? request.columns : null);
}

/**
 * The records of a whole CSV file or spreadsheet, its header first, one at a time; where it has none, the requested columns stand
 * in its place. What the manifest does not know of the dialect is taken for UTF-8 and commas. Size and CRC-32 are proven by the
 * last record.
 * @throws CommandError (exit code 1) where it cannot be read, or is not what its manifest says; the signal's reason
 */
export async function* recordsOf(
  target: ExportsBucket,
  manifest: Manifest,
  signal?: AbortSignal,
): AsyncGenerator<string[]> {
  refuseUnread(manifest);
  const { file, request } = manifest;
  const source = sourceOf(target, await storedFile(target, manifest, signal), signal);
  const refuse = (crc: number) => failed(corruptText(manifest, crc));
  let first = true;
  if (file.content?.headed === false) yield request.columns;
  try {
    for await (const record of provenRecords(source, file, { limits: NO_LIMITS, refuse })) {
      if (first) refuseOtherWidth(manifest, record);
      first = false;
      yield record;
    }
  } catch (error) {
    throw unreadable(file.key, error);
  }
}

/** A stored file, to be read in any order. */
export function sourceOf(target: ExportsBucket, stored: StoredFile, signal?: AbortSignal): ByteSource {
  return { size: stored.bytes, read: (from, to) => bytesFrom(target, stored, from, signal, to) };
}

/** @returns a CommandError (exit code 1) where the error says that the content cannot be read */
export function unreadable(key: string, error: unknown): unknown {
  const why = whyUnread(error);
  return why === undefined ? error : failed(`The file ${key} ${why}: download gets the file as it is.`, error);
}

/** What splits the header otherwise splits every row otherwise. @throws CommandError (exit code 1) */
function refuseOtherWidth({ file: { key, header } }: Manifest, { length }: string[]): void {
  if (header === null || header.length === length) return;
  throw failed(
    `The file ${key} begins with ${manyText(length, 'column')}, not the ${header.length} of its manifest: download gets it.`,
  );
}
