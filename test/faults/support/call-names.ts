import type { Request } from './front.ts';

export type { Request };

/** The name of a call in calls.ts, by what is on the wire. */
export function callName(request: Request): string {
  const target = String(request.headers['x-amz-target'] ?? '');
  if (target.startsWith('secretsmanager')) return secretCall(target, JSON.parse(request.body.toString()));
  if (target.startsWith('DynamoDB')) return ledgerCall(JSON.parse(request.body.toString()));
  return isOfStore(request) ? storeCall(request) : crmCall(request);
}

export function isOfStore({ headers }: Request): boolean {
  return String(headers.authorization).startsWith('AWS4-HMAC-SHA256');
}

function secretCall(target: string, { SecretId, VersionId }: { SecretId: string; VersionId?: string }): string {
  if (target.endsWith('PutSecretValue')) return 'store the grant';
  if (SecretId === 'client') return 'read the OAuth client';
  if (SecretId === 'hash-key') return 'read the hash key';
  return VersionId === undefined ? 'read the grant' : 'look for a newer grant';
}

/** Names of calls to the ledger, by the key of the item or the words of the change. */
const LEDGER: [sign: RegExp, name: string][] = [
  [/slot#/, 'claim the start'],
  [/adoptedBy/, 'adopt an export'],
  [/export-of#/, 'record the export'],
  [/:ttl/, 'claim the refresh'],
  [/STORED/, 'note the refresh'],
  [/:deadline":{"N":"0"/, 'give the claim back'],
  [/:unanswered|:refusals/, 'note the lost answer'],
  [/DEAD/, 'note the dead grant'],
];

function ledgerCall(item: object): string {
  const text = JSON.stringify(item);
  return LEDGER.find(([sign]) => sign.test(text))?.[1] ?? `unknown: ${text}`;
}

const CRM: [sign: RegExp, name: string][] = [
  [/^POST .*\/oauth\/token/, 'refresh the grant'],
  [/^GET .*\/fields$/, 'read the fields'],
  [/^POST .*\/exports$/, 'create the export'],
  [/^GET .*\/exports\/[^/]+$/, 'read the status'],
  [/^POST .*\/download$/, 'request the link'],
  [/^PATCH /, 'send a change'],
  [/^GET \/files\//, 'fetch the file'],
];

function crmCall({ method, url = '' }: Request): string {
  const line = `${method} ${url.split('?')[0]}`;
  return CRM.find(([sign]) => sign.test(line))?.[1] ?? `unknown: ${line}`;
}

const VERBS: [sign: RegExp, verb: string][] = [
  [/^POST .*[?&]uploads/, 'begin to upload'],
  [/^POST /, 'complete'],
  [/^PUT .*partNumber/, 'upload a part of'],
  [/^PUT .*[?&]tagging/, 'tag'],
  [/^PUT .*nights\/complete/, 'announce'],
  [/^PUT /, 'write'],
  [/^DELETE /, 'abort'],
  [/^HEAD /, 'check'],
  [/^GET .*list-type/, 'list'],
  [/^GET .*uploadId/, 'list the parts of'],
  [/^GET /, 'read'],
];

const OBJECTS: [sign: RegExp, object: string][] = [
  [/nights\//, 'the night'],
  [/changes\/.*head\.json/, 'the head of the feeds'],
  [/changes\/.*\/base\//, 'a copy of the table'],
  [/changes\/.*_feed\.json/, 'the record of the feed'],
  [/changes\//, 'the feed'],
  [/tables\//, 'the table'],
  [/published\/.*latest\.json/, 'latest.json'],
  [/published\/.*date=[\d-]+\.json/, 'the pointer of a date'],
  [/published\//, 'the published dates'],
  [/runs\/.*_manifest\.json/, 'the manifest'],
  [/runs\/.*_release\.json/, 'the release'],
  [/runs\//, 'the file'],
  [/input\.jsonl/, 'the input'],
  [/_started/, 'the claim of the batch'],
  [/chunks\.jsonl/, 'the index of chunks'],
  [/stop\.json/, 'the stop flag'],
  [/failures/, 'the failures'],
  [/\.begun\.json/, 'the claim of a part'],
  [/results\/chunk-\d+\.\d+\.jsonl/, 'the results of a part'],
  [/results/, 'the results'],
  [/result\.jsonl/, 'the result'],
  [/_manifest/, 'the manifest of the batch'],
];

function storeCall({ method, url = '' }: Request): string {
  const line = `${method} ${decodeURIComponent(url)}`;
  const verb = VERBS.find(([sign]) => sign.test(line))?.[1];
  return `${verb} ${OBJECTS.find(([sign]) => sign.test(line))?.[1] ?? line}`;
}
