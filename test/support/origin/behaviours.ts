import type { Behaviour, OriginRequest, OriginScript } from './types.ts';

/** Lies and troubles that real origins were seen with, ready-made. */

/** A sign-in page where a file is due. */
export const HTML_PAGE: Behaviour = {
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8' },
  body: '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n',
};

/** An error of an object store, with 200. */
export const XML_ERROR: Behaviour = {
  status: 200,
  headers: { 'Content-Type': 'application/xml' },
  body: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>InternalError</Code><Message>Try again.</Message></Error>',
};

/** What a pre-signed URL of S3 answers once it has expired. */
export const EXPIRED: Behaviour = {
  status: 403,
  headers: { 'Content-Type': 'application/xml' },
  body: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>',
};

/** 429 or 503, with a Retry-After in seconds or as a date. */
export function busy(status: 429 | 503, retryAfter?: string): Behaviour {
  return { status, body: 'busy', ...(retryAfter === undefined ? {} : { headers: { 'Retry-After': retryAfter } }) };
}

/** The first requests get these behaviours, one each; the others are answered rightly. */
export function inOrder(...behaviours: (Behaviour | undefined)[]): OriginScript {
  return ({ number }: OriginRequest) => behaviours[number - 1];
}
