import { paginateGetExecutionHistory } from '@aws-sdk/client-sfn';
import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holds, holdsUnless } from '../../checks/finding.ts';
import { verifyPublished } from '../../data/verify.ts';
import { bytesText, manyText } from '../../support/text.ts';
import { isPublished, RUN_RIGHTS } from '../base/runs.ts';
import type { Verifying } from '../base/verifying.ts';

/** https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const MOST_EVENTS = 25_000;
const LARGEST_STATE_BYTES = 262_144;

/** One export from its start to its readers. */
export const EXPORT_CHECKS: Check<Verifying>[] = [
  { id: 'export', question: 'Is one export published?', rights: RUN_RIGHTS, makes: true, look: exported },
  {
    id: 'read-back',
    question: 'Do pointers, manifest and every byte of the file of that export agree?',
    rights: [
      ...RUN_RIGHTS,
      's3:GetObject on `published/*`, `runs/*`',
      's3:ListBucket on the bucket',
      'kms:Decrypt on the key, through S3',
    ],
    makes: true,
    look: async ({ runs, target }) => {
      const { manifest } = await verifyPublished(target, await runs.published());
      const { bytes, crc32 } = manifest.file;
      return holds(`pointers and manifest name the file, its ${bytes} bytes have the CRC-32 ${crc32} of the manifest`);
    },
  },
  {
    id: 'history',
    question: 'Do the history and the states of that export take less than half of what AWS allows?',
    rights: RUN_RIGHTS,
    makes: true,
    look: history,
  },
];

async function exported({ runs }: Verifying): Promise<Finding> {
  const run = await runs.exported();
  const { run: name, status, error, cause, rows, bytes, seconds } = run;
  if (isPublished(run)) {
    const count = rows === null ? '' : `${manyText(rows, 'row')}, `;
    return holds(`${name} is published after ${seconds} s: ${count}${bytesText(bytes)}`);
  }
  const end = status === 'SUCCEEDED' ? 'without publishing' : `in ${error ?? status}: ${cause ?? 'no cause was given'}`;
  return broken(`${name} ended ${end}`, 'It should be published; docs/runbook.md has an entry for each error.');
}

/** Half of what AWS allows: a run that waits longer than this one must fit in as well. */
async function history({ runs, target }: Verifying): Promise<Finding> {
  const { executionArn } = await runs.published();
  const look = { executionArn, includeExecutionData: true };
  let events = 0;
  let largest = 0;
  for await (const page of paginateGetExecutionHistory({ client: target.sfn }, look)) {
    for (const event of page.events ?? []) {
      events += 1;
      const texts = Object.values(event).flatMap((details) => (isObject(details) ? Object.values(details) : []));
      for (const text of texts) largest = Math.max(largest, typeof text === 'string' ? Buffer.byteLength(text) : 0);
    }
  }
  const wrong = [
    ...(events > MOST_EVENTS / 2 ? [`${events} events, of ${MOST_EVENTS} that AWS allows`] : []),
    ...(largest > LARGEST_STATE_BYTES / 2
      ? [`a state of ${bytesText(largest)}, of ${bytesText(LARGEST_STATE_BYTES)} that AWS allows`]
      : []),
  ];
  const found = `${manyText(events, 'event')}, the largest state ${bytesText(largest)}`;
  return holdsUnless(wrong, found, 'It should be less than half, so that a longer run fits.');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Date);
}
