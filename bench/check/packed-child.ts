import { statSync } from 'node:fs';
import { readContent } from '../../core/content/read-content.ts';
import { fileSource } from '../../core/zip/put-aside.ts';
import { givenJob, whenBegun } from '../support/children.ts';
import { costOf } from '../support/process-cost.ts';
import type { PackedReading } from './packed.ts';

/** Reads a packed file to its end as PublishFile does, with all of it loaded, and reports what it cost. */

const { path } = givenJob<{ path: string }>();
await import('../../lambdas/publish-file/handler.ts');
const columns = ['customerId', 'firstName', 'lastName', 'phone', 'city', 'createdAt', 'status'];
const expected = {
  columns,
  fields: [],
  excepted: [],
  labels: {},
  formats: ['csv', 'xlsx'] as const,
  opaque: [],
  headerless: false,
};

await whenBegun(async (): Promise<PackedReading> => {
  let rows = 0;
  const cost = await costOf(async () => {
    const file = { what: path, contentType: '', maxBytes: Number.MAX_SAFE_INTEGER, undeclaredEnd: false };
    const { facts } = await readContent(fileSource(path, statSync(path).size), {
      ...file,
      expected,
      secondsLeft: () => 900,
    });
    rows = facts.content?.rows ?? 0;
  });
  return { ...cost, rows };
});
