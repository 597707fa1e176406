import type { ErrorName } from '../../core/errors.ts';
import { CALLS, type Call, type Kind } from './calls.ts';

/**
 * The documented effect of each kind of call: a rule, not a record of observations. If a test fails, question the
 * product first.
 */

const FAULTS = [
  /** Answered like a missing right: 403, `AccessDenied`, `invalid_client`. */
  'refused',
  /** Answered with throttling: 429 with `Retry-After`, `ThrottlingException`, `SlowDown`. */
  'throttled',
  /** The call is not carried out, and no answer comes: the client's time limit ends it. */
  'lost before',
  /** The call is carried out, and no answer comes. */
  'lost after',
  /** The call is carried out, and the connection breaks in the middle of the answer. */
  'cut',
  /** The call is carried out, and answered with 200 and a web page. */
  'garbage',
  /** The call is carried out two seconds late. */
  'slow',
  /** The process of the function ends; the call is not carried out. */
  'died before',
  /** The process of the function ends; the call is carried out. */
  'died after',
] as const;
export type Fault = (typeof FAULTS)[number];

/** How long a fault lasts: for one call of the step, or for every call until the execution has ended. */
const SPANS = ['once', 'always'] as const;
type Span = (typeof SPANS)[number];

/** How an execution ends: as without the fault, or in an error of the closed list. */
type End = 'well' | ErrorName;

/** `[once, always]`, or one end for both. */
type Ends = End | [once: End, always: End];

/** The execution waits until a passing fault is over; a lasting one ends in this error at the deadline. */
const outlasted = (error: ErrorName): Ends => ['well', error];

type Answered = Exclude<Fault, 'slow' | 'died before' | 'died after'>;

interface Rule extends Record<Answered, Ends> {
  /** The end if the process dies after the call. Default: a new process continues; `StepCrashed` if each one dies. */
  'died after'?: Ends;
  'died before'?: Ends;
}

/** One end for all faults of the answer. */
function whatever(ends: Ends): Rule {
  return { refused: ends, throttled: ends, 'lost before': ends, 'lost after': ends, cut: ends, garbage: ends };
}

/** The bucket: waiting does not fix a missing right, but may fix all other faults. */
const bucket: Rule = {
  ...whatever(outlasted('StorageUnavailable')),
  refused: 'StorageDenied',
  garbage: 'StorageConflict',
};

/** The CRM: waiting does not fix a missing right. */
const crm: Rule = {
  ...whatever(outlasted('CrmUnavailable')),
  refused: 'AuthRefused',
  throttled: outlasted('RateLimited'),
  // Once there is an export, an unreadable answer may be readable later.
  cut: outlasted('CrmContractError'),
  garbage: outlasted('CrmContractError'),
};

/** An object that exists counts as written. */
const written: Pick<Rule, 'cut' | 'garbage'> = { cut: 'well', garbage: 'well' };

const RULES: Record<Kind, Rule> = {
  grant: { ...whatever(outlasted('TokenStoreUnavailable')), refused: 'ConfigInvalid' },
  note: { ...whatever('well'), 'died before': 'well', 'died after': 'well' },
  // The CRM spends a single-use token and its successor is lost: no client can prevent this loss (docs/adr/0013).
  refresh: {
    ...whatever(['ReauthorizationRequired', 'TokenRefreshInProgress']),
    refused: 'ConfigInvalid',
    throttled: outlasted('RateLimited'),
    'lost before': outlasted('TokenRefreshInProgress'),
    'died after': ['ReauthorizationRequired', 'StepCrashed'],
  },
  // The grant depends on this call, so it is retried until the claim ends. Once stored, the grant counts.
  'store grant': {
    ...whatever('well'),
    refused: outlasted('ReauthorizationRequired'),
    throttled: outlasted('ReauthorizationRequired'),
    'lost before': outlasted('ReauthorizationRequired'),
    'died before': 'ReauthorizationRequired',
    'died after': 'well',
  },
  // A lost answer costs nothing before there is an export. A web page at the first call means another service.
  fields: { ...crm, cut: outlasted('CrmUnavailable'), garbage: 'ConfigInvalid' },
  create: { ...whatever(outlasted('CreateUnanswered')), refused: crm.refused, throttled: crm.throttled },
  export: crm,
  // The run falls back to its own export.
  adoption: { ...crm, refused: 'well' },
  file: {
    ...crm,
    refused: outlasted('DownloadLinkExpired'),
    cut: outlasted('DownloadIncomplete'),
    garbage: outlasted('FileRejected'),
  },
  // A refused line was not applied.
  change: { ...whatever(outlasted('UpdatesIncomplete')), refused: 'UpdatesIncomplete' },
  // A warning reports what cannot be compared.
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
  tag: { ...bucket, garbage: 'well' },
  // The answer contains the upload's id, without which no part can be stored.
  'begin upload': { ...bucket, garbage: outlasted('StorageUnavailable') },
  content: { ...bucket, ...written, 'lost after': 'well' },
  part: { ...bucket, garbage: outlasted('StorageUnavailable') },
  complete: { ...bucket, ...written, 'lost after': 'well', 'lost before': outlasted('DownloadUnfinished') },
};

/** How a step after the publication ends, whatever the error. */
const BEHIND_THE_FILE: Partial<Record<Call['step'], ErrorName>> = {
  WriteTable: 'TableNotWritten',
  WriteChanges: 'ChangesNotWritten',
};

function predict(call: Call, fault: Fault, span: Span): End {
  const end = endOf(call, fault, span);
  // A chunk's error appears only in the results of its lines. A stopped batch stops in any case.
  const counted = call.step === 'ApplyChunk' && end !== 'well';
  if (counted || call.scenario === 'stopped batch') return 'UpdatesIncomplete';
  // The file is published, whatever prevents its table or its feed.
  return end === 'well' ? end : (BEHIND_THE_FILE[call.step] ?? end);
}

function endOf({ step, kind }: Call, fault: Fault, span: Span): End {
  if (fault === 'slow') return 'well';
  const rule = RULES[kind];
  if (fault !== 'died before' && fault !== 'died after') {
    // ApplyChunk keeps the last token and continues with it. In an export run, the next function does not have it.
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

/** Whether the fault loses the grant: then every execution asks for authorization until a person authorizes. */
export function losesGrant({ kind, fault, span }: Row): boolean {
  if (kind === 'refresh') return ['lost after', 'cut', 'garbage', 'died after'].includes(fault);
  if (kind !== 'store grant') return false;
  return fault === 'died before' || (span === 'always' && ['refused', 'throttled', 'lost before'].includes(fault));
}

/** One fault of one call, and how its execution ends. */
export interface Row extends Call {
  fault: Fault;
  span: Span;
  end: End;
}

/** Every call with every fault, once and always. */
export const ROWS: Row[] = CALLS.flatMap((call) =>
  SPANS.flatMap((span) => FAULTS.map((fault) => ({ ...call, fault, span, end: predict(call, fault, span) }))),
);
