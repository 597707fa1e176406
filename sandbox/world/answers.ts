import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { World } from './world.ts';

interface Problem {
  status: ContentfulStatusCode;
  /** The error for programs. */
  code: string;
  message: string;
  /** Names of the request's fields that did not hold. */
  fields?: string[];
  headers?: Record<string, string>;
}

/** A refusal to throw from anywhere in a handler: `{ error: { code, message, fields? } }`, with the canary in it. */
export function problem({ settings }: World, { status, headers, ...error }: Problem): HTTPException {
  const message = settings.canary === '' ? error.message : `${error.message} ${settings.canary}`;
  const res = Response.json({ error: { ...error, message } }, { status, ...(headers ? { headers } : {}) });
  return new HTTPException(status, { res });
}
