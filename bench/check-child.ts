import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse';
import { fileSource } from '../core/file/byte-source.ts';
import { readContent } from '../core/file/read-content.ts';
import type { CheckJob, CheckReading } from './check-files.ts';
import { doJob } from './child.ts';
import { columnNames } from './csv-files.ts';

/** Reads a file to its end with one reader and reports the cost. */

// PublishFile has loaded all these modules when it reads a file.
await import('../lambdas/publish-file/handler.ts');
const READ = { publish, 'csv-parse': csvParse, duckdb };
await doJob(async (job: CheckJob): Promise<CheckReading> => {
  try {
    return { rows: await READ[job.reader](job), refused: null };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { rows: null, refused: error.message };
  }
});

/** The pass of PublishFile. One column is left out and one is hashed, so every record is searched for a header with them. */
async function publish({ file, columns }: CheckJob): Promise<number | null> {
  const names = columnNames(columns + 1);
  const fields = names.map((name, place) => ({ name, label: `שדה ${place}` }));
  await using opened = await open(file);
  const { facts } = await readContent(await fileSource(opened), {
    ...{ what: 'The file', contentType: '', undeclaredEnd: false, secondsLeft: () => 900 },
    maxBytes: Number.MAX_SAFE_INTEGER,
    expected: {
      ...{ columns: names.slice(0, -1), fields, excepted: fields.slice(-1), hiddenInTables: names.slice(1, 2) },
      ...{ labels: {}, opaque: [], headerless: false, formats: ['csv', 'xlsx'] },
    },
  });
  return facts.rows;
}

async function csvParse({ file }: CheckJob): Promise<number> {
  const parser = createReadStream(file).pipe(parse({ relax_column_count: true, from_line: 2 }));
  let rows = 0;
  parser.on('readable', () => {
    while (parser.read() !== null) rows += 1;
  });
  await new Promise((resolve, reject) => parser.on('end', resolve).on('error', reject));
  return rows;
}

async function duckdb({ file }: CheckJob): Promise<number> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const options = `delim=',', quote='"', escape='"', header=true, all_varchar=true`;
  const found = await connection.runAndReadAll(`select count(*)::integer from read_csv($1, ${options})`, [file]);
  return Number(found.getRows()[0]?.[0]);
}
