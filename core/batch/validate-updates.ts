import { ofOneFund } from '../updates/customer-fields.ts';
import { LONGEST_LINE, measured } from '../updates/lines.ts';
import { isProblem, readUpdates, type UpdateReader, type UpdateRecord } from '../updates/read-updates.ts';
import type { LineRules, Problem } from '../updates/update-line.ts';
import { type Chunk, MOST_CHUNKS } from './batch-state.ts';

export interface Validation {
  /** Number of valid records; all records if `problems.total` is 0. */
  records: number;
  lines: number;
  bytes: number;
  /** CRC-32 of the bytes that were read, to compare with a later upload. */
  crc32: number;
  problems: ProblemReport;
  /** Values that are sent although they look wrong: number of records, and the first line. */
  warnings: Warning[];
  /** The chunks of the file; empty for CSV and if there are problems. */
  chunks: Chunk[];
}

interface Warning {
  field: string;
  /** The end of a sentence that begins with the name of the field. */
  sentence: string;
  records: number;
  firstLine: number;
}

/** Matches texts that spreadsheets write in place of a long number or of a value. */
const DAMAGED = /^(?:-?\d(?:\.\d+)?E\+\d\d|#(?:N\/A|#+|[A-Z\d/]+[!?]))$/;
const DAMAGE = 'has texts such as 3.1E+11, #N/A or \ufffd, which a program may have written in place of other values';

/**
 * Reads a whole file of updates and reports its problems. The report has field names, but no customer data.
 * @param fileBytes size of a file that is cut into chunks
 */
export async function validateUpdates(
  read: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules: LineRules = {},
  fileBytes = 0,
): Promise<Validation> {
  const measure = { bytes: 0, crc32: 0 };
  const problems: ProblemReport = { total: 0, first: [], perField: new Map() };
  const warnings = new Map<string, Warning>();
  const chunks: Chunk[] = [];
  const counted = { lines: 0 };
  let records = 0;
  for await (const entry of readUpdates(read, measured(bytes, measure), rules, counted)) {
    if (isProblem(entry)) addProblem(problems, entry);
    else {
      records += 1;
      if (entry.from !== null) addToChunks(chunks, entry.line, entry.from, fileBytes);
      addWarnings(warnings, entry);
    }
  }
  const last = chunks.at(-1);
  if (last) Object.assign(last, { to: measure.bytes, lastLine: counted.lines });
  const isValid = problems.total === 0;
  return { records, ...counted, ...measure, problems, warnings: [...warnings.values()], chunks: isValid ? chunks : [] };
}

function addWarnings(warnings: Map<string, Warning>, { line, record }: UpdateRecord): void {
  const add = (field: string, sentence: string) => {
    const { records = 0, firstLine = line } = warnings.get(field) ?? {};
    warnings.set(field, { field, sentence, records: records + 1, firstLine });
  };
  if ('customFields' in record) add('customFields', 'is deprecated');
  if (!ofOneFund(record)) add('kupatHolimComplementary', 'is a plan of a different fund than kupatHolim names');
  for (const [field, value] of Object.entries(record))
    if (typeof value === 'string' && (DAMAGED.test(value) || value.includes('\ufffd'))) add(field, DAMAGE);
}

/** The most problems that are listed; further ones are only counted. */
const KEPT = 20;
/** The most field names that are counted separately, because a file may have any number of names. */
const COUNTED_FIELDS = 200;

export interface ProblemReport {
  total: number;
  first: Problem[];
  /** Problems per field. `(line)` counts problems of whole lines, `(others)` fields after the first 200. */
  perField: Map<string, number>;
}

/** Adds a problem, in bounded memory. */
function addProblem(report: ProblemReport, problem: Problem): void {
  const { first, perField } = report;
  report.total += 1;
  if (first.length < KEPT) first.push(problem);
  const named = problem.field ?? '(line)';
  const key = perField.has(named) || perField.size < COUNTED_FIELDS ? named : '(others)';
  perField.set(key, (perField.get(key) ?? 0) + 1);
}

/** The fewest records for which a chunk is worth a child execution. */
export const SMALLEST_CHUNK = 100;

/**
 * Cuts a file into chunks while it is read: adds a record by its line, and the byte at which that line begins. Each
 * chunk but the last has at least a thousandth of the file's bytes, so that there are at most `MOST_CHUNKS`, and 100
 * records or the length of the longest line, so that a function can hold it in memory.
 */
function addToChunks(chunks: Chunk[], line: number, from: number, fileBytes: number): void {
  const open = chunks.at(-1);
  const bytes = open ? from - open.from : 0;
  if (open && (bytes < fileBytes / MOST_CHUNKS || (open.records < SMALLEST_CHUNK && bytes < LONGEST_LINE))) {
    open.records += 1;
    return;
  }
  if (open) Object.assign(open, { to: from, lastLine: line - 1 });
  // The first chunk begins at the start of the file, even if its first record comes later.
  const [begin, firstLine] = open ? [from, line] : [0, 1];
  chunks.push({ chunk: chunks.length + 1, from: begin, to: from, firstLine, lastLine: line, records: 1 });
}

/** The text of `chunks.jsonl`. */
export function chunksText(chunks: Chunk[]): string {
  return chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join('');
}
