import type { ErrorName } from '../../core/errors.ts';
import type { Call, Kind } from './calls.ts';

/**
 * What the documents say about each kind of call: a rule, not a record of what was seen. A test that fails is a question to
 * the product first.
 */

/** What can go wrong with one call. */
export const FAULTS = [
  /** Answered with the refusal that a missing right gets: 403, `AccessDenied`, `invalid_client`. */
  'refused',
  /** Answered with "too many": 429 with `Retry-After`, `ThrottlingException`, `SlowDown`. */
  'throttled',
  /** The call is not done, and no answer comes: the time limit of the client ends it. */
  'lost before',
  /** The call is done, and no answer comes. */
  'lost after',
  /** The call is done, and the connection breaks in the middle of the answer. */
  'cut',
  /** The call is done, and answered with 200 and a web page. */
  'garbage',
  /** The call is done two seconds late. */
  'slow',
  /** The process of the function ends; the call is not done. */
  'died before',
  /** The process of the function ends; the call is done. */
  'died after',
] as const;
export type Fault = (typeof FAULTS)[number];

/** How long a fault lasts: one call of the step, or each one until the execution has ended. */
export const SPANS = ['once', 'always'] as const;
export type Span = (typeof SPANS)[number];

/** How an execution ends: as it would without the fault, or in an error of the closed list. */
export type End = 'well' | ErrorName;

/** `[once, always]`, or the same for both. */
type Ends = End | [once: End, always: End];

/** A fault that passes is waited out; one that lasts ends in this error at the deadline. */
const outlasted = (error: ErrorName): Ends => ['well', error];

type Answered = Exclude<Fault, 'slow' | 'died before' | 'died after'>;

interface Rule extends Record<Answered, Ends> {
  /** What a process leaves that died behind the call every time; by default it starts again, until nobody starts it. */
  'died after'?: Ends;
  'died before'?: Ends;
}

/** The same end, whatever the fault does to the answer. */
function whatever(ends: Ends): Rule {
  return { refused: ends, throttled: ends, 'lost before': ends, 'lost after': ends, cut: ends, garbage: ends };
}

/** The bucket: a missing right does not come by waiting, all else may pass. */
const bucket: Rule = {
  ...whatever(outlasted('StorageUnavailable')),
  refused: 'StorageDenied',
  garbage: 'StorageConflict',
};

/** The CRM: who may not, may not. */
const crm: Rule = {
  ...whatever(outlasted('CrmUnavailable')),
  refused: 'AuthRefused',
  throttled: outlasted('RateLimited'),
  // Where there is an export, what cannot be read may be readable later.
  cut: outlasted('CrmContractError'),
  garbage: outlasted('CrmContractError'),
};

/** What is there already counts as written. */
const written: Pick<Rule, 'cut' | 'garbage'> = { cut: 'well', garbage: 'well' };

const RULES: Record<Kind, Rule> = {
  grant: { ...whatever(outlasted('TokenStoreUnavailable')), refused: 'ConfigInvalid' },
  note: { ...whatever('well'), 'died before': 'well', 'died after': 'well' },
  // A token that can be used once and whose successor nobody has seen: the loss that no client can prevent (docs/adr/0013).
  refresh: {
    ...whatever(['ReauthorizationRequired', 'TokenRefreshInProgress']),
    refused: 'ConfigInvalid',
    throttled: outlasted('RateLimited'),
    'lost before': outlasted('TokenRefreshInProgress'),
    'died after': ['ReauthorizationRequired', 'StepCrashed'],
  },
  // Tried until the claim ends, for the grant depends on it; stored is stored, whoever has heard of it.
  'store grant': {
    ...whatever('well'),
    refused: outlasted('ReauthorizationRequired'),
    throttled: outlasted('ReauthorizationRequired'),
    'lost before': outlasted('ReauthorizationRequired'),
    'died before': 'ReauthorizationRequired',
    'died after': 'well',
  },
  // A lost answer costs nothing where there is no export yet; a page at the first call is another service.
  fields: { ...crm, cut: outlasted('CrmUnavailable'), garbage: 'ConfigInvalid' },
  create: { ...whatever(outlasted('CreateUnanswered')), refused: crm.refused, throttled: crm.throttled },
  export: crm,
  // The run requests an export of its own.
  adoption: { ...crm, refused: 'well' },
  file: {
    ...crm,
    refused: outlasted('DownloadLinkExpired'),
    cut: outlasted('DownloadIncomplete'),
    garbage: outlasted('FileRejected'),
  },
  // One refused line is a line that was not applied.
  change: { ...whatever(outlasted('UpdatesIncomplete')), refused: 'UpdatesIncomplete' },
  // What cannot be compared is said in a warning.
  comparison: { ...bucket, refused: 'well', garbage: 'well' },
  hint: { ...bucket, garbage: 'well' },
  list: { ...bucket, garbage: outlasted('StorageUnavailable') },
  object: bucket,
  'known object': { ...bucket, garbage: outlasted('StorageUnavailable') },
  // The answer to a HEAD has no body that could be cut.
  head: { ...bucket, cut: 'well', garbage: outlasted('StorageUnavailable') },
  input: { ...bucket, garbage: 'UpdateFileInvalid' },
  flag: { ...bucket, garbage: 'UpdatesIncomplete' },
  write: { ...bucket, ...written },
  'write anew': { ...bucket, ...written, 'lost after': 'well', 'died after': 'well' },
  // Where nobody knows whether it was replaced, it is read again.
  replace: { ...bucket, garbage: 'well' },
  tag: { ...bucket, garbage: 'well' },
  // The answer to this call has the upload's id, without which no part can be stored.
  'begin upload': { ...bucket, garbage: outlasted('DownloadUnfinished') },
  content: { ...bucket, ...written, 'lost after': 'well' },
  part: { ...bucket, garbage: outlasted('StorageUnavailable') },
  complete: { ...bucket, ...written, 'lost after': 'well', 'lost before': outlasted('DownloadUnfinished') },
};

/** How a step ends that comes behind the publication, whatever the error. */
const BEHIND_THE_FILE: Partial<Record<Call['step'], ErrorName>> = {
  WriteTable: 'TableNotWritten',
  WriteChanges: 'ChangesNotWritten',
};

/** How the execution ends in which this call meets the fault. */
export function predict(call: Call, fault: Fault, span: Span): End {
  const end = endOf(call, fault, span);
  // What ends a chunk is in the result of its lines; and this batch is stopped whatever happens.
  const counted = call.step === 'ApplyChunk' && end !== 'well';
  if (counted || call.scenario === 'stopped batch') return 'UpdatesIncomplete';
  // The file is published, whatever keeps its table or its feed from being written.
  return end === 'well' ? end : (BEHIND_THE_FILE[call.step] ?? end);
}

function endOf({ step, kind }: Call, fault: Fault, span: Span): End {
  if (fault === 'slow') return 'well';
  const rule = RULES[kind];
  if (fault !== 'died before' && fault !== 'died after') {
    // The function that has the last token goes on with it; of an export, the next function does not.
    return kind === 'store grant' && step === 'ApplyChunk' ? 'well' : at(rule[fault], span);
  }
  // A create that may have worked is not blindly repeated (docs/adr/0004).
  if (step === 'CreateExport') return 'StepCrashed';
  return at(rule[fault] ?? outlasted('StepCrashed'), span);
}

function at(ends: Ends, span: Span): End {
  if (typeof ends === 'string') return ends;
  return ends[span === 'once' ? 0 : 1];
}

/** Whether the fault costs the grant: then a person has to authorize, and every execution until then says so. */
export function losesGrant({ kind }: Call, fault: Fault, span: Span): boolean {
  if (kind === 'refresh') return ['lost after', 'cut', 'garbage', 'died after'].includes(fault);
  if (kind !== 'store grant') return false;
  return fault === 'died before' || (span === 'always' && ['refused', 'throttled', 'lost before'].includes(fault));
}
