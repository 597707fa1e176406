import type { Entity } from '../../../core/config/entities.ts';
import { contentType, shapeOf } from '../../../core/crm/answers.ts';
import { isSendable } from '../../../core/crm/client.ts';
import { errorCode } from '../../../core/crm/error-code.ts';
import { codeOf, neverSent } from '../../../core/http/network-errors.ts';
import { type WholeAnswer, wholeAnswer } from '../../../core/http/whole-answer.ts';
import { jsonOrUndefined } from '../../../core/json.ts';
import { retryAfterSeconds } from '../../../transfer/base/retry-after.ts';
import { CommandError, RUN_FAILED } from '../../support/exit.ts';
import { Bounds } from './bounds.ts';
import type { Exchange, Purpose, Step } from './exchange.ts';
import { harmlessHeaders } from './harmless.ts';

export interface CallerDeps {
  baseUrl: string;
  accessToken: string;
  /** Of one call, until its answer is whole. */
  timeoutMs: number;
  /** Milliseconds of a clock that only goes forward. */
  elapsed: () => number;
  sleep: (ms: number) => Promise<void>;
  signal: AbortSignal;
  /** Told before each call. */
  onCall?: ((exchange: Pick<Exchange, 'call' | 'entity' | 'purpose'>) => void) | undefined;
}

interface Call {
  step: Step;
  entity: Entity;
  purpose?: Purpose;
  method: 'GET' | 'POST' | 'PATCH';
  /** Behind the base address, and as the interface document writes it. */
  path: string;
  template: string;
  json?: unknown;
}

/** `body`: the JSON of the answer, for whoever asked; it is not kept. */
export interface Answer {
  exchange: Exchange;
  ok: boolean;
  body: unknown;
  /** The header Location. */
  location: string;
  /** The time of the server that answered. */
  date: Date;
  /** Nothing was sent. */
  unreached: boolean;
}

const LARGEST_ANSWER_BYTES = 5_000_000;
/** A CRM that asks for a longer pause is left alone. */
const LONGEST_PAUSE_SECONDS = 60;
const PAUSE_SECONDS = 5;

/**
 * Calls the CRM, each call once: no client of the product, which repeats a call after a 401 or a broken connection. Keeps the shapes.
 */
export class Caller {
  readonly exchanges: Exchange[] = [];
  readonly bounds = new Bounds();
  readonly #deps: CallerDeps;
  #pauseMs = 0;

  constructor(deps: CallerDeps) {
    if (!isSendable(deps.accessToken)) {
      throw new CommandError(
        'The access token that the CRM issued has a character that no header can hold.',
        RUN_FAILED,
      );
    }
    this.#deps = deps;
  }

  /** @throws CommandError where the CRM asks for a long pause; the signal's reason */
  async ask(call: Call): Promise<Answer> {
    const { elapsed, sleep, signal, onCall } = this.#deps;
    if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    this.#pauseMs = 0;
    signal.throwIfAborted();
    this.bounds.take(call.step);
    const { step, entity, purpose = 'main' } = call;
    const named = { step, entity, purpose, call: `${call.method} ${call.template.replace('{entity}', entity)}` };
    onCall?.(named);
    const at = elapsed();
    const got = await this.#send(call).catch((error: unknown) => error);
    signal.throwIfAborted();
    const time = { at: Math.round(at), milliseconds: Math.round(elapsed() - at) };
    const answer = isAnswer(got)
      ? await this.#kept(got, call, { ...named, ...time })
      : lost(got, { ...named, ...time });
    this.exchanges.push(answer.exchange);
    this.#pauseAfter(answer.exchange);
    return answer;
  }

  #send({ method, path, json }: Call): Promise<WholeAnswer> {
    const { baseUrl, accessToken, timeoutMs, signal } = this.#deps;
    const headers = {
      authorization: `Bearer ${accessToken}`,
      accept: 'application/json',
      ...(json !== undefined && { 'content-type': 'application/json' }),
    };
    const body = json === undefined ? null : JSON.stringify(json);
    const address = `${baseUrl.replace(/\/+$/, '')}/${path}`;
    const send = (late: AbortSignal) =>
      fetch(address, { method, headers, body, redirect: 'manual', signal: AbortSignal.any([late, signal]) });
    return wholeAnswer(send, { milliseconds: timeoutMs, bytes: LARGEST_ANSWER_BYTES });
  }

  async #kept(answer: WholeAnswer, call: Call, named: Named): Promise<Answer> {
    const { status, ok, headers } = answer;
    const text = await answer.text().catch(() => undefined);
    if (ok && text === undefined) return lost(BROKEN_BODY, named);
    const body = jsonOrUndefined(text);
    const mediaType = contentType(answer).replace(/[() ]/g, '');
    const shape = body !== undefined ? shapeOf(body) : textShape(text);
    const code = ok ? undefined : await errorCode(answer, { call, token: this.#deps });
    const date = new Date(headers.get('date') ?? '');
    const kept = { status, trouble: null, mediaType, ...harmlessHeaders(headers), shape, code: code ?? null };
    return {
      ...{ exchange: { ...named, ...kept }, ok, body, location: headers.get('location') ?? '' },
      ...{ date: Number.isNaN(date.getTime()) ? new Date() : date, unreached: false },
    };
  }

  #pauseAfter({ status, headers }: Exchange): void {
    if (status !== 429) return;
    const seconds = retryAfterSeconds(headers['retry-after']) ?? PAUSE_SECONDS;
    if (seconds > LONGEST_PAUSE_SECONDS) {
      throw new CommandError(`The CRM wants no call for ${seconds} s (429): probe again after that.`, RUN_FAILED);
    }
    this.#pauseMs = seconds * 1000;
  }
}

type Named = Pick<Exchange, 'step' | 'entity' | 'purpose' | 'call' | 'at' | 'milliseconds'>;

function isAnswer(got: unknown): got is WholeAnswer {
  return typeof got === 'object' && got !== null && 'text' in got;
}

const BROKEN_BODY = 'a body that broke off or is too long';

function textShape(text: string | undefined): string {
  if (text === undefined) return BROKEN_BODY;
  return text === '' ? 'no body' : `no JSON (${text.length} characters)`;
}

function lost(error: unknown, named: Named): Answer {
  const trouble = codeOf(error) ?? (error instanceof Error ? error.name : String(error));
  const nothing = { status: null, mediaType: '', headers: {}, headerNames: [], shape: 'no answer', code: null };
  const exchange = { ...named, ...nothing, trouble };
  return { exchange, ok: false, body: undefined, location: '', date: new Date(), unreached: neverSent(error) };
}
