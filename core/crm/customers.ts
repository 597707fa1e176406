import { UPDATE_SCOPE } from '../config/scopes.ts';
import type { RunError } from '../errors.ts';
import { neverSent } from '../http/network-errors.ts';
import { type CrmAnswer, meaningOf, type Outcome } from './answers.ts';
import type { CrmCall } from './call.ts';
import type { CrmExchange } from './crm-client.ts';

/** The answer to one `PATCH /customers/{id}` (`docs/interface/reference.md`), without customer data. */
export interface UpdateAnswer {
  /** `null` if the request was sent but not answered. */
  status: number | null;
  /** What the answer means for the change. After a `contradiction` it was perhaps made, and is not sent again. */
  outcome: Outcome;
  error: RunError | undefined;
  /** The sent fields that the CRM names when it refuses their values. */
  fields?: string[];
  /** The call could not be repeated with another token, but a later invocation may be able to. */
  isPostponed?: boolean;
  /** The answer is a 403, and the token lacks the scope. */
  scopeMissing?: boolean;
}

/**
 * Sends one change. Updates are idempotent, so one without an answer may be sent again.
 * @throws RunError if no request was sent: `CrmUnavailable`, or the errors of `CrmExchange.exchange`
 */
export async function updateCustomer(
  crm: CrmExchange,
  id: string,
  fields: object,
  now: () => Date,
  how: Pick<CrmCall, 'secondsLeft' | 'confirmation'> = {},
): Promise<UpdateAnswer> {
  const call: CrmCall = { method: 'patch', path: `customers/${id}`, template: '/customers/{id}', json: fields, ...how };
  const exchange = await crm.exchange(call);
  if (!exchange.response) {
    if (neverSent(exchange.unanswered)) throw exchange.unanswered;
    return { status: null, outcome: 'unknown', error: exchange.unanswered };
  }
  const { response, token, trouble } = exchange;
  const { status } = response;
  const { outcome, error } = meaningOf({ call, answer: response, scope: token.scope }, now());
  if (trouble) return { status, outcome, error: trouble, isPostponed: trouble.transient };
  // After a 422 an empty list means that the CRM named no field.
  const isOfFields = status === 422 || (response.ok && outcome === 'refused');
  return {
    status,
    outcome,
    error,
    ...(isOfFields && { fields: namedIn(response, fields) }),
    ...(status === 403 && { scopeMissing: isScopeMissing(token.scope) }),
  };
}

/** Services need not list the scopes of a token: without a list, no scope counts as missing. */
function isScopeMissing(scope: string): boolean {
  const scopes = scope.split(/\s+/).filter(Boolean);
  return scopes.length > 0 && !scopes.includes(UPDATE_SCOPE);
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
