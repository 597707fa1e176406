import { isHeaderless, labelsOf, sheetsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { readContent } from '../../core/content/read-content.ts';
import type { Field } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import type { Facts } from '../../core/gate/facts.ts';
import { type Looked, lookAtFile } from '../../transfer/source/look.ts';

/** What a run would find in a file. */
export interface SeenFile {
  facts: Facts | null;
  /** Why a run would refuse the file. */
  refused: string | null;
}

interface Requested {
  entity: Entity;
  fields: readonly Field[];
  column: string;
}

/** Most of a file that is fetched. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_CONTENT_BYTES = 512 * 1024 * 1024;

/** The hosts that files may come from. */
export function policyOf({ crm, local }: Deployment) {
  return { hosts: crm.fileHosts, privateHosts: crm.privateHosts ?? [], local };
}

/**
 * Fetches a file within the rules of a transfer, and reads it as a run does.
 * @throws TransferError, RetryableError
 */
export async function lookAt(
  address: string,
  { deployment, signal }: { deployment: Deployment; signal: AbortSignal },
  requested: Requested,
): Promise<SeenFile> {
  const looked = await lookAtFile(address, { policy: policyOf(deployment), signal, mostBytes: MOST_BYTES });
  try {
    return { facts: await factsOf(looked, deployment, requested), refused: null };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    // The beginning of a larger file may be cut in the middle of an archive. Other errors come of the limits of the probe.
    return { facts: null, refused: looked.whole && error.name === 'FileRejected' ? error.message : null };
  }
}

async function factsOf(
  { head, bytes, undeclaredEnd }: Looked,
  { entities, files }: Deployment,
  { entity, fields, column }: Requested,
): Promise<Facts> {
  const plan = entities[entity];
  const listed = { columns: [column], fields, excepted: [], labels: labelsOf(plan) };
  const read = async function* (from: number, to: number) {
    yield bytes.subarray(from, to);
  };
  const { facts } = await readContent(
    { size: bytes.length, read },
    {
      expected: {
        ...listed,
        formats: files.formats,
        opaque: plan.opaque,
        headerless: isHeaderless(plan),
        ...sheetsOf(plan),
      },
      what: 'The file',
      contentType: /^[a-z]+\/[a-z0-9+.-]+/i.exec(head.contentType)?.[0] ?? '',
      maxBytes: MOST_CONTENT_BYTES,
      secondsLeft: () => Number.POSITIVE_INFINITY,
      undeclaredEnd,
    },
  );
  return facts;
}
