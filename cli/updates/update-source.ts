import { type FileHandle, open } from 'node:fs/promises';
import { LARGEST_INPUT_BYTES } from '../../core/batch/batch-store.ts';
import { type ProblemReport, type Validation, validateUpdates } from '../../core/batch/validate-updates.ts';
import { type FileStamp, isUnchanged, stampOf } from '../../core/updates/file-stamp.ts';
import { CSV } from '../../core/updates/read-csv.ts';
import {
  formatOf,
  isProblem,
  JSONL,
  readUpdates,
  type UpdateFormat,
  type UpdateReader,
} from '../../core/updates/read-updates.ts';
import { STRICT, type WithId } from '../../core/updates/update-line.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { manyText } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';

/** A source whose lines are all valid. */
export interface CheckedUpdates extends Omit<Validation, 'problems' | 'chunks'> {
  source: UpdateSource;
}

/**
 * Validates all lines before the first one is sent.
 * @param print prints the table of problems, and warnings
 * @throws CommandError (exit code 2) if a line is not valid
 */
export async function checkUpdates(
  source: UpdateSource,
  print: (text: string) => void,
  rules = STRICT,
): Promise<CheckedUpdates> {
  const { problems, chunks: _, ...found } = await validateUpdates(source.reader, source.open(), rules);
  if (problems.total > 1) print(problemsText(problems));
  if (problems.total > 0) throw refused(problemsSentence(source.name, problems));
  if (source.reader.format === 'jsonl' && found.bytes > LARGEST_INPUT_BYTES) throw tooLarge(source.name);
  for (const { field, sentence, records, firstLine } of found.warnings) {
    print(`Warning: "${field}" ${sentence}; ${manyText(records, 'record')}, first on line ${firstLine}.`);
  }
  return { source, ...found };
}

export function tooLarge(name: string) {
  return refused(`${name} has more than the ${LARGEST_INPUT_BYTES} bytes of one batch: cut it in several.`);
}

function problemsText({ first, total, perField }: ProblemReport): string {
  const rows = first.map(({ line, field, sentence }) => [line === 0 ? '' : String(line), field ?? '', sentence]);
  const fields = Object.entries(perField).map(([field, count]) => [field, String(count)]);
  const more = total > first.length ? `\n  … and ${manyText(total - first.length, 'more problem')}` : '';
  return `${textTable(['line', 'field', 'problem'], rows)}${more}\n\n${textTable(['field', 'problems'], fields)}\n`;
}

function problemsSentence(name: string, { total, first: [only] }: ProblemReport): string {
  if (total > 1 || !only) return `${name} has ${manyText(total, 'problem')}.`;
  const { line, field, sentence } = only;
  const place = line === 0 ? name : `${name}, line ${line}${field === null ? '' : `, ${field}`}:`;
  return `${place} ${sentence}.`;
}

const SAMPLES = 3;
/** Shown characters of an id: enough to find its line again, too few to identify a customer. */
const SHOWN_OF_ID = 8;

/** The requests for the first records, with hidden values and shortened ids. */
export async function samplesOf(source: UpdateSource): Promise<string[]> {
  const samples: string[] = [];
  for await (const entry of readUpdates(source.reader, source.open(), { allowNull: true })) {
    if (isProblem(entry)) continue;
    samples.push(`line ${entry.line}: ${requestText(entry.record)}`);
    if (samples.length === SAMPLES) break;
  }
  return samples;
}

function requestText({ id, ...fields }: WithId): string {
  // A field to be emptied is shown as null: that reveals no customer data, and the user should see it.
  const masked = Object.entries(fields).map(([name, value]) => [name, value === null ? null : '***']);
  return `PATCH /customers/${id.slice(0, SHOWN_OF_ID)}…\n  ${JSON.stringify(Object.fromEntries(masked))}`;
}

/** The source of updates. It is read twice: to check and to send. */
export interface UpdateSource {
  name: string;
  reader: UpdateReader;
  /** All bytes from the start; throws CommandError (exit code 2) if they have changed since the first read. */
  open: () => AsyncIterable<Uint8Array>;
  close: () => Promise<void>;
}

const READERS: Record<UpdateFormat, UpdateReader> = { csv: CSV, jsonl: JSONL };
/** Larger pieces are hardly faster, and need 20 MB more memory for a million lines. */
const PIECE_BYTES = 64 * 1024;

/** The error for a file that is refused before a line was sent. */
export function refused(sentence: string, options: { cause?: unknown } = {}): CommandError {
  return new CommandError(`${sentence} Nothing was sent.`, USAGE, options);
}

/** @throws CommandError (exit code 2) if the file does not exist or has an unknown format */
export async function openUpdateFile(path: string): Promise<UpdateSource> {
  const format = formatOf(path);
  if (typeof format !== 'string') throw refused(`${path} ${format.sentence}.`);
  const file = await open(path).catch((error: unknown) => {
    throw refused(`${path} ${whyNotOpened(error)}.`, { cause: error });
  });
  try {
    if (!(await file.stat()).isFile()) throw refused(`${path} is no file.`);
    const stamp = await stampOf(file);
    return { name: path, reader: READERS[format], open: () => unchanged(path, file, stamp), close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function whyNotOpened(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  return code === 'EACCES' ? 'may not be read' : `cannot be opened (${code})`;
}

async function* unchanged(path: string, file: FileHandle, before: FileStamp): AsyncGenerator<Uint8Array> {
  let position = 0;
  for (;;) {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const { bytesRead } = await file.read(piece, 0, PIECE_BYTES, position);
    // The file is checked after every piece: a problem that was found in changed content would mislead.
    if (!isUnchanged(before, await stampOf(file))) throw changed(path);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
    position += bytesRead;
  }
}

export function changed(name: string): CommandError {
  return refused(`${name} changed while it was read: wait until it is complete.`);
}
