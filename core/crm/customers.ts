import { UPDATE_SCOPE } from '../config/scopes.ts';
import type { RunError, RunErrorName } from '../errors.ts';
import { neverSent } from '../http/network-errors.ts';
import { type CrmAnswer, meaningOf, type Outcome } from './answers.ts';
import type { CrmCall } from './call.ts';
import type { CrmExchange } from './crm-client.ts';

/** The answer to one `PATCH /customers/{id}` (`docs/interface/reference.md`), without customer data. */
export interface UpdateAnswer {
  /** `null` if the request was sent but not answered. */
  status: number | null;
  /**
   * `made`: the answer confirms the change. `refused`: not made. `unclear`: perhaps made. `contradicted`: perhaps
   * made, and a repetition would get the same answer.
   */
  change: 'made' | 'refused' | 'unclear' | 'contradicted';
  error: { name: RunErrorName; message: string } | null;
  retryAfterSeconds?: number | undefined;
  /** The sent fields that the CRM names when it refuses their values. */
  fields?: string[];
  /** Why the call could not be repeated with another token. The next invocation may be able to. */
  trouble?: RunError;
  /** The answer is a 403, and the token lacks the scope. */
  scopeMissing?: boolean;
}

const CHANGES: Record<Outcome, UpdateAnswer['change']> = {
  done: 'made',
  refused: 'refused',
  notTaken: 'refused',
  unknown: 'unclear',
  contradiction: 'contradicted',
};

/**
 * Sends one change. Updates are idempotent, so one without an answer may be sent again.
 * @throws RunError if no request was sent: `CrmUnavailable`, or the errors of `CrmExchange.exchange`
 */
export async function updateCustomer(
  crm: CrmExchange,
  id: string,
  fields: object,
  now: () => Date,
  { inTime, confirmation = 'answer' }: { inTime?: () => boolean; confirmation?: CrmCall['confirmation'] } = {},
): Promise<UpdateAnswer> {
  const path = `customers/${id}`;
  const call: CrmCall = { method: 'patch', path, template: '/customers/{id}', json: fields, confirmation };
  const exchange = await crm.exchange(call, inTime);
  if (!exchange.response) {
    if (neverSent(exchange.unanswered)) throw exchange.unanswered;
    return { status: null, change: 'unclear', error: nameAndMessage(exchange.unanswered) };
  }
  const { response, token, trouble } = exchange;
  const { status } = response;
  const { outcome, error } = meaningOf({ call, answer: response, scope: token.scope }, now());
  const change = CHANGES[outcome];
  if (!error) return { status, change, error: null };
  if (trouble) {
    const later = trouble.transient ? { trouble } : {};
    return { status, change, error: nameAndMessage(trouble), retryAfterSeconds: trouble.retryAfterSeconds, ...later };
  }
  // After a 422 an empty list means that the CRM named no field.
  const named = status === 422 || (response.ok && change === 'refused') ? { fields: namedIn(response, fields) } : {};
  const scopes = status === 403 ? { scopeMissing: isScopeMissing(token.scope) } : {};
  return {
    status,
    change,
    error: nameAndMessage(error),
    retryAfterSeconds: error.retryAfterSeconds,
    ...named,
    ...scopes,
  };
}

/** Services need not list the scopes of a token: without a list, no scope counts as missing. */
function isScopeMissing(scope: string): boolean {
  const scopes = scope.split(/\s+/).filter(Boolean);
  return scopes.length > 0 && !scopes.includes(UPDATE_SCOPE);
}

function nameAndMessage({ name, message }: RunError): { name: RunErrorName; message: string } {
  return { name, message };
}

/** The sent fields that the answer names as a key, a text or the last part of a path. Nothing else is kept. */
function namedIn({ body }: CrmAnswer, fields: object): string[] {
  const seen = new Set<string>();
  const note = (word: string) => seen.add(word.split(/[./]/).at(-1) ?? '');
  try {
    JSON.stringify(body, (key, value) => {
      note(key);
      if (typeof value === 'string') note(value);
      return value;
    });
  } catch {
    // The body is nested too deeply.
    return [];
  }
  return Object.keys(fields).filter((name) => seen.has(name));
}
