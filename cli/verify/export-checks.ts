import { RunError } from '../../core/errors.ts';
import { createGrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import { type Check, given } from '../checks/check.ts';
import { broken, CannotTell, type Finding, holds } from '../checks/finding.ts';
import { missingRight } from '../checks/finding-of.ts';
import { GRANT_STORED } from '../checks/grant-stored.ts';
import { verifyPublished } from '../data/verify.ts';
import { bytesText, manyText } from '../support/text.ts';
import { isPublished, RUN_RIGHTS } from './runs.ts';
import type { Verifying } from './verifying.ts';

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

/** Looked at behind the export, whose functions refresh a grant that is due. */
export const GRANT_CHECK = given(GRANT_STORED, async ({ target, runs, readOnly }: Verifying) => {
  if (readOnly === undefined) await runs.exported().catch(() => undefined);
  return { newest: () => newestGrant(target) };
});

async function newestGrant({ secrets, TokensSecretId }: Verifying['target']) {
  try {
    return (await newestOf(createGrantStore(secrets, TokensSecretId))).newest;
  } catch (error) {
    // The error of the store advises functions; here it is a right of a person.
    const missing = error instanceof RunError ? missingRight(error.cause) : undefined;
    if (missing) throw new CannotTell(`these credentials lack the right ${missing}`);
    throw error;
  }
}
