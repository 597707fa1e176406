import type { ByteSource } from './byte-source.ts';
import { type CsvForm, csvRecords } from './csv-records.ts';

/** The records of a published file, its header first. */
export async function* fileRecords(
  source: ByteSource,
  file: CsvForm & { format: string | null },
): AsyncGenerator<string[]> {
  yield* csvRecords(source.read(0, source.size), file);
}
