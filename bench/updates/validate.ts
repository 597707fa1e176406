import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild } from './children.ts';
import { writeFileOf } from './customers.ts';
import type { Cost } from './job.ts';

/** What it takes to validate a file of so many records in a fresh process, as `update` does before it sends. */
export async function validationOf(dir: string, format: 'jsonl' | 'csv', records: number) {
  const file = join(dir, `validate.${format}`);
  await writeFileOf(file, records);
  try {
    const { size } = await stat(file);
    const { ready, begin, child } = startChild('validate-child.ts', { file });
    await ready;
    const { seconds, cpuSeconds, maxRss } = (await begin()) as Cost;
    child.kill();
    return {
      megabytesPerSecond: size / 1e6 / seconds,
      maxRssMegabytes: maxRss / 1e6,
      cpuPer1000: (cpuSeconds * 1000) / records,
    };
  } finally {
    await rm(file, { force: true });
  }
}
