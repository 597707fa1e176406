import { FIELD_RULES, ofOneFund } from '../updates/customer-fields.ts';
import { measured } from '../updates/line-blocks.ts';
import { isProblem, readUpdateBlocks, type UpdateEntry, type UpdateReader } from '../updates/read-updates.ts';
import { type Problem, STRICT } from '../updates/update-line.ts';
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

const OTHER_FUND = 'is a plan of a different fund than the one in kupatHolim';

const DEPRECATED = [...FIELD_RULES].filter(([, rule]) => rule.deprecated).map(([name]) => name);

/**
 * Reads a whole file of updates and reports its problems. The report has field names, but no customer data.
 * @param fileBytes size of a file that is cut into chunks
 */
export async function validateUpdates(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
  fileBytes = 0,
): Promise<Validation> {
  const measure = { bytes: 0, crc32: 0 };
  const tally = new Tally(fileBytes);
  let lines = 0;
  for await (const block of readUpdateBlocks(reader, measured(bytes, measure), rules)) {
    for (const entry of block.entries) tally.add(entry);
    lines = block.lines;
  }
  const { records, problems, warnings, index } = tally;
  const chunks = problems.total === 0 ? index.chunks(lines, measure.bytes) : [];
  return { records, lines, ...measure, problems: problems.report(), warnings: [...warnings.values()], chunks };
}

class Tally {
  records = 0;
  readonly problems = new Problems();
  readonly warnings = new Map<string, Warning>();
  readonly index: ChunkIndex;

  constructor(fileBytes: number) {
    this.index = new ChunkIndex(fileBytes);
  }

  add(entry: UpdateEntry): void {
    if (isProblem(entry)) {
      this.problems.add(entry);
      return;
    }
    this.records += 1;
    if (entry.from !== null) this.index.add(entry.line, entry.from);
    for (const field of DEPRECATED) if (field in entry.record) this.#warn(field, 'is deprecated', entry.line);
    if (!ofOneFund(entry.record)) this.#warn('kupatHolimComplementary', OTHER_FUND, entry.line);
  }

  #warn(field: string, sentence: string, line: number): void {
    const { records = 0, firstLine = line } = this.warnings.get(field) ?? {};
    this.warnings.set(field, { field, sentence, records: records + 1, firstLine });
  }
}

/** The most problems that are listed; further ones are only counted. */
const KEPT = 20;
/** The most field names that are counted separately, because a file may have any number of names. */
const COUNTED_FIELDS = 200;

export interface ProblemReport {
  total: number;
  first: Problem[];
  /** Problems per field. `(line)` counts problems of whole lines, `(others)` fields after the first 200. */
  perField: Record<string, number>;
}

/** Collects problems in bounded memory, however many there are. */
export class Problems {
  #total = 0;
  readonly #first: Problem[] = [];
  readonly #perField = new Map<string, number>();

  add(problem: Problem): void {
    this.#total += 1;
    if (this.#first.length < KEPT) this.#first.push(problem);
    const named = problem.field ?? '(line)';
    const key = this.#perField.has(named) || this.#perField.size < COUNTED_FIELDS ? named : '(others)';
    this.#perField.set(key, (this.#perField.get(key) ?? 0) + 1);
  }

  get total(): number {
    return this.#total;
  }

  /** The fields with the most problems come first. */
  report(): ProblemReport {
    const perField = [...this.#perField].sort(([, a], [, b]) => b - a);
    return { total: this.#total, first: [...this.#first], perField: Object.fromEntries(perField) };
  }
}

/** The fewest records for which a chunk is worth a child execution. */
const SMALLEST_CHUNK = 100;

/**
 * Cuts a file into chunks while it is read. Each has at least 100 records and a thousandth of the file's bytes, so that
 * there are at most `MOST_CHUNKS`. The last one may be smaller.
 */
export class ChunkIndex {
  readonly #leastBytes: number;
  readonly #chunks: Chunk[] = [];

  constructor(fileBytes: number) {
    this.#leastBytes = fileBytes / MOST_CHUNKS;
  }

  /** Adds a record: its line, and the byte at which it begins. Lines come in order. */
  add(line: number, from: number): void {
    const open = this.#chunks.at(-1);
    if (open && (open.records < SMALLEST_CHUNK || from - open.from < this.#leastBytes)) {
      open.records += 1;
      return;
    }
    if (open) Object.assign(open, { to: from, lastLine: line - 1 });
    // The first chunk begins at the start of the file, even if its first record comes later.
    const [begin, firstLine] = open ? [from, line] : [0, 1];
    const chunk = this.#chunks.length + 1;
    this.#chunks.push({ chunk, from: begin, to: from, firstLine, lastLine: line, records: 1 });
  }

  /** The chunks, which together cover the whole file. */
  chunks(lines: number, bytes: number): Chunk[] {
    const last = this.#chunks.at(-1);
    if (last) Object.assign(last, { to: bytes, lastLine: lines });
    return this.#chunks;
  }
}

/** The text of `chunks.jsonl`. */
export function chunksText(chunks: Chunk[]): string {
  return chunks.map((chunk) => `${JSON.stringify(chunk)}\n`).join('');
}
