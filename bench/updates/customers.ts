import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { idAt } from '../../sandbox/data/records.ts';

/** One record as agencies send them: a few fields, some of them Hebrew. About 250 bytes of JSON. */
export function recordOf(n: number) {
  return {
    id: idAt('customers', n),
    firstName: `שם ${n}`,
    lastName: 'כהן',
    email: `customer-${n}@example.org`,
    cellNumber: `+97250${String(n % 10_000_000).padStart(7, '0')}`,
    city: 'תל אביב',
    maritalStatus: (n % 5) + 1,
    smoker: n % 3 === 0,
    birthDate: '1980-02-29',
  };
}

export function jsonLine(n: number): string {
  return `${JSON.stringify(recordOf(n))}\n`;
}

const HEADER = Object.keys(recordOf(0));

function csvLine(n: number): string {
  return `${Object.values(recordOf(n)).join(',')}\n`;
}

/** Writes a file of so many records. */
export async function writeFileOf(path: string, records: number): Promise<void> {
  const csv = path.endsWith('.csv');
  await writeLines(path, csv ? `${HEADER.join(',')}\n` : '', csv ? csvLine : jsonLine, records);
}

/** Writes the shortest lines that change something, up to the size. @returns how many */
export async function writeShortest(path: string, bytes: number): Promise<number> {
  const line = (n: number) => `{"id":"${idAt('customers', n)}","city":""}\n`;
  const records = Math.floor(bytes / line(0).length);
  await writeLines(path, '', line, records);
  return records;
}

async function writeLines(path: string, header: string, line: (n: number) => string, records: number): Promise<void> {
  const texts = function* () {
    yield header;
    for (let at = 0; at < records; at += 1000) {
      yield Array.from({ length: Math.min(1000, records - at) }, (_, n) => line(at + n)).join('');
    }
  };
  const file = createWriteStream(path);
  await pipeline(Readable.from(texts()), file);
  if (!file.closed) await once(file, 'close');
}
