import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { recordOf } from './customers.ts';

const run = promisify(execFile);

export interface CurlLoop {
  baseUrl: string;
  accessToken: string;
  dir: string;
  /** Processes, each with a connection of its own that it keeps. */
  concurrency: number;
  records: number;
}

/** Sends the same changes with nothing but `curl`: no check, no token, no result. @returns seconds */
export async function curlLoopSeconds({ baseUrl, accessToken, dir, concurrency, records }: CurlLoop): Promise<number> {
  const files = await Promise.all(
    Array.from({ length: concurrency }, async (_, process) => {
      const file = join(dir, `curl-${process}.txt`);
      const requests = Array.from({ length: records }, (_, n) =>
        requestOf(baseUrl, accessToken, process * records + n),
      );
      await writeFile(file, requests.join('next\n'));
      return file;
    }),
  );
  const started = performance.now();
  const answers = await Promise.all(files.map((file) => run('curl', ['--config', file])));
  const seconds = (performance.now() - started) / 1000;
  if (answers.some(({ stdout }) => stdout !== '200'.repeat(records)))
    throw new Error('curl was answered otherwise than 200');
  return seconds;
}

function requestOf(baseUrl: string, accessToken: string, n: number): string {
  const { id, ...fields } = recordOf(n);
  const options: [string, string][] = [
    ['url', `${baseUrl}/customers/${id}`],
    ['request', 'PATCH'],
    ['header', `Authorization: Bearer ${accessToken}`],
    ['header', 'Content-Type: application/json'],
    ['data', JSON.stringify(fields)],
    ['output', '/dev/null'],
    ['write-out', '%{http_code}'],
  ];
  return `silent\n${options.map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`).join('')}`;
}
