import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fileRecords } from '../core/file/file-records.ts';
import { readContent } from '../core/file/read-content.ts';
import { type Comparison, compareFiles } from './compare-files.ts';

/**
 * Compares how this reader and Python's csv read the CSV files in folders, cell by cell: `node scripts/compare-csv.ts
 * FOLDER…`, for example clones of csv-spectrum, PapaParse, DuckDB and SheetJS test_files. The cells of the first record
 * count as the columns that the CRM lists. If they cannot be names, the script adds a header of made-up names. It prints
 * the files with a difference or without a count of rows, and the number of files by result.
 */

const LIMITS = { contentBytes: 2e9, diskBytes: 0, secondsLeft: () => 900 };
const READING = { what: 'It', contentType: '', maxBytes: 2e9, secondsLeft: () => 900, undeclaredEnd: false };

/** What `csv-records.py` reads. */
interface Read {
  file: string;
  separator: string;
  records: string[][];
}

async function compare({ file, separator, records: read }: Read): Promise<Comparison> {
  const [first = []] = read;
  const named = first.map((cell) => cell.trim()).filter((cell) => cell !== '');
  const isHeader = named.length * 2 >= first.length && new Set(named).size === named.length;
  const header = isHeader ? first : first.map((_, place) => `column ${place}`);
  const records = isHeader ? read : [header, ...read];
  const stored = await readFile(file);
  const bytes = isHeader ? stored : withHeader(header.join(separator), stored);
  async function* part(from: number, to: number) {
    yield bytes.subarray(from, to);
  }
  const source = { size: bytes.length, read: part };
  const columns = header.filter((cell) => cell.trim() !== '');
  const fields = columns.map((name) => ({ name, label: null }));
  const others = { excepted: [], labels: {}, formats: ['csv' as const], opaque: [], headerless: false };
  const expected = { columns, fields, ...others };
  const { facts, warnings } = await readContent(source, { ...READING, expected });
  const { content } = facts;
  if (!content || facts.rows === null) return { result: 'uncounted', words: warnings.join(' ') };
  const rows = facts.rows + content.repeatedHeaders;
  const form = { ...facts, content: { ...content, repeatedHeaders: 0 } };
  const ours: string[][] = [];
  for await (const record of fileRecords(source, form, LIMITS)) ours.push(record);
  const at = records.findIndex((record, place) => !isDeepStrictEqual(record, ours[place]));
  const differences = [
    facts.header?.every((name, place) => name.trim() === header[place]?.trim()) ? [] : ['another header'],
    rows === records.length - 1 ? [] : [`${rows} rows, not ${records.length - 1}`],
    content.irregular === 0 ? [] : [`${content.irregular} irregular rows`],
    at === -1 ? [] : [`record ${at + 1} is ${JSON.stringify(ours[at])}, not ${JSON.stringify(records[at])}`],
  ].flat();
  return { result: differences.length === 0 ? 'same' : 'different', words: differences.join(', ') };
}

/** The file with a header above its first record, in the same line breaks. A gzip file becomes the second gzip member. */
function withHeader(header: string, stored: Buffer): Buffer {
  const packed = stored[0] === 0x1f && stored[1] === 0x8b;
  const text = packed ? gunzipSync(stored) : stored;
  const lineBreak = text.includes('\n') ? '\n' : text.includes('\r') ? '\r' : '\n';
  const line = Buffer.from(`${header}${lineBreak}`);
  const mark = text.indexOf('\ufeff') === 0 ? 3 : 0;
  return packed ? Buffer.concat([gzipSync(line), stored]) : Buffer.concat([line, text.subarray(mark)]);
}

await compareFiles('csv-records.py', /\.[ct]sv(?:\.gz)?$/i, compare);
