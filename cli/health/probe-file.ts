import { isHeaderless, labelsOf, sheetsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import type { Field } from '../../core/crm/fields.ts';
import { RunError } from '../../core/errors.ts';
import { readContent } from '../../core/file/read-content.ts';
import { type Facts, isEmptyFile } from '../../core/gate/facts.ts';
import { TransferError } from '../../transfer/base/transfer-errors.ts';
import { type FileSample, sampleFile } from '../../transfer/source/sample-file.ts';
import { assumed, failing, type Notes, notSeen } from './probe-points.ts';

/** The hosts from which files may be fetched. */
export function policyOf({ crm, local }: Deployment) {
  return { hosts: crm.fileHosts, privateHosts: crm.privateHosts ?? [], local };
}

interface Requested {
  entity: Entity;
  fields: readonly Field[];
  column: string;
  notes: Notes;
}

/** Most bytes of a file that the probe fetches. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_CONTENT_BYTES = 512 * 1024 * 1024;

/**
 * Fetches a file by the rules of the transfer, and reads it as a run does.
 * @throws TransferError, RetryableError
 */
export async function noteFile(
  address: string,
  { deployment, signal }: { deployment: Deployment; signal: AbortSignal },
  requested: Requested,
): Promise<void> {
  const { notes } = requested;
  const options = { policy: policyOf(deployment), signal, mostBytes: MOST_BYTES };
  const looked = await sampleFile(address, options).catch((error: unknown) => {
    // The address, one of its redirects or an IP address of its host is not allowed.
    if (error instanceof TransferError && error.reason === 'address-rejected') {
      notes['file-host'] = { ...failing(error.message), setting: settingFor(error.message) };
    }
    throw error;
  });
  try {
    noteFacts(await factsOf(looked, deployment, requested), notes);
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    // A partial file may be cut in the middle of an archive, and other errors come from the limits of the probe.
    if (!looked.whole || error.name !== 'FileRejected') return;
    // If only the header is refused, the file may still be the export.
    const isOfHeader = /text whose first record has one field|no header of listed columns/.test(error.message);
    notes[isOfHeader ? 'header-texts' : 'file-format'] = failing(error.message);
    notes['file-format'] ??= notSeen('See header-texts.');
  }
}

/** The setting that allows an address which was rejected with this message. */
function settingFor(rejected: string): string | null {
  if (/which is not in crm\.fileHosts/.test(rejected)) return 'crm.fileHosts';
  return /not public: (?:private|carrierGradeNat|uniqueLocal)/.test(rejected) ? 'crm.privateHosts' : null;
}

async function factsOf(
  { head, bytes, undeclaredEnd }: FileSample,
  { entities, files }: Deployment,
  { entity, fields, column }: Requested,
): Promise<Facts> {
  const plan = entities[entity];
  const { formats } = files;
  const listed = { columns: [column], fields, excepted: [], labels: labelsOf(plan) };
  const read = async function* (from: number, to: number) {
    yield bytes.subarray(from, to);
  };
  const { facts } = await readContent(
    { size: bytes.length, read },
    {
      expected: { ...listed, formats, opaque: plan.opaque, headerless: isHeaderless(plan), ...sheetsOf(plan) },
      what: 'The file',
      contentType: /^[a-z]+\/[a-z0-9+.-]+/i.exec(head.contentType)?.[0] ?? '',
      maxBytes: MOST_CONTENT_BYTES,
      secondsLeft: () => Number.POSITIVE_INFINITY,
      undeclaredEnd,
    },
  );
  return facts;
}

function noteFacts(facts: Facts, notes: Notes): void {
  const { format, compression, dialect, header, content } = facts;
  const packed = compression ? ` in ${compression}` : '';
  const text = dialect ? `, ${dialect.encoding ?? 'encoding not recognised'}, line breaks ${dialect.lineBreak}` : '';
  if (!isEmptyFile(facts)) notes['file-format'] = assumed(`It is ${format}${packed}${text}.`);
  if (header) notes['header-texts'] = assumed('The header has a name or label that the CRM lists.');
  else if (content?.headed === false) {
    notes['header-texts'] = assumed('It has no header, as configured in columns.header.');
  }
}
