import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { LARGEST_INPUT_BYTES } from '../../core/batch/batch-store.ts';
import { validateUpdates } from '../../core/batch/validate-updates.ts';
import { CSV } from '../../core/updates/read-csv.ts';
import { formatOf, isProblem, JSONL, readUpdates, type UpdateReader } from '../../core/updates/read-updates.ts';
import type { LineRules } from '../../core/updates/update-line.ts';
import { type CommandError, usageError } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { countText, printableLine } from '../support/text.ts';

/** The source of updates. It is read twice: to check and to send. */
export interface UpdateSource {
  name: string;
  reader: UpdateReader;
  /** All bytes from the start. */
  open: () => AsyncIterable<Uint8Array>;
}

/** A source whose lines are all valid. */
export type CheckedUpdates = Awaited<ReturnType<typeof checkUpdates>>;

/** The error for a file that is refused before a line was sent. */
export function refused(sentence: string, cause?: unknown): CommandError {
  return usageError(`${sentence} Nothing was sent.`, cause);
}

/** @throws CommandError (exit code 2) if the file does not exist or has an unknown format */
export async function openUpdateFile(path: string): Promise<UpdateSource> {
  const format = formatOf(path);
  if (typeof format !== 'string') throw refused(`${path} ${format.sentence}.`);
  const file = await open(path).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw refused(`${path} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}.`, error);
  });
  const stat = await file.stat().finally(() => file.close());
  if (!stat.isFile()) throw refused(`${path} is not a file.`);
  return { name: path, reader: format === 'csv' ? CSV : JSONL, open: () => createReadStream(path) };
}

/**
 * Validates all lines before the first one is sent, and prints problems and warnings.
 * @throws CommandError (exit code 2) if a line is not valid
 */
export async function checkUpdates(source: UpdateSource, rules: LineRules = {}) {
  const { problems, warnings, ...found } = await validateUpdates(source.reader, source.open(), rules);
  const { total, first, perField } = problems;
  const texts = first.map(({ line, field, sentence }) => {
    const place = line === 0 ? source.name : `${source.name}, line ${line}${field === null ? '' : `, ${field}`}:`;
    return printableLine(`${place} ${sentence}.`);
  });
  if (total > 1) {
    for (const text of texts) printErr(text);
    const sorted = [...perField].sort(([, one], [, other]) => other - one);
    const counts = sorted.map(([field, count]) => `${printableLine(field)} ${count}`);
    if (total > first.length) printErr(`… and ${countText(total - first.length, 'more problem')}`);
    printErr(`Problems by field: ${counts.join(', ')}.`);
    throw refused(`${source.name} has ${countText(total, 'problem')}.`);
  }
  if (total > 0) throw refused(texts[0] ?? '');
  // The state machine refuses larger JSON Lines. A CSV file grows when it is converted.
  if (found.bytes > LARGEST_INPUT_BYTES) {
    throw refused(`${source.name} has more than the ${LARGEST_INPUT_BYTES} bytes of one batch: split the file.`);
  }
  for (const { field, sentence, records, firstLine } of warnings) {
    printErr(`Warning: "${field}" ${sentence}; ${countText(records, 'record')}, first on line ${firstLine}.`);
  }
  return { source, ...found };
}

const SAMPLES = 3;
/** Shown characters of an id: enough to find its line again, too few to identify a customer. */
const SHOWN_OF_ID = 8;

/** The requests for the first records, with hidden values and shortened ids. */
export async function samplesOf(source: UpdateSource): Promise<string[]> {
  const samples: string[] = [];
  for await (const entry of readUpdates(source.reader, source.open(), { allowNull: true })) {
    if (isProblem(entry)) continue;
    const { id, ...fields } = entry.record;
    // A field to be emptied is shown as null: that reveals no customer data, and the user should see it.
    const hidden = Object.entries(fields).map(([name, value]) => [name, value === null ? null : '***']);
    const request = `PATCH /customers/${id.slice(0, SHOWN_OF_ID)}…\n  ${JSON.stringify(Object.fromEntries(hidden))}`;
    samples.push(`line ${entry.line}: ${request}`);
    if (samples.length === SAMPLES) break;
  }
  return samples;
}
