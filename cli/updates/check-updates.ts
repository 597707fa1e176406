import { LARGEST_INPUT_BYTES } from '../../core/batch/batch-store.ts';
import { type ProblemReport, type Validation, validateUpdates } from '../../core/batch/validate-updates.ts';
import { isProblem, readUpdates } from '../../core/updates/read-updates.ts';
import { STRICT, type WithId } from '../../core/updates/update-line.ts';
import { manyText } from '../support/text.ts';
import { textTable } from '../support/text-table.ts';
import { refused, type UpdateSource } from './source.ts';

/** A source of which every line is valid. */
export interface CheckedUpdates extends Omit<Validation, 'problems' | 'chunks'> {
  source: UpdateSource;
}

/**
 * Validates all lines before anything is sent.
 * @param print for a table of problems, and for warnings
 * @throws CommandError (exit code 2) when anything is wrong
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
/** So many characters of an id are enough to find its line again, and too few to look somebody up. */
const SHOWN_OF_ID = 8;

/** The requests that the first records become, with values hidden and ids cut short. */
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
  // An emptied field is shown: it says nothing about the customer, and a person wants to see it.
  const masked = Object.entries(fields).map(([name, value]) => [name, value === null ? null : '***']);
  return `PATCH /customers/${id.slice(0, SHOWN_OF_ID)}…\n  ${JSON.stringify(Object.fromEntries(masked))}`;
}
