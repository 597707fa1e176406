import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Settings } from './settings.ts';
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

/** A refusal to throw from anywhere in a handler: `{ error: { code, message, fields? } }` by default, with the canary in it. */
export function problem({ settings }: World, { status, headers = {}, ...error }: Problem): HTTPException {
  const message = settings.canary === '' ? error.message : `${error.message} ${settings.canary}`;
  const [body, type] = BODIES[settings.errorBody]({ ...error, message });
  const res = new Response(body, { status, headers: { ...(type ? { 'Content-Type': type } : {}), ...headers } });
  return new HTTPException(status, { res });
}

type Body = [body: string | null, type?: string];

const json = (value: unknown): Body => [JSON.stringify(value), 'application/json'];
const BODIES: Record<Settings['errorBody'], (error: Pick<Problem, 'code' | 'message' | 'fields'>) => Body> = {
  object: (error) => json({ error }),
  list: (error) => json({ errors: [error] }),
  code: ({ code }) => json({ error: code }),
  text: ({ message }) => [message, 'text/plain'],
  html: ({ message }) => [`<!doctype html><h1>${message}</h1>`, 'text/html'],
  nothing: () => [null],
};
