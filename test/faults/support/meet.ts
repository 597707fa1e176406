import type { Call } from '../calls.ts';
import type { Fault, Span } from '../predictions.ts';
import { isOfStore, type Request } from './call-names.ts';
import type { Answer } from './front.ts';
import { CANARY, type Meet, type Met } from './world.ts';

/** A delay below every time limit of a client. */
const SLOW_MS = 2_000;

/** What the calls of a step meet. */
export function meeting({ step, call }: Pick<Call, 'step' | 'call'>, fault: Fault, span: Span): Meet {
  return async (met, died) => {
    const hit = met.step === step && met.call === call && (span === 'always' || met.nth === 1);
    if (hit) await MEET[fault](met, died);
    else met.answer(await met.done());
  };
}

const MEET: Record<Fault, Meet> = {
  refused: async ({ answer, request, call }) => answer(refusal(request, call)),
  throttled: async ({ answer, request }) => answer(throttle(request)),
  'lost before': async () => undefined,
  'lost after': async ({ done }) => {
    await done();
  },
  cut: async ({ done, cut }) => cut(await done()),
  garbage: async ({ done, answer }) => {
    await done();
    answer({ status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from(`<html>${CANARY}</html>`) });
  },
  slow: async ({ wait, done, answer }) => {
    await wait(SLOW_MS);
    answer(await done());
  },
  'died before': async (_, died) => died(),
  'died after': async ({ done }, died) => {
    await done();
    died();
  },
};

function refusal(request: Request, call: Met['call']): Answer {
  if (request.headers['x-amz-target']) return amazon('AccessDeniedException');
  if (isOfStore(request)) return xml(403, 'AccessDenied');
  if (call === 'refresh the grant') return json(401, { error: 'invalid_client', error_description: CANARY });
  return json(403, { error: { message: CANARY } });
}

function throttle(request: Request): Answer {
  if (request.headers['x-amz-target']) return amazon('ThrottlingException');
  return isOfStore(request) ? xml(503, 'SlowDown') : json(429, { error: CANARY }, { 'retry-after': '7' });
}

function amazon(type: string): Answer {
  const headers = { 'content-type': 'application/x-amz-json-1.1' };
  return { status: 400, headers, body: Buffer.from(JSON.stringify({ __type: type, message: CANARY })) };
}

function xml(status: number, code: string): Answer {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${CANARY}</Message></Error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body: Buffer.from(body) };
}

function json(status: number, value: object, headers = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}
